package learner

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// The k-th model has weight k, a model counts once, and from so many on as the task has
// releases the newest has the share of the last of them.
func TestRunningMean(t *testing.T) {
	task := twoNumbers()
	task.Release.Releases = 4
	n := neighbourhood{self: "a"}
	n.set([]Edge{{Peer: "b", Weight: 1}, {Peer: "c", Weight: 1}})
	hear := func(round uint64, x float64) {
		t.Helper()
		m := modelOf("b", round, 1, x, 0)
		if err := n.hear(&m, 2); err != nil {
			t.Fatal(err)
		}
		n.average(task)
		n.average(task)
	}
	want := 0.
	for k, x := range []float64{3, 6, -1, 2, 8} {
		hear(uint64(2*k+1), x)
		share := 2 / float64(1+min(k+1, 4))
		want = (1-share)*want + share*x
		if got := n.means[0].model; math.Abs(got[0]-want) > 1e-6 || got[1] != 0 {
			t.Errorf("after %d models the mean is %v, not %v", k+1, got, want)
		}
	}
	if n.means[1].model != nil {
		t.Error("of a neighbour that said nothing there is a mean")
	}
	wantClose(t, "of three", []float64{weighted(3, 6, -1)}, []float64{(3 + 2*6 + 3*-1) / 6.}, 1e-12)

	// The mean stays with its peer, and comes back with the state.
	n.set([]Edge{{Peer: "a0", Weight: 1}, {Peer: "b", Weight: 2}})
	if !floats.EqualApprox(n.means[1].model, []float64{want, 0}, 1e-6) || n.means[0].model != nil {
		t.Errorf("with other edges the means are %v", n.means)
	}
	again := neighbourhood{self: "a"}
	if err := again.resume(n.heard(), 2); err != nil {
		t.Fatal(err)
	}
	n.set([]Edge{{Peer: "b", Weight: 2}})
	again.set([]Edge{{Peer: "b", Weight: 2}})
	hear(20, 5)
	m := modelOf("b", 20, 1, 5, 0)
	if err := again.hear(&m, 2); err != nil {
		t.Fatal(err)
	}
	again.average(task)
	if !floats.Equal(again.means[0].model, n.means[0].model) || again.means[0].models != n.means[0].models {
		t.Errorf("after a restart the mean is %v, not %v", again.means[0], n.means[0])
	}
}

func weighted(models ...float64) float64 {
	var r runningMean
	for i, x := range models {
		r.add(&latest{model: []float64{x}, round: uint64(i + 1)}, 100)
	}
	return r.model[0]
}

func TestDamagedMeansAreRefused(t *testing.T) {
	for name, h := range map[string]Heard{
		"short":     {Mean: Vector{1}, Models: 1},
		"infinite":  {Mean: Vector{1, math.Inf(1)}, Models: 1},
		"of none":   {Mean: Vector{1, 1}},
		"no mean":   {Models: 3},
		"less than": {Mean: Vector{1, 1}, Models: -1},
	} {
		h.Peer, h.Weight, h.Round, h.Model = "b", 1, 1, Vector{1, 1}
		n := neighbourhood{self: "a"}
		if err := n.resume([]Heard{h}, 2); err == nil {
			t.Errorf("%s: a damaged mean was taken", name)
		}
	}
}

// Where models stay, what counts is the means, with much less noise; where they move by
// more than the noise, it is the newest. Of 2,000 draws, the mean squared error is below .4
// of the newest's in the first case, and at most 1.02 of it in the second. Both bounds are
// more than ten standard errors off.
func TestSmoothed(t *testing.T) {
	const p, neighbours, models, std = 20, 12, 16, 0.3
	r := rand.New(rand.NewPCG(4, 18))
	errors := func(drift float64) (newest, smooth float64) {
		for range 2000 {
			truth := normals(r, p)
			var heard []Heard
			for range neighbours {
				var mean runningMean
				var model []float64
				for k := range models {
					model = slices.Clone(truth)
					floats.AddScaled(model, drift*float64(k-models+1), truth)
					floats.AddScaled(model, std, normals(r, p))
					mean.add(&latest{model: model, round: uint64(k + 1)}, models)
				}
				heard = append(heard, Heard{Weight: 1, NoiseStd: std, Model: model, Mean: mean.model, Models: models})
			}
			errorOf := func(list []Heard) float64 {
				mean := make([]float64, p)
				for _, h := range list {
					floats.AddScaled(mean, 1./neighbours, h.Model)
				}
				return squaredDistance(mean, truth, math.Inf(1))
			}
			newest += errorOf(heard)
			smooth += errorOf(smoothed(slices.Clone(heard)))
		}
		return newest, smooth
	}
	if newest, smooth := errors(0); smooth > 0.4*newest {
		t.Errorf("models that stay: %.3f of the error of the newest", smooth/newest)
	}
	if newest, smooth := errors(0.5); smooth > 1.02*newest {
		t.Errorf("models that move: %.3f of the error of the newest", smooth/newest)
	}
	heard := []Heard{{Weight: 1, NoiseStd: 1, Model: Vector{1}}}
	if got := smoothed(slices.Clone(heard)); !floats.Equal(got[0].Model, heard[0].Model) {
		t.Error("without a mean the model changed")
	}
}

