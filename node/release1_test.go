package node

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// release1 unpacks a fresh copy of the directories that the first release made, see
// testdata/README.md, and returns the path of the one named.
func release1(t *testing.T, name string) string {
	t.Helper()
	to := t.TempDir()
	file, err := os.Open("testdata/release1.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err == io.EOF {
			return filepath.Join(to, "release1", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(files)
		path := filepath.Join(to, filepath.FromSlash(h.Name))
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700)); err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// said is what the program of the first release said of the directory, as JSON.
func said[T any](t *testing.T, dir, file string) (list []T) {
	t.Helper()
	text, err := os.Open(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	for lines := json.NewDecoder(text); ; {
		var v T
		if err := lines.Decode(&v); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
}

// Ledger, budgets, cohorts and what is known of each record's use are those that the
// first release left, to the last bit of each entry.
func TestRelease1LedgerGoesOn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rooms", "rooms-neighbour", "movies"} {
		dir := release1(t, name)
		store := filepath.Join(dir, datadir.StoreFile)
		before, err := os.ReadFile(store)
		require.NoError(t, err)
		n := openNode(t, dir)
		if kept, err := storage.Kept(store); err != nil || len(kept) != 1 || !strings.HasPrefix(kept[0], store+".before-schema-") {
			t.Errorf("%s: kept %q, error %v", name, kept, err)
		} else if as, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(as, before) {
			t.Errorf("%s: what was kept before the upgrade is not what was there (%v)", name, err)
		}
		if v, err := n.Verify(t.Context()); err != nil || v.Entries == 0 {
			t.Errorf("%s: the ledger %+v, error %v", name, v, err)
		}
		lines, err := n.Ledger(t.Context())
		if want := said[storage.Line](t, dir, "ledger.jsonl"); err != nil || !reflect.DeepEqual(lines, want) {
			t.Errorf("%s: the ledger's lines %+v, error %v, want %+v", name, lines, err, want)
		}
		budget, err := n.Budget(t.Context())
		want := said[api.Budget](t, dir, "budget.json")[0]
		if name != "movies" { // where 9 records go on today when 11 more are there
			want.Missing, want.Left, want.Next = 11, 0, 0
		}
		if err != nil || !reflect.DeepEqual(budget.Cohorts, want.Cohorts) || budget.Missing != want.Missing || budget.Left != want.Left || budget.Next != want.Next {
			t.Errorf("%s: budget %+v, error %v, want %+v", name, budget, err, want)
		}
		records := listed(t, n, false)
		for i, was := range said[[]api.RecordInfo](t, dir, "list.json")[0] {
			was.Target, was.Class, was.Features = nil, "", nil
			if len(records) <= i || !reflect.DeepEqual(records[i], was) {
				t.Fatalf("%s: record %d is not %+v any more", name, i+1, was)
			}
		}
	}
}

// Who opens an older directory is told once that an older program refuses it from now on, and
// which file holds the records as they were.
func TestUpgradeIsTold(t *testing.T) {
	t.Parallel()
	dir := release1(t, "rooms")
	for _, want := range []int{1, 0} {
		var log bytes.Buffer
		n, err := Open(dir, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
		require.NoError(t, err)
		require.NoError(t, n.Close())
		if text := log.String(); strings.Count(text, "an older p2pnode refuses it") != want || strings.Count(text, "copy=p2pnode.db.before-schema-5") != want {
			t.Errorf("the log says %q; want %d lines of the upgrade", text, want)
		}
	}
}

func TestCompactTellsUpgrade(t *testing.T) {
	t.Parallel()
	dir := release1(t, "rooms")
	for _, want := range []string{"p2pnode.db.before-schema-5", ""} {
		if c, err := datadir.Compact(dir); err != nil || c.Upgraded != want {
			t.Errorf("%+v, error %v, want that %q is kept", c, err, want)
		}
	}
}

// Each record becomes, bit for bit, what is made of its line today; where the task has
// no number that is scaled now, the models stay too.
func TestRelease1RecordsAreTakenOver(t *testing.T) {
	t.Parallel()
	for name, heard := range map[string]int{"rooms": 0, "rooms-neighbour": 0, "movies": 1} {
		dir := release1(t, name)
		file, err := os.Open(filepath.Join(dir, "records.csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		n := openNode(t, dir)
		var want []learner.Record
		err = readRows(file, n.files.Task, "", new(api.ImportReport), func(a storage.Arrival) error {
			want = append(want, a.Record)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		rows := own(t, n)
		if all := slices.Collect(rows.each()); len(all) != len(want) {
			t.Fatalf("%s: %d records and empty slots, want %d", name, len(all), len(want))
		}
		for r := range rows.each() {
			if r.X == nil {
				continue
			}
			if line := want[r.Seq-1]; !slices.Equal(r.X, line.X) || r.Y != line.Y {
				t.Errorf("%s: record %d is %v, %v; today its line is %v, %v", name, r.Seq, r.X, r.Y, line.X, line.Y)
			}
		}
		state, err := n.stored()
		if err != nil || len(state.Heard) != heard || state.Round != n.ledger.Round() || (floats.Norm(state.Model, 2) > 0) != (heard > 0) {
			t.Errorf("%s: round %d with %d models heard, %v, error %v; want %d heard", name, state.Round, len(state.Heard), state.Model, err, heard)
		}
		if _, message := n.ledger.Outgoing(); len(message) > 0 {
			t.Errorf("%s: a message of an earlier wire version is still to be had", name)
		}
	}
}

// Records that were scaled by nobody knows what are set aside, and the owner is told.
func TestRelease1RecordsThatAreSetAside(t *testing.T) {
	t.Parallel()
	n := openNode(t, release1(t, "weather"))
	if s := status(t, n); s.Records != 0 || s.SetAside != 10 || s.HeldOut != 0 {
		t.Errorf("status %+v; want 10 records set aside", s)
	}
	list := listed(t, n, true)
	if len(list) != 10 {
		t.Fatal(len(list))
	}
	for _, r := range list {
		if !r.Refused || r.Deleted || r.Target != nil {
			t.Errorf("record %+v is not set aside", r)
		}
	}
	if _, err := n.Import(t.Context(), strings.NewReader("temperature,wind,rain\n14.5,3,0\n"), api.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := n.Delete(t.Context(), []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}); err != nil {
		t.Fatal(err)
	}
	if s := status(t, n); s.Records != 1 || s.SetAside != 0 {
		t.Errorf("status %+v; want one record", s)
	}
}

// A spent cohort stays spent; the one that had begun goes on with its neighbour to the
// end of its budget, and new records begin a third.
func TestRelease1NeighboursGoOn(t *testing.T) {
	t.Parallel()
	var nodes []*Node
	for _, name := range []string{"rooms", "rooms-neighbour"} {
		dir := release1(t, name)
		config := filepath.Join(dir, datadir.ConfigFile)
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		fast := strings.NewReplacer("/tcp/29101'", "/tcp/0'", "wake_seconds = 2.0", "wake_seconds = 0.05").Replace(string(text))
		if nodes != nil { // the address of the first is another in every run
			fast = fast[:strings.Index(fast, "bootstrap = ")] + "bootstrap = ['" + status(t, nodes[0]).Addrs[0] + "']\n" +
				fast[strings.Index(fast, "# ask the router"):]
		}
		if err := os.WriteFile(config, []byte(fast), 0o600); err != nil {
			t.Fatal(err)
		}
		n := openNode(t, dir)
		if s := status(t, n); s.Neighbours != 2 || s.Round != 4 {
			t.Fatalf("%s: %d neighbours, round %d; want 2 and 4", name, s.Neighbours, s.Round)
		}
		if known, err := n.Peers(t.Context()); err != nil || len(known) != 2 || known[0].Weight != 1 || known[0].Since == 0 {
			t.Errorf("%s: its neighbours are %+v, error %v", name, known, err)
		}
		// 11 of the 14 are for training, the last in a cohort of its own: the second is full.
		const header, row = "room,outside,hour,people,inside\n", "hall,3.5,7,2,19\n"
		for _, more := range []int{5, 9} {
			report, err := n.Import(t.Context(), strings.NewReader(header+strings.Repeat(row, more)), api.ImportOptions{Again: true})
			if err != nil {
				t.Fatal(err)
			}
			if e := last(eventsUntil(t, n, api.EventImported), api.EventImported); more == 5 && (report.Missing == 0 || e.Missing != report.Missing) {
				t.Errorf("%s: %d records are missing, the event says %d", name, report.Missing, e.Missing)
			}
		}
		if s := status(t, n); s.Done || s.Privacy.Missing != 0 {
			t.Errorf("%s: %d records are missing", name, s.Privacy.Missing)
		}
		start(t, n)
		require.Eventually(t, "the node listens", func() bool { return len(status(t, n).Addrs) > 0 })
		nodes = append(nodes, n)
	}
	require.Eventually(t, "the budgets are spent", func() bool {
		return !slices.ContainsFunc(nodes, func(n *Node) bool { s := status(t, n); return !s.Done || s.Listening == 0 })
	})
	for _, n := range nodes {
		budget, err := n.Budget(t.Context())
		if err != nil || len(budget.Cohorts) != 3 || budget.Cohorts[0].Releases != 3 || budget.Cohorts[1].Releases != 3 || budget.Cohorts[2].Releases != 2 {
			t.Errorf("cohorts %+v, error %v; want three releases of two and two of the last, which does not pay alone", budget.Cohorts, err)
		}
		if v, err := n.Verify(t.Context()); err != nil || v.Round != 6 {
			t.Errorf("the ledger %+v, error %v; want round 6", v, err)
		}
		if _, err := n.Import(t.Context(), strings.NewReader("room,outside,hour,people,inside\nhall,3.5,7,2,19\n"), api.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		records := listed(t, n, false)
		if newest := records[len(records)-1]; newest.Cohort != privacy.Cohort(3) {
			t.Errorf("the new record is %+v; want cohort 3", newest)
		}
	}
}

// A copy that the first release made is put back, and its records retired.
func TestRelease1BackupIsRestored(t *testing.T) {
	t.Parallel()
	dir := release1(t, "rooms")
	if _, err := datadir.Restore(dir, filepath.Join(dir, "backup"), nil); err != nil {
		t.Fatal(err)
	}
	n := openNode(t, dir)
	if s := status(t, n); s.Records != 34 || !s.Privacy.Retired || s.Privacy.Left != 0 {
		t.Errorf("status %+v; want 34 records, retired", s)
	}
}
