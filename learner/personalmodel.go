package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// PersonalModel is what the owner's predictions come from. It is never
// published and never influences what is.
type PersonalModel struct {
	Theta []float64 // the collaborative model, length Task.Dimension
	Alone []float64 // the tuned model of a node without neighbours
	Eta   float64   // pull toward the neighbours' model, as chosen on the device
	Kappa float64   // trust in the neighbours' model, as chosen; 0 makes Theta = Alone
}

// Prior is the weighted mean of the neighbours' shared models in a state, or
// the own shared model when none has been heard. It is a public function of
// what was released.
func Prior(s State) []float64 {
	var total float64
	for _, h := range s.Heard {
		total += h.Weight
	}
	if total == 0 {
		return slices.Clone(s.Model)
	}
	prior := make([]float64, len(s.Model))
	for _, h := range s.Heard {
		floats.AddScaled(prior, h.Weight/total, h.Model)
	}
	return prior
}

// strengths are the pulls that cross-validation tries, relative to the task's.
func strengths() []float64 { return []float64{1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 2, 4, 8, 16} }

// trusts are the values of kappa that cross-validation tries besides 0.
func trusts() []float64 { return []float64{0.5, 1} }

// FitPersonal fits
//
//	theta = argmin sum_j l(theta; x_j, y_j) + eta ||theta - kappa prior||^2
//
// on the training records (held-out ones are skipped). eta and kappa are chosen
// by leave-one-out cross-validation; kappa = 0 is the tuned lone model. The
// running time depends on the data, so it must not run where a message waits
// for it. prior has length Task.Dimension; without training records Theta is
// the prior and Alone is zero.
func FitPersonal(t *Task, records []Record, prior []float64) PersonalModel {
	train := trainingRecords(records)
	zero := make([]float64, len(prior))
	if len(train) == 0 {
		return PersonalModel{Theta: slices.Clone(prior), Alone: zero, Eta: t.Local.Eta, Kappa: 1}
	}
	f := newFitter(t.loss(), train)
	alone := chooseEta(t, f, zero)
	best := PersonalModel{Theta: alone.theta, Alone: alone.theta, Eta: alone.eta}
	bestScore := alone.score
	for _, kappa := range trusts() {
		centre := make([]float64, len(prior))
		floats.AddScaled(centre, kappa, prior)
		if c := chooseEta(t, f, centre); c.score < bestScore {
			best.Theta, best.Eta, best.Kappa, bestScore = c.theta, c.eta, kappa, c.score
		}
	}
	return best
}

// choice is a fit and its leave-one-out loss.
type choice struct {
	theta      []float64
	eta, score float64
}

func chooseEta(t *Task, f *fitter, centre []float64) choice {
	best := choice{score: math.Inf(1)}
	theta := slices.Clone(centre)
	weight := make([]float64, len(centre))
	for _, s := range slices.Backward(strengths()) { // from the strongest pull: a short path from the centre
		t.pull(weight, s)
		f.minimise(theta, weight, centre)
		var score float64
		for i, z := range f.leaveOneOut() {
			score += f.loss.value(z, f.y[i])
		}
		if score < best.score {
			best = choice{theta: slices.Clone(theta), eta: s * t.Local.Eta, score: score}
		}
	}
	return best
}

// pull fills the weights of the penalty: the constant has its own.
func (t *Task) pull(weight []float64, strength float64) {
	for k := range weight {
		weight[k] = strength * t.Local.Eta
	}
	if t.Constant {
		weight[len(weight)-1] = strength * t.Local.EtaConstant
	}
}
