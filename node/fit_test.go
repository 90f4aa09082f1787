package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/storage"
)

// ended is the context of a caller that does not wait at all.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// endless starts a fit that ends when it is told to. It reports whether the fit was
// cancelled.
func endless(t *testing.T, n *Node) (end func(), called func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	n.fits.mu.Lock()
	defer n.fits.mu.Unlock()
	n.fits.begun++
	f := &fit{number: n.fits.begun, cancel: cancel, done: make(chan struct{})}
	n.fits.current = f
	end = sync.OnceFunc(func() {
		n.fits.mu.Lock()
		defer n.fits.mu.Unlock()
		n.fits.current = nil
		close(f.done)
	})
	t.Cleanup(end)
	return end, func() bool { return ctx.Err() != nil }
}

func fittedNow(t *testing.T, n *Node, ctx context.Context) Fitted {
	t.Helper()
	m, err := n.Fitted(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// At first, and until there is a model, the answer is the model of a node without
// records.
func TestFittedBeforeTheFirstFit(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 30), nil)
	end, _ := endless(t, n)
	if m := fittedNow(t, n, ended(t)); m.Current || m.Records != 0 || floats.Norm(m.Theta, 2) != 0 || len(m.Alone) != 3 {
		t.Errorf("%+v, want zero and not current", m)
	}
	end()
	m := fittedNow(t, n, t.Context())
	if !m.Current || m.Records != 30 || floats.Norm(m.Theta, 2) == 0 {
		t.Errorf("%+v, want the fit of 30 records", m)
	}
	if again := fittedNow(t, n, t.Context()); &again.Theta[0] != &m.Theta[0] {
		t.Error("the same again was fitted again")
	}
}

// While a fit runs everything else continues. A caller that does not wait gets the
// previous model.
func TestNothingWaitsForAFit(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 30), nil)
	before := fittedNow(t, n, t.Context())
	end, calledOff := endless(t, n)
	if err := n.Add(t.Context(), lineRecords(fixed(2), 5)); err != nil {
		t.Fatal(err)
	}
	if s, err := n.Progress(t.Context()); err != nil || s.Records != 35 || s.HeldOut != 7 {
		t.Errorf("%d records, %d held out, %v; want 35 and 7", s.Records, s.HeldOut, err)
	}
	if list := listed(t, n, true); len(list) != 35 {
		t.Errorf("%d records listed", len(list))
	}
	if m := fittedNow(t, n, ended(t)); m.Current || m.Records != 30 || !floats.Same(m.Theta, before.Theta) {
		t.Errorf("%+v, want the model of before", m)
	}
	if calledOff() {
		t.Error("more records called the fit off, so that it would never end while they come")
	}
	if _, err := n.Personal(ended(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("who waits for the newest got %v", err)
	}
	end() // without a model: the next reader begins another fit
	if m := fittedNow(t, n, t.Context()); !m.Current || m.Records != 35 {
		t.Errorf("%+v, want the fit of 35 records", m)
	}
}

// A deletion drops the model and cancels the fit under way. What that fit still offers is
// ignored.
func TestDeletedRecordsAreNotServed(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 30), nil)
	before := fittedNow(t, n, t.Context())
	end, calledOff := endless(t, n)
	late, cancel := context.WithCancel(context.Background())
	under := n.fits.current.cancel
	n.fits.current.cancel = func() { under(); cancel() }
	if err := n.Delete(t.Context(), []uint64{2}); err != nil {
		t.Fatal(err)
	}
	n.fits.offer(late, fitted{Fitted: before, whole: true})
	if m := fittedNow(t, n, ended(t)); !calledOff() || m.Records != 0 || floats.Norm(m.Theta, 2) != 0 {
		t.Errorf("called off: %v; %+v, want nothing of the deleted record", calledOff(), m)
	}
	end()
	if m := fittedNow(t, n, t.Context()); !m.Current || m.Records != 29 || floats.Same(m.Theta, before.Theta) {
		t.Errorf("%+v, want a fit of 29 records", m)
	}
}

// What a fit has so far is better than nothing, but does not replace a finished fit.
func TestOffersOfAFitUnderWay(t *testing.T) {
	var f fits
	offer := func(number uint64, whole bool) {
		f.offer(context.Background(), fitted{number: number, whole: whole})
	}
	for _, c := range []struct {
		number uint64
		whole  bool
		newest uint64
	}{{1, false, 1}, {2, false, 2}, {2, true, 2}, {3, false, 2}, {3, true, 3}} {
		offer(c.number, c.whole)
		if f.newest.number != c.newest {
			t.Errorf("after an offer of fit %d, whole %v, the newest is that of %d, want %d", c.number, c.whole, f.newest.number, c.newest)
		}
	}
}

