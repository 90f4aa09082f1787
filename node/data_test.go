package node

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/storage"
)

func fixed(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

func budget(t *testing.T, n *Node) api.Budget {
	t.Helper()
	b, err := n.Budget(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Deleted records leave the personal model at once: it is the model of a node that never
// had them, except for their empty slots. A running node forgets in the same way.
func TestDeleteIsForgotten(t *testing.T) {
	all := lineRecords(fixed(1), 20)
	for _, running := range []bool{false, true} {
		n := testNode(t, lineTask(), all, nil)
		if running {
			start(t, n)
			require.Eventually(t, "running", func() bool { return status(t, n).Running })
		}
		before, err := n.Personal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Delete(t.Context(), []uint64{2, 3, 10}); err != nil {
			t.Fatal(err)
		}
		after, err := n.Personal(t.Context())
		if err != nil || floats.Equal(before.Theta, after.Theta) {
			t.Errorf("running %v: the model is the same after the deletion, %v", running, err)
		}
		list := listed(t, n, true)
		if len(list) != 20 {
			t.Fatalf("%d records", len(list))
		}
		for _, r := range list {
			gone := r.Number == 2 || r.Number == 3 || r.Number == 10
			if r.Deleted != gone || (r.Target == nil) != gone || (r.Features == nil) != gone || r.HeldOut != (r.Number%5 == 0) {
				t.Errorf("running %v: %+v", running, r)
			}
		}
		if b := budget(t, n); b.Cohorts[0].Records != 16 {
			t.Errorf("%d slots, want the 16 of before: their number is public", b.Cohorts[0].Records)
		}
	}
}

// A running agent's next sum has an empty slot where the record was.
func TestDeleteReachesTheAgent(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(fixed(1), 4), func(c *datadir.Config) { c.Unprotected = datadir.Consent })
	other := testNode(t, lineTask(), nil, func(c *datadir.Config) { c.Unprotected = datadir.Consent })
	start(t, n)
	require.Eventually(t, "running", func() bool { return len(status(t, n).Addrs) > 0 })
	if err := n.Delete(t.Context(), []uint64{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	other.files.Config.Bootstrap = status(t, n).Addrs
	start(t, other)
	require.Eventually(t, "a release", func() bool { return status(t, n).Round > 0 })
	state, err := n.state()
	if err != nil || floats.Norm(state.Model, 2) != 0 {
		t.Errorf("the model without noise of no records is %v, %v; want zero", state.Model, err)
	}
}

// Every coordinate of an encoded record has a name.
func TestCoordinateNames(t *testing.T) {
	movies, err := datadir.BuiltinTask("movies")
	if err != nil {
		t.Fatal(err)
	}
	row := map[string]string{"genres": "Comedy|Romance", "year": "1994"}
	r, err := movies.EncodeFeatures(func(name string) (string, bool) { v, ok := row[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	names := movies.Coordinates()
	if len(names) != movies.Width() {
		t.Fatalf("%d names, want %d", len(names), movies.Width())
	}
	var got []string
	for _, c := range named(names, r.X) {
		got = append(got, c.Name)
	}
	if want := []string{"genres=Comedy", "genres=Romance", "year>=1990", "constant"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if names := lineTask().Coordinates(); !slices.Equal(names, []string{"a", "b", "constant"}) {
		t.Errorf("got %q", names)
	}
}

// All are deleted or none.
func TestDeleteAllOrNone(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 5), nil)
	before := fittedNow(t, n, t.Context())
	for _, numbers := range [][]uint64{{1, 6}, {0}, {1, 1}} {
		if err := n.Delete(t.Context(), numbers); !errors.Is(err, storage.ErrNoRecord) {
			t.Errorf("%v: %v", numbers, err)
		}
	}
	if m := fittedNow(t, n, ended(t)); m.Records != 5 || &m.Theta[0] != &before.Theta[0] {
		t.Errorf("the model of all 5 was dropped: %+v", m)
	}
	if s := status(t, n); s.Records != 5 {
		t.Errorf("%d records, want all 5", s.Records)
	}
	if err := n.Delete(t.Context(), nil); err != nil {
		t.Errorf("nothing to delete: %v", err)
	}
}

// Records that come after the cohort's time begin a new cohort.
func TestCohortHours(t *testing.T) {
	for hours, want := range map[float64]privacy.Cohort{0: 1, 1: 1, 1e-9: 2} {
		n := testNode(t, lineTask(), lineRecords(fixed(1), 5), func(c *datadir.Config) { c.CohortHours = hours })
		if err := n.Add(t.Context(), lineRecords(fixed(2), 5)); err != nil {
			t.Fatal(err)
		}
		if list := listed(t, n, false); list[9].Cohort != want {
			t.Errorf("%v hours: %+v; want cohort %d", hours, list[9], want)
		}
	}
}

// A page of records has what the whole list has at that place, with content.
func TestRecordsFrom(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 9), nil)
	if err := n.Delete(t.Context(), []uint64{4}); err != nil {
		t.Fatal(err)
	}
	all := listed(t, n, true)
	for _, c := range []struct{ from, count, first, last int }{
		{0, 2, 0, 2}, {1, 2, 0, 2}, {3, 3, 2, 5}, {9, math.MaxInt, 8, 9}, {10, 5, 9, 9}, {5, 0, 4, 4},
	} {
		got, err := n.RecordsFrom(t.Context(), uint64(c.from), c.count)
		if want := all[c.first:c.last]; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d records from %d: %v, %v, want %v", c.count, c.from, got, err, want)
		}
	}
}

// A record that a damaged store gives more cells than the task has columns is listed with
// those that it has, and counted with them.
func TestRecordsWithTooManyCells(t *testing.T) {
	wide := lineTask()
	wide.Features = append(wide.Features, learner.Feature{Name: "c", Kind: "number", Min: -1, Max: 1})
	records := lineRecords(fixed(1), 1)
	coded, err := wide.Encode(func(string) (string, bool) { return "9", true })
	if err != nil {
		t.Fatal(err)
	}
	records[0].Cells = coded.Cells
	n := testNode(t, lineTask(), records, nil)
	if list := listed(t, n, true); len(list) != 1 || len(list[0].Cells) != 3 || list[0].Cells[2].Column != "y" {
		t.Errorf("listed %+v", list)
	}
	if s, err := n.Status(t.Context()); err != nil || len(s.Cells) != 3 {
		t.Errorf("counted %+v, %v", s.Cells, err)
	}
}

// listed is the whole list of an owner's records.
func listed(t *testing.T, owner api.Owner, content bool) (list []api.RecordInfo) {
	t.Helper()
	for r, err := range owner.Records(t.Context(), content) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// A long list arrives complete and in order, from the node and from its daemon, and a
// slow reader makes nobody wait. Records that are added or deleted meanwhile may be in it
// or not.
func TestALongListKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	const count = 3*listedAtOnce + 5
	for _, through := range []string{"the directory", "the daemon"} {
		n := testNode(t, lineTask(), lineRecords(fixed(1), count), nil)
		var owner api.Owner = n
		if through == "the daemon" {
			owner = served(t, n)
		}
		numbers := learner.Seq(0)
		for r, err := range owner.Records(t.Context(), true) {
			if numbers++; err != nil || r.Number != numbers || r.Target == nil != r.Deleted {
				t.Fatalf("%s: record %+v, error %v; want number %d", through, r, err, numbers)
			}
			if numbers != 1 {
				continue
			}
			if err := errors.Join(n.Delete(t.Context(), []uint64{count}), n.Add(t.Context(), lineRecords(fixed(2), 1))); err != nil {
				t.Fatal(err)
			}
		}
		if numbers != count && numbers != count+1 {
			t.Errorf("%s: %d records, want %d", through, numbers, count)
		}
	}
}

// A list that breaks off is an error, not a shorter list.
func TestAListThatBreaksOff(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(fixed(1), 30*listedAtOnce), nil)
	for through, owner := range map[string]api.Owner{"the directory": n, "the daemon": served(t, n)} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for _, err := range owner.Records(ctx, true) {
			cancel()
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("%s: the list ends with %v", through, last)
		}
		for range owner.Records(t.Context(), true) {
			break // who has enough
		}
	}
}

// To delete no records changes nothing: neither the personal model nor what the owner is told.
func TestDeleteNothing(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 20), nil)
	_, err := n.Personal(t.Context())
	require.NoError(t, err)
	before, changes := n.fits.newest, n.fits.changes
	require.NoError(t, n.Delete(t.Context(), nil))
	if before == nil || n.fits.newest != before || n.fits.changes != changes {
		t.Error("the personal model is dropped, or counts as old")
	}
}
