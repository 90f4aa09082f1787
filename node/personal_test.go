package node

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// Records that arrive between reading them and fitting are not lost: the fit
// reads what is stored.
func TestFitReadsWhatIsStored(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 30), nil)
	want, err := n.Personal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n.records.forget()
	n.fits.recordsDeleted()
	got, err := n.Personal(t.Context())
	if err != nil || !floats.Same(got.Theta, want.Theta) || floats.Norm(got.Theta, 2) == 0 {
		t.Errorf("theta %v, %v; want %v", got.Theta, err, want.Theta)
	}
}

// An Add that fails has stored nothing, so that it can be tried again.
func TestFailedAddStoresNothing(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	start(t, n)
	eventually(t, "running", func() bool { return status(t, n).Running })
	good := []float64{0, 0, 1}
	for name, r := range map[string]learner.Record{
		"dimension":  {X: []float64{1}},
		"no X":       {},
		"NaN":        {X: []float64{0, math.NaN(), 1}},
		"infinite y": {X: good, Y: math.Inf(1)},
		"range of y": {X: good, Y: 3.01},
		"norm":       {X: []float64{0.8, 0.8, 1}},
	} {
		if err := n.Add(t.Context(), []learner.Record{{X: good}, r}); err == nil || !strings.Contains(err.Error(), "record 2 of 2 ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	stored := 0
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel() // before, while or after it is stored
		if n.Add(ctx, []learner.Record{{X: good}}) == nil {
			stored++
		}
		cancel()
	}
	if s := status(t, n); s.Records != stored {
		t.Errorf("%d records, want the %d of the calls that succeeded", s.Records, stored)
	}
}