// Weights go with one over the variance, down from that of a usual model. Less noise buys
// none, and no claim is worth less than nothing.
func TestPrecision(t *testing.T) {
	for _, c := range []struct{ claim, usual, spread, want float64 }{
		{0, 1, 1, 1}, {1, 1, 1, 1}, {2, 1, 1, 0.25}, {3, 1, 2, 1. / 3}, {1e-300, 2, 2, 1}, {1e300, 1e-300, 1e-300, 0},
		{0, 0, 0, 1}, {1, 0.5, 0, 0}, {1, math.Inf(1), math.Inf(1), 1}, {math.MaxFloat64, math.Inf(1), 1e-300, 1},
	} {
		if got := precision(c.claim, c.usual, c.spread); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("noise of %v where %v is usual, of a spread of %v, counts %v, not %v", c.claim, c.usual, c.spread, got, c.want)
		}
	}
}

// Few neighbours, the first to speak, and those of whom most claim no noise do not decide
// what is usual: with one, two or three of them that claim none, all weights stay, so that
// a liar does not take those of the others.
func TestFewDoNotSayWhatNoiseIsUsual(t *testing.T) {
	for _, claims := range [][]float64{{0}, {0, 0.1}, {0.01, 0.1}, {0, 0, 0.1, 0.1}, {0.01, 0.1, 0.1}} {
		n := neighbourhood{self: "z", byNoise: true}
		var edges []Edge
		for i := range claims {
			edges = append(edges, Edge{Peer: ID(rune('a' + i)), Weight: 1})
		}
		n.set(edges)
		want := 0.
		for i, claim := range claims {
			m := modelOf(edges[i].Peer, 1, 1, float64(i), 0)
			m.NoiseStd = claim
			if err := n.hear(&m, 2); err != nil {
				t.Fatal(err)
			}
			want += float64(i) / float64(len(claims))
		}
		mean, _, _ := n.mean(make([]float64, 2), []float64{5, 5}, 0.1, 10)
		wantClose(t, "the mean", mean, []float64{want, 0}, 1e-12)
	}
	for _, c := range []struct {
		usual             float64
		heard, neighbours int
		counts            bool
	}{{0.1, 12, 12, true}, {0.1, 7, 12, true}, {0.1, 6, 12, false}, {0.1, 11, 11, false}, {0, 12, 12, false}} {
		if got := weighing(c.usual, c.heard, c.neighbours); (got == c.usual) != c.counts || !c.counts && !math.IsInf(got, 1) {
			t.Errorf("%+v: weights go by noise of %v", c, got)
		}
	}
}

// The own model counts by its noise too, and all weights still add up to one.
func TestOwnNoiseInTheMix(t *testing.T) {
	m := mix{self: 0.5, others: []float64{0.3, 0.1}, std: 0.2}
	m.weigh(0.25)
	// 0.5 of others to 0.125 of self
	wantClose(t, "self", []float64{m.self}, []float64{0.2}, 1e-15)
	wantClose(t, "others", m.others, []float64{0.48, 0.16}, 1e-15)
	wantClose(t, "noise", []float64{m.std}, []float64{0.32}, 1e-15)
	for _, alone := range []mix{{self: 1, others: []float64{0}}, {self: 1 - 1e-17, others: []float64{0}}} {
		if alone.weigh(0); alone.self != 1 || alone.others[0] != 0 {
			t.Errorf("nobody else counts, and the own weight is %v", alone.self)
		}
	}
}
