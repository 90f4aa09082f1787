package storage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// idModel is the obvious twin of a store of records with IDs.
type idModel struct {
	recordModel
	arrivals []Arrival // by slot; ID "" once it is erased
}

func (m *idModel) put(list []Arrival, in Intake) (outcomes []Outcome) {
	for _, a := range list {
		at := slices.IndexFunc(m.arrivals, func(b Arrival) bool { return a.ID != "" && b.ID == a.ID })
		switch {
		case at >= 0 && a.Y == m.arrivals[at].Y && slices.Equal(a.X, m.arrivals[at].X):
			m.arrivals[at].Cells = a.Cells
			outcomes = append(outcomes, Same)
			continue
		case at >= 0:
			m.delete(learner.Seq(at + 1))
			outcomes = append(outcomes, Replaced)
		default:
			outcomes = append(outcomes, New)
		}
		m.append([]learner.Record{a.Record}, in, today)
		m.arrivals = append(m.arrivals, a)
	}
	return outcomes
}

func (m *idModel) delete(q learner.Seq) {
	m.recordModel.delete(q)
	m.arrivals[q-1] = Arrival{}
}

func (m *idModel) checkIDs(t *testing.T, s *Store) {
	t.Helper()
	ids, cells := make(map[learner.Seq]string), make(map[learner.Seq]learner.Cells)
	require.NoError(t, s.EachID(0, 1<<40, func(q learner.Seq, id string) { ids[q] = id }),
		s.EachCells(0, 1<<40, func(q learner.Seq, c learner.Cells) { cells[q] = c }))
	for i, a := range m.arrivals {
		q := learner.Seq(i + 1)
		if ids[q] != a.ID || cells[q] != a.Cells {
			t.Fatalf("record %d: ID %q and cells %q, want %q and %q", q, ids[q], cells[q], a.ID, a.Cells)
		}
	}
}

// Arrivals with and without IDs, in batches of any length, have the same effect as on a
// twin that takes one after the other, also after deletions and when the file is opened
// again.
func TestPutTakesArrivalsInTurn(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 61))
	s, _ := open(t, newPath(t))
	in := Intake{Admit: task().Admit, Size: 20, Closed: neverClosed}
	var model idModel
	contents := randomRecords(r, 3)
	counts, err := s.Count()
	require.NoError(t, err)
	for step := range 60 {
		list := make([]Arrival, 1+r.IntN(12))
		for i := range list {
			list[i].Record = contents[r.IntN(len(contents))]
			list[i].Cells = packed(r)
			if r.IntN(5) > 0 {
				list[i].ID = strconv.Itoa(r.IntN(15))
			}
		}
		want := model.put(list, in)
		got, err := s.Put(list, in, today)
		if err != nil || !slices.Equal(got.Outcomes, want) {
			t.Fatalf("step %d: %v, want %v; %v", step, got.Outcomes, want, err)
		}
		if len(got.Stored) > 0 {
			counts.Add(got.Stored, got.Erased, got.Noted)
		} else {
			counts.Noted = counts.Noted.Plus(got.Noted)
		}
		if q := learner.Seq(1 + r.IntN(len(model.slots))); step%4 == 0 && model.slots[q-1].X != nil {
			require.NoError(t, s.DeleteRecords(q))
			model.delete(q)
			counts, err = s.Count()
			require.NoError(t, err)
		}
		if step%10 == 9 {
			s, _ = reopen(t, s)
		}
		if now, err := s.Count(); err != nil || !sameCounts(now, counts) {
			t.Fatalf("step %d: counted %+v, kept %+v; %v", step, now, counts, err)
		}
		model.checkIDs(t, s)
	}
	live, _, err := s.Records()
	require.NoError(t, err)
	var want []learner.Record
	for _, slot := range model.slots {
		if slot.X != nil {
			want = append(want, slot)
		}
	}
	if !slices.EqualFunc(live, want, sameRecord) {
		t.Errorf("%d records, want %d alike", len(live), len(want))
	}
}

// packed are the cells of a row: one empty text, or an unknown one, or one as it is.
func packed(r *rand.Rand) learner.Cells {
	return learner.Cells([]byte{1<<2 | []byte{0, 1, 3}[r.IntN(3)]})
}

