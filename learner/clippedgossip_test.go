package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func TestAddClipped(t *testing.T) {
	dst := []float64{1, 1}
	if left := addClipped(dst, []float64{4, 0}, 0.5, 4, 4); left != 0 || !floats.Equal(dst, []float64{3, 1}) {
		t.Errorf("at the radius: %v, %v left", dst, left)
	}
	// Half of the way to a centre at (0, 0).
	dst = []float64{0, 0}
	if left := addClipped(dst, []float64{4, 0}, 0.5, 4, 2); left != 0.25 || !floats.Equal(dst, []float64{1, 0}) {
		t.Errorf("beyond: %v, %v left", dst, left)
	}
}

func TestGossipRadius(t *testing.T) {
	distances := []float64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	if r := gossipRadius(distances, enoughToJudge); r != 6 {
		t.Errorf("radius %v of 1 to 12, want the lower median", r)
	}
	if r := gossipRadius(distances[:3], enoughToJudge); r != 2 {
		t.Errorf("radius %v of 1 to 3 at one who has not heard all, want the lower median", r)
	}
	if r := gossipRadius(distances[:11], enoughToJudge-1); !math.IsInf(r, 1) {
		t.Errorf("radius %v at one with few neighbours", r)
	}
}

func TestHeldBack(t *testing.T) {
	mean := []float64{5, 1}
	if share := limitPull(mean, []float64{1, 1}, 2); share != 0.5 || !floats.Equal(mean, []float64{3, 1}) {
		t.Errorf("%v, share %v", mean, share)
	}
	if share := limitPull(mean, []float64{1, 1}, 2); share != 1 || !floats.Equal(mean, []float64{3, 1}) {
		t.Errorf("%v was moved again, share %v", mean, share)
	}
}

// A mean of twenty, of whom nine are far away and agree, moves no further than the honest
// are apart; without liars beyond the median it is the weighted mean, bit for bit.
func TestMeanWithLiars(t *testing.T) {
	n := &neighbourhood{}
	var edges []Edge
	for i := range 20 {
		edges = append(edges, Edge{Peer: ID(rune('a' + i)), Weight: 1})
	}
	n.set(edges)
	for i := range n.edges {
		e := &n.latest[i]
		e.round, e.model = 1, []float64{1, 0}
		if i < 9 {
			e.model = []float64{0, 100}
		}
	}
	mean, _, heard := n.mean(make([]float64, 2), []float64{0, 0}, 0, math.Inf(1))
	if !heard || math.Abs(mean[0]-11./20) > 1e-12 || math.Abs(mean[1]-9./20) > 1e-12 {
		t.Errorf("mean %v, want each liar at distance 1", mean)
	}
	for i := range n.edges {
		n.latest[i].model = []float64{0.3, 0.7}
	}
	want := make([]float64, 2)
	for range 20 {
		floats.AddScaled(want, 1./20, []float64{0.3, 0.7})
	}
	if mean, _, _ := n.mean(make([]float64, 2), []float64{1, 1}, 0, math.Inf(1)); !floats.Equal(mean, want) {
		t.Errorf("mean %v of equal models, want %v", mean, want)
	}
	if allocs := testing.AllocsPerRun(10, func() { n.mean(want, want, 0, math.Inf(1)) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// A liar's claim of noise counts as a few times what neighbours claim, or as what a model of
// the ball can have before enough of them were heard, so that the agent's own claim does not
// grow with it.
func TestNoNoiseIsBelievedThatIsFarBeyondTheOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 3))
	const most = 2
	claimed := func(liars int, claim float64) float64 {
		n := noisy(r, 20, 10, 0)
		for i := range liars {
			n.latest[i].noiseStd = claim
		}
		_, std, _ := n.mean(make([]float64, 10), make([]float64, 10), 0.2, most)
		return std
	}
	honest := claimed(0, 0)
	for _, claim := range []float64{1, 1e6, math.MaxFloat64} {
		if got := claimed(6, claim); got > 3*honest {
			t.Errorf("six of twenty claim %g: %v is claimed of the mean, %v without them", claim, got, honest)
		}
		if got := claimed(20, claim); got > most {
			t.Errorf("all claim %g: %v is claimed of the mean", claim, got)
		}
	}
}
