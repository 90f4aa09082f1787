package testnet

import (
	"errors"
	"math"
	"testing"

	"go.uber.org/goleak"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// numbered returns records with these arrival numbers, told apart by Y.
func numbered(numbers ...learner.Seq) []learner.Record {
	records := make([]learner.Record, len(numbers))
	for i, n := range numbers {
		records[i] = learner.Record{Seq: n, Y: float64(n)}
	}
	return records
}

// A device numbers what it is given from 1: each record gets the number it states,
// and only held-out ones stand between.
func TestArrived(t *testing.T) {
	for _, c := range []struct {
		stated []learner.Seq
		bad    bool
	}{
		{stated: nil},
		{stated: []learner.Seq{1, 2, 3, 4, 5, 6}},
		{stated: []learner.Seq{1, 2, 3, 4, 6, 7, 8, 9, 11}},
		{stated: []learner.Seq{1, 3}, bad: true},
		{stated: []learner.Seq{2}, bad: true},
		{stated: []learner.Seq{1, 2, 2}, bad: true},
		{stated: []learner.Seq{1, 0}, bad: true},
	} {
		all, err := arrived(numbered(c.stated...))
		if (err != nil) != c.bad || c.bad && !errors.Is(err, errNumbers) {
			t.Errorf("%v: %v", c.stated, err)
		}
		var kept []learner.Seq
		for i, r := range all {
			switch at := learner.Seq(i + 1); {
			case r.Y == float64(at):
				kept = append(kept, at)
			case !at.HeldOut():
				t.Errorf("%v: record %v arrives as number %d", c.stated, r.Y, at)
			}
		}
		if err == nil && len(kept) != len(c.stated) {
			t.Errorf("%v: %v arrive", c.stated, kept)
		}
	}
}

// Everybody is measured in each way, and the lone models have constants of their own.
func TestAgree(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	d, err := Linear(3, 6)
	if err != nil {
		t.Fatal(err)
	}
	task := *d.Task
	task.Release.Releases, task.Graph.Gamma = 2, 5 // everybody is like everybody
	d.Task = &task
	for i := range d.People { // nothing is held out
		records := d.People[i].Records
		seq := learner.Seq(0)
		for k := range records {
			if seq++; seq.HeldOut() {
				seq++
			}
			records[k].Seq = seq
		}
	}
	w := Twins{
		Data: d, Method: Broadcast, Lone: learner.Local{Eta: 20, Kappa: 1}, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6},
		Seed: 5, Simulations: 2, Dir: t.TempDir(),
	}
	a, err := Agree(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Alone) != 6 || len(a.Real) != 6 || len(a.Simulated) != 2 || a.Unfinished != 0 || a.Seconds <= 0 {
		t.Fatalf("agreement %+v", a)
	}
	lone := task
	lone.Local = w.Lone
	for i, p := range d.People {
		if want := lone.Error(personalModel(&lone, p.Records, learner.State{}), p.Test); a.Alone[i] != want {
			t.Errorf("person %d: error %v alone, want %v", i, a.Alone[i], want)
		}
	}
	if d.Task.Local == w.Lone {
		t.Error("the task of the others was changed")
	}
	wantEmpty(t, w.Dir)
}

func TestDifference(t *testing.T) {
	a := Agreement{Real: []float64{3, 5}, Simulated: [][]float64{{1, 2}, {2, 3}, {3, 4}}}
	above, spread := a.Difference(1)
	// The resamples of two people lie between 1 and 2, which two people make 9.17 times wider.
	if half := 0.5 * math.Sqrt2 * 12.7062 / 1.959964; above.Mean != 1.5 || math.Abs(above.Low-1.5+half) > 1e-4 || math.Abs(above.High-1.5-half) > 1e-4 ||
		math.Abs(spread-1) > 1e-12 {
		t.Errorf("%+v, %v; want 1.5 -+ %v and 1", above, spread, half)
	}
}
