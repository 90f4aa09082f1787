package learner

import "iter"

// PersonalModel makes the owner's predictions. It is never published and never
// influences what is published.
type PersonalModel struct {
	Theta []float64 // the collaborative model, length Task.Dimension
	Alone []float64 // the same fit for a node without neighbours
}

// FitPersonal fits
//
//	theta = argmin sum_j l(theta; x_j, y_j) + eta ||theta - kappa prior||^2
//
// on the training records (held-out ones are skipped), for every plausible octave of
// eta and for kappas around that of the task's [Local] constants. It returns the mean
// of the fits, weighed by how well each predicts records it was not fitted to
// (leave-one-out) and by how likely it makes all records (its marginal likelihood). The
// search for eta starts from the length of the features, so the task's own eta may be
// wrong by orders of magnitude. It is that of a number whose column fills its range: where
// the owner's numbers vary less, it is less, and the constant has a pull of its own, which
// is smaller if her labels are far from its centre. Alone is the same mean over kappa = 0
// only; the prior changes nothing in it, but for how exact leave-one-out is with many
// parameters (see [leanFitter.prepare]). Averaging measured better than taking the best of
// the grid, most of all for people with few records, with neighbours and without. With
// [Local.Fixed] the only fit is that with the task's eta and kappa, and Alone is the fit with
// kappa = 0.
//
// The task must be valid, see [Task.Validate]: of another one the models may be no numbers.
// prior has length Task.Dimension, or is nil, which is zero; any other length panics. It and the
// records must be finite, as [Task.Admit] makes sure of records. With a zero prior, Theta is
// Alone. Fits that would weigh nothing are left out. With many parameters and more than two
// classes, leave-one-out is approximate (leanFitter). Without training records Theta is the
// task's kappa times the prior and Alone is zero. The running time depends on the data,
// so it must not run where a message waits for it; [PersonalModels] can be stopped.
func FitPersonal(t *Task, records []Record, prior []float64) PersonalModel {
	return last(PersonalModels(t, RowsOf(trainingRecords(records)), prior, Noise{}))
}

// last is the model that a fit ends with.
func last(models iter.Seq[PersonalModel]) (m PersonalModel) {
	for m = range models {
	}
	return m
}

// FitAmong is [FitPersonal] with the prior that the neighbours' models in a state give
// to the owner of the records, and what is known of its noise; see [PriorFor].
func FitAmong(t *Task, records []Record, s State) PersonalModel {
	train := RowsOf(trainingRecords(records))
	prior, noise := PriorFor(t, train, s)
	return last(PersonalModels(t, train, prior, noise))
}