func sameCounts(a, b Counts) bool {
	noted := func(c Counts) learner.Tally { return c.Noted.Plus(make(learner.Tally, 1)) }
	x, y := noted(a), noted(b)
	a.Noted, b.Noted = nil, nil
	return reflect.DeepEqual(a, b) && slices.Equal(x, y)
}

// No part of the file holds a replaced record or its ID, or cells that were written anew.
func TestReplacedBytesAreGone(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 62))
	s, _ := open(t, newPath(t))
	var old []learner.Record
	for i := range 40 { // in many transactions, so that pages move
		recs := randomRecords(r, 2)
		recs[0].Cells, recs[1].Cells = "\x54replaced-here-cells!", "\x54first-words-of-cells"
		_, err := s.Put([]Arrival{{recs[0], fmt.Sprint("changes-", i)}, {recs[1], fmt.Sprint("rewritten-", i)}}, full(9), today)
		require.NoError(t, err)
		old = append(old, recs...)
	}
	before, err := os.ReadFile(s.path)
	require.NoError(t, err)
	for _, words := range []string{"replaced-here", "first-words", "changes-13"} {
		if !bytes.Contains(before, []byte(words)) {
			t.Fatalf("%q is not in the file: the test looks for the wrong bytes", words)
		}
	}
	var list []Arrival
	for i := range 40 {
		now := randomRecords(r, 1)[0]
		kept := old[2*i+1]
		kept.Cells = "\x54other-words-of-cells"
		list = append(list, Arrival{now, fmt.Sprint("changes-", i)}, Arrival{kept, fmt.Sprint("rewritten-", i)})
	}
	c, err := s.Put(list, full(9), today)
	if err != nil || len(c.Erased) != 40 || len(c.Stored) != 40 {
		t.Fatalf("%d erased, %d stored; %v", len(c.Erased), len(c.Stored), err)
	}
	var gone []learner.Record
	for i := 0; i < len(old); i += 2 {
		gone = append(gone, old[i])
	}
	if n := seen(t, s, gone); n != 0 {
		t.Errorf("%d replaced records are still in the file", n)
	}
	require.NoError(t, s.DeleteRecords(c.Stored[13].Seq))
	data, err := os.ReadFile(s.path)
	require.NoError(t, err)
	for _, words := range []string{"replaced-here", "first-words", "changes-13"} {
		if n := bytes.Count(data, []byte(words)); n > 0 {
			t.Errorf("%q is in the file %d times", words, n)
		}
	}
	if again, err := s.Put([]Arrival{{gone[0], "changes-13"}}, full(9), today); err != nil || again.Outcomes[0] != New {
		t.Errorf("the ID of a deleted record: %v, %v", again.Outcomes, err)
	}
}

