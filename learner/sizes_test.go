package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Numbers that noise explains have next to no size, and those that it does not explain have their own.
// One that sticks out of the noise is not made as small as the others.
func TestSizesOfNoisyNumbers(t *testing.T) {
	if got := sizes([]float64{0.1, -0.5, 0.4, 0.2}, []float64{1, 1, 1, 1}); floats.Max(got) > 0.02 {
		t.Errorf("noise has the sizes %v", got)
	}
	if got := sizes([]float64{3, -4}, []float64{0, 0}); math.Abs(got[0]-(12.5+9)/2) > 1e-9 || math.Abs(got[1]-(12.5+16)/2) > 1e-9 {
		t.Errorf("without noise numbers have the sizes %v", got)
	}
	got := sizes([]float64{0.5, -0.5, 0.8, 6}, []float64{1, 1, 1, 1})
	if share := got[3] / (got[3] + 1); share < 0.9 || got[0] > got[3]/2 {
		t.Errorf("one number sticks out: %v", got)
	}
	for _, v := range append(sizes([]float64{0, 0}, []float64{0, 1}), sizes(nil, nil)...) {
		if v != 0 {
			t.Errorf("nothing has the size %v", v)
		}
	}
}

// People with five records, who know a mean that is nothing but noise and how much there is, err no more
// than alone: over three seeds .973 to .977 times as much; the seed is fixed.
func TestMeanOfNoiseDoesNoHarm(t *testing.T) {
	const p, people, records = 5, 300, 5
	task := plainTask("squared", p)
	r := rand.New(rand.NewPCG(32, 1))
	noise := mat.NewSymDense(p, nil)
	for i := range p {
		noise.SetSym(i, i, 100)
	}
	var knowing, alone float64
	for range people {
		truth := normals(r, p)
		mean := normals(r, p)
		floats.Scale(10, mean)
		train, test := draw(r, task, truth, records, 0.5), draw(r, task, truth, 100, 0)
		m := FitKnowing(task, train, make([]float64, p), &Known{mean: mean, noise: noise})
		knowing += task.Error(m.Theta, test)
		alone += task.Error(m.Alone, test)
	}
	if share := knowing / alone; !(share < 1) {
		t.Errorf("who knows a mean of noise errs %.3f times as much as alone", share)
	}
}

// A mean that is known to have no noise is trusted as much as one with next to none, so the models
// are the same.
func TestMeanWithoutNoiseIsTheLimitOfLittle(t *testing.T) {
	const p, records = 5, 8
	task := plainTask("squared", p)
	r := rand.New(rand.NewPCG(33, 1))
	mean := normals(r, p)
	train := draw(r, task, normals(r, p), records, 0.5)
	fit := func(variance float64) []float64 {
		noise := mat.NewSymDense(p, nil)
		for i := range p {
			noise.SetSym(i, i, variance)
		}
		return FitKnowing(task, train, make([]float64, p), &Known{mean: mean, noise: noise}).Theta
	}
	if none, little := fit(0), fit(1e-12); floats.Distance(none, little, 2) > 1e-6*floats.Norm(little, 2) {
		t.Errorf("without noise %v, and with next to none %v", none, little)
	}
}
