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

// FitPersonal fits
//
//	theta = argmin sum_j l(theta; x_j, y_j) + eta ||theta - kappa prior||^2
//
// on the training records (held-out ones are skipped), for a grid of eta and
// kappa around the task's [Local] constants, and returns the mean of the fits,
// weighed by how well each predicts the records it was not fitted to
// (leave-one-out). Alone is the same mean over kappa = 0 only. Averaging
// measured better than taking the best of the grid, most of all for people with
// few records, with neighbours and without. With [Local.Fixed] there is only the one
// fit with the task's eta and kappa, and Alone is that with kappa = 0.
//
// prior has length Task.Dimension. A zero prior says nothing: Theta is Alone
// then. Without training records Theta is the task's kappa times the prior and
// Alone is zero. The running time depends on the data, so it must not run where
// a message waits for it.
func FitPersonal(t *Task, records []Record, prior []float64) PersonalModel {
	f := NewPersonalFit(t, records, prior)
	for f.Step() {
	}
	return f.Model()
}

// candidate is a fit and the logarithm of its weight.
type candidate struct {
	theta     []float64
	logWeight float64
}

// evidenceRate tempers the weights: at 1 they trust the leave-one-out
// predictions as if these were independent.
const evidenceRate = 0.5

// average is the weighted mean of the candidates' models.
func average(candidates []candidate) []float64 {
	logWeights := make([]float64, len(candidates))
	for i, c := range candidates {
		logWeights[i] = c.logWeight
	}
	total := floats.LogSumExp(logWeights)
	mean := make([]float64, len(candidates[0].theta))
	for _, c := range candidates {
		floats.AddScaled(mean, math.Exp(c.logWeight-total), c.theta)
	}
	return mean
}

// pull fills the weights of the penalty: the constant has its own, in each block.
func (t *Task) pull(weight []float64, strength float64) {
	for k := range weight {
		weight[k] = strength * t.Local.Eta
	}
	if t.Constant > 0 {
		for k := t.Width() - 1; k < len(weight); k += t.Width() {
			weight[k] = strength * t.Local.EtaConstant
		}
	}
}
