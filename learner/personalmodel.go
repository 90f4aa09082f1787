package learner

// PersonalModel is what the owner's predictions come from. It is never
// published and never influences what is.
type PersonalModel struct {
	Theta []float64 // the collaborative model, length Task.Dimension
	Alone []float64 // the tuned model of a node without neighbours
}

// FitPersonal fits
//
//	theta = argmin sum_j l(theta; x_j, y_j) + eta ||theta - kappa prior||^2
//
// on the training records (held-out ones are skipped), for every octave of eta that
// the records may ask for and for kappas around that of the task's [Local]
// constants, and returns the mean of the fits, weighed by how well each predicts the
// records it was not fitted to (leave-one-out) and by how likely it makes all of
// them (its marginal likelihood). Where to look for eta follows from the length of the
// features, so that the task's own is a guess that may be wrong by orders of
// magnitude. Alone is the same mean over kappa = 0 only, and independent of the prior.
// Averaging measured better than taking the best of the grid, most of all for people
// with few records, with neighbours and without. With [Local.Fixed] there is only the
// one fit with the task's eta and kappa, and Alone is that with kappa = 0.
//
// prior has length Task.Dimension. A zero prior says nothing: Theta is Alone
// then. Fits that would weigh nothing are left out. Of many parameters and more than
// two classes, how well a fit predicts the records without it is approximate
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

// FitAmong is [FitPersonal] around what the neighbours' models in a state say to the owner of
// the records; see [PriorFor].
func FitAmong(t *Task, records []Record, s State) PersonalModel {
	return FitPersonal(t, records, PriorFor(t, RowsOf(trainingRecords(records)), s))
}