// A defect in a fit is an error for those who wait for it, and ends nothing else.
func TestFitThatPanics(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 30), nil)
	if _, err := n.records.all(); err != nil {
		t.Fatal(err)
	}
	n.records.rows.train = learner.RowsOf([]learner.Record{{Seq: 1, X: []float64{1}}}) // which storage never returns
	if _, err := n.Personal(t.Context()); err == nil || !strings.Contains(err.Error(), "fit") {
		t.Errorf("error %v", err)
	}
	n.Trim()
	if m := fittedNow(t, n, t.Context()); m.Records != 30 {
		t.Errorf("%+v after the records were read again", m)
	}
}

// Whatever happens at the same time, the current model in the end is the fit of what is
// stored in the end, and no answer knows more records than there were.
func TestFittedWhileRecordsComeAndGo(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 10), nil)
	var all sync.WaitGroup
	for worker := range 3 {
		all.Go(func() {
			r := fixed(uint64(worker))
			for i := range 15 {
				var err error
				switch {
				case worker == 0:
					err = n.Add(t.Context(), lineRecords(r, 2))
				case worker == 1 && i < 10:
					err = n.Delete(t.Context(), []uint64{uint64(i + 1)})
				default:
					n.Trim()
					var m Fitted
					if m, err = n.Fitted(ended(t)); m.Records > 40 || len(m.Theta) != 3 {
						t.Errorf("%+v", m)
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	live, _ := storedRecords(t, n)
	want := learner.FitPersonal(n.Task(), live, make([]float64, 3))
	if m := fittedNow(t, n, t.Context()); !m.Current || m.Records != 30 || !floats.Same(m.Theta, want.Theta) {
		t.Errorf("%+v, want %+v of %d records", m, want, len(live))
	}
}

// A model that was fitted while the records of a file came is not that of all of them.
func TestFittedDuringAnImport(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 30), nil)
	s := attachedSession(t, n)
	file, imported := "a,b,y\n"+strings.Repeat("0.5,0.25,1\n", 2*handOver), make(chan error, 1)
	go func() {
		_, err := n.Import(t.Context(), strings.NewReader(file), api.ImportOptions{})
		imported <- err
	}()
	for first, ended := true, false; !ended; first = false {
		select {
		case c := <-s.loop.records:
			if first {
				fittedNow(t, n, t.Context())
			}
			c.done <- nil
		case err := <-imported:
			require.NoError(t, err)
			ended = true
		}
	}
	if m := fittedNow(t, n, t.Context()); m.Records != 30+2*handOver {
		t.Errorf("the model knows %d records of %d", m.Records, 30+2*handOver)
	}
}

// That records have changed counts once a fit sees them: one that began before would count as
// knowing them.
func TestFitsAreOutdatedByWhatTheySee(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 30), nil)
	changes := func() uint64 {
		n.fits.mu.Lock()
		defer n.fits.mu.Unlock()
		return n.fits.changes
	}
	before := changes()
	n.Stored()               // from now on the count is kept up to date
	n.records.reading.Lock() // no fit sees the new record yet
	added := make(chan error, 1)
	go func() { added <- n.Add(t.Context(), lineRecords(fixed(2), 1)) }()
	require.Eventually(t, "the record is stored and counted", func() bool { return n.Stored() == 31 })
	early := changes()
	n.records.reading.Unlock()
	require.NoError(t, <-added)
	if late := changes(); early != before || late == before {
		t.Errorf("%d changes, %d before a fit sees the record, %d in the end", before, early, late)
	}
}

// Close ends what runs and refuses what comes.
func TestCloseEndsTheFit(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 30), nil)
	end, cancelled := endless(t, n)
	closed := make(chan error)
	go func() { closed <- n.Close() }()
	require.Eventually(t, "the fit is told to end", cancelled)
	end()
	require.NoError(t, <-closed)
	if n.fits.current != nil {
		t.Error("a fit is under way after Close")
	}
	if _, err := n.Personal(t.Context()); err == nil {
		t.Error("a model after Close")
	}
}

