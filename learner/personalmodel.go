package learner

import (
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
// then. Of many parameters, fits that would weigh nothing are left out, and how well a
// fit predicts the records without it is approximate for more than two classes
// (leanFitter). Without training records Theta is the task's kappa times the prior and
// Alone is zero. The running time depends on the data, so it must not run where
// a message waits for it; [PersonalModels] can be left.
func FitPersonal(t *Task, records []Record, prior []float64) PersonalModel {
	var last PersonalModel
	for m := range PersonalModels(t, RowsOf(trainingRecords(records)), prior) {
		last = m
	}
	return last
}

// pull is the weights of the penalty: the constant has its own, in each block.
func (t *Task) pull() []float64 {
	weight := make([]float64, t.Dimension())
	for k := range weight {
		weight[k] = t.Local.Eta
		if t.Constant > 0 && k%t.Width() == t.Width()-1 {
			weight[k] = t.Local.EtaConstant
		}
	}
	return weight
}