// All are stored or none, and a refused call changes nothing.
func TestPutRefuses(t *testing.T) {
	s, _ := open(t, newPath(t))
	good := randomRecords(rand.New(rand.NewPCG(1, 63)), 2)
	for name, list := range map[string][]Arrival{
		"a long ID":  {{good[0], "a"}, {good[1], strings.Repeat("x", MaxID+1)}},
		"the target": {{good[0], "a"}, {learner.Record{X: good[1].X, Y: 99}, "b"}},
	} {
		if _, err := s.Put(list, full(3), today); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if c, err := s.Count(); err != nil || c.Newest != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	require.NoError(t, errorOf(s.Put([]Arrival{{good[0], strings.Repeat("x", MaxID)}}, full(3), today)))
}

func errorOf(_ Changes, err error) error { return err }

// A file of version 4 takes IDs once it is opened.
func TestVersion4TakesIDs(t *testing.T) {
	s, _ := open(t, newPath(t))
	rec := randomRecords(rand.New(rand.NewPCG(1, 64)), 1)[0]
	_, err := s.AppendRecords([]learner.Record{rec}, full(3), today)
	require.NoError(t, err)
	require.NoError(t, asVersion4(s))
	s, _ = reopen(t, s)
	c, err := s.Put([]Arrival{{rec, "a"}, {rec, "a"}}, full(3), today)
	if err != nil || !slices.Equal(c.Outcomes, []Outcome{New, Same}) {
		t.Errorf("%v, %v", c.Outcomes, err)
	}
}

// putVariable names the store of a child process that puts records until it is killed.
const putVariable = "P2PNODE_STORAGE_PUT"

// putIDs is how many IDs a child's batches have.
const putIDs = 40

// putBatch is a batch of one version: every ID of an even number changes with each.
func putBatch(version int) []Arrival {
	list := make([]Arrival, putIDs)
	for i := range list {
		list[i] = Arrival{learner.Record{X: make([]float64, dim)}, strconv.Itoa(i)}
		if i%2 == 0 {
			list[i].Y = float64(version%100) / 10
		}
		list[i].Cells = learner.Cells(append([]byte{byte(len(strconv.Itoa(version))+1) << 2}, strconv.Itoa(version)...))
	}
	return list
}

func putChild(path string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s, err := Open(path)
	fail(err)
	c, err := s.Count()
	fail(err)
	for version := versionOf(c); ; version++ {
		_, err := s.Put(putBatch(version), full(1_000_000), today)
		fail(err)
		fmt.Println(version)
	}
}

// versionOf is the batch that comes next: the first takes putIDs slots, each other half.
func versionOf(c Counts) int {
	if c.Newest == 0 {
		return 0
	}
	return 1 + int(c.Newest-putIDs)/(putIDs/2)
}

// A process that is killed while it replaces records leaves each ID once, all of one
// batch, and no batch that was promised is lost.
func TestKillLeavesEachIDOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 65))
	path := newPath(t)
	promised := -1
	for range 25 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), putVariable+"="+path)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		first := true
		for lines := bufio.NewScanner(out); lines.Scan(); {
			version, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
			require.NoError(t, err)
			promised = max(promised, version)
			if first {
				time.AfterFunc(time.Duration(r.Int64N(int64(30*time.Millisecond))), func() { child.Process.Kill() })
			}
			first = false
		}
		child.Wait()
		checkPut(t, path, promised)
	}
	if promised < 25 {
		t.Errorf("only %d batches were stored", promised)
	}
}

func checkPut(t *testing.T, path string, promised int) {
	t.Helper()
	s, err := Open(path)
	require.NoError(t, err)
	defer s.Close()
	c, err := s.Count()
	require.NoError(t, err)
	version := versionOf(c) - 1
	if version < promised || version > promised+1 || c.Records != putIDs {
		t.Fatalf("%d records, of batch %d; batch %d was promised", c.Records, version, promised)
	}
	where := make(map[learner.Seq]string)
	require.NoError(t, s.EachID(0, c.Newest, func(q learner.Seq, id string) { where[q] = id }))
	require.NoError(t, s.EachCells(0, c.Newest, func(q learner.Seq, cells learner.Cells) {
		for _, cell := range cells.All() {
			if cell.Text != strconv.Itoa(version) {
				t.Fatalf("record %d has cells of batch %s, not %d", q, cell.Text, version)
			}
		}
	}))
	seen := make(map[string]bool)
	require.NoError(t, s.EachRecord(0, func(rec learner.Record) error {
		if id, named := where[rec.Seq]; named == (rec.X == nil) || seen[id] && named {
			return errors.New("an ID is there twice, or a record without one")
		} else if named {
			seen[id] = true
		}
		return nil
	}))
	again, err := s.Put(putBatch(version), full(1_000_000), today)
	if err != nil || slices.ContainsFunc(again.Outcomes, func(o Outcome) bool { return o != Same }) {
		t.Fatalf("batch %d again: %v, %v", version, again.Outcomes, err)
	}
}

func FuzzDecodePrint(f *testing.F) {
	f.Add(printOf(&learner.Record{Seq: 7, X: []float64{1}, Y: 2, Cells: "\x08a"}).encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodePrint(data)
		if err == nil && !bytes.Equal(p.encode(), data) {
			t.Fatalf("%x decodes to %+v and not back", data, p)
		}
	})
}