// What is kept in memory is what is stored, no matter what was added, deleted, trimmed
// and read meanwhile.
func TestOwnRecordsAreThoseStored(t *testing.T) {
	r := fixed(3)
	n := testNode(t, lineTask(), nil, nil)
	next := uint64(1)
	deleted := make(map[uint64]bool)
	for range 60 {
		switch r.IntN(6) {
		case 0:
			n.Trim()
		case 1:
			if q := 1 + r.Uint64N(next); q < next && !deleted[q] {
				deleted[q] = true
				if err := n.Delete(t.Context(), []uint64{q}); err != nil {
					t.Fatal(err)
				}
			}
		case 2:
			n.records.change(storage.Changes{Stored: lastStored(t, n)}) // who counted or read has seen them
		case 3:
			var some []storage.Arrival
			for i, record := range lineRecords(r, 3) {
				some = append(some, storage.Arrival{Record: record, ID: []string{"", "a", "b"}[(i+r.IntN(3))%3]})
			}
			c, err := n.put(t.Context(), some)
			if err != nil {
				t.Fatal(err)
			}
			for _, gone := range c.Erased {
				deleted[uint64(gone.Seq)] = true
			}
			for _, at := range c.Stored {
				deleted[uint64(at.Seq)] = at.X == nil // two of this batch had one ID
			}
			next += uint64(len(c.Stored))
		default:
			m := 1 + r.IntN(4)
			if err := n.Add(t.Context(), lineRecords(r, m)); err != nil {
				t.Fatal(err)
			}
			next += uint64(m)
		}
		if r.IntN(2) == 0 {
			checkOwn(t, n)
		}
	}
	checkOwn(t, n)
}

func lastStored(t *testing.T, n *Node) []learner.Record {
	live, _ := storedRecords(t, n)
	return live[max(0, len(live)-2):]
}

// storedRecords are the records on disk, and those that were deleted.
func storedRecords(t *testing.T, n *Node) (live, deleted []learner.Record) {
	t.Helper()
	require.NoError(t, n.store.EachRecord(0, func(r learner.Record) error {
		if r.X == nil {
			deleted = append(deleted, r)
		} else {
			r.X = slices.Clone(r.X)
			live = append(live, r)
		}
		return nil
	}))
	return live, deleted
}

func checkOwn(t *testing.T, n *Node) {
	t.Helper()
	live, deleted := storedRecords(t, n)
	var gotLive, gotDeleted []learner.Record
	rows := own(t, n)
	for r := range rows.each() {
		if r.X == nil {
			gotDeleted = append(gotDeleted, r)
		} else {
			gotLive = append(gotLive, r)
		}
	}
	same := func(a, b learner.Record) bool { return a.Seq == b.Seq && a.Cohort == b.Cohort }
	if !slices.EqualFunc(gotLive, live, same) || !slices.EqualFunc(gotDeleted, deleted, same) {
		t.Fatalf("%d live and %d deleted in memory; %d and %d stored", len(gotLive), len(gotDeleted), len(live), len(deleted))
	}
	heldOut := 0
	for i := range live {
		if gotLive[i].Seq != live[i].Seq || !floats.Same(gotLive[i].X, live[i].X) {
			t.Fatalf("record %d in memory is not the one stored", live[i].Seq)
		}
		if live[i].Seq.HeldOut() {
			heldOut++
		}
	}
	counts, err := n.records.count()
	if err != nil || counts.Records != len(live) || counts.HeldOut != heldOut {
		t.Fatalf("%+v, %v; want %d, %d held out", counts, err, len(live), heldOut)
	}
	slots := 0
	for _, m := range counts.Slots {
		slots += m
	}
	training := func(list []learner.Record) (m int) {
		for _, r := range list {
			if !r.Seq.HeldOut() {
				m++
			}
		}
		return m
	}
	if want := training(live) + training(deleted); slots != want {
		t.Fatalf("%d slots, want %d", slots, want)
	}
}

// One more record where 5000 of 561 features are stored, and the next look at them.
func BenchmarkAdd(b *testing.B) {
	task := lineTask()
	task.Constant, task.Features = 0, nil
	for range 561 {
		task.Features = append(task.Features, learner.Feature{Name: fmt.Sprint("x", len(task.Features)), Kind: "number", Min: -1, Max: 1})
	}
	r := rand.New(rand.NewPCG(1, 1))
	record := func() learner.Record {
		x := make([]float64, 561)
		for k := range x {
			x[k] = r.NormFloat64() / 30
		}
		return learner.Record{X: x, Y: r.Float64()}
	}
	records := make([]learner.Record, 5000)
	for i := range records {
		records[i] = record()
	}
	n := testNode(b, task, records, nil)
	for b.Loop() {
		if err := n.Add(b.Context(), []learner.Record{record()}); err != nil {
			b.Fatal(err)
		}
		if _, err := n.Progress(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
