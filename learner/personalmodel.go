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
	Eta   float64   // pull toward the neighbours' model, as weighed on the device
	Kappa float64   // trust in the neighbours' model, as weighed; 0: none
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
// few records, with neighbours and without.
//
// prior has length Task.Dimension. A zero prior says nothing: Theta is Alone
// then, and Kappa 0. Without training records Theta is the task's
// kappa times the prior and Alone is zero. The running time depends on the
// data, so it must not run where a message waits for it.
func FitPersonal(t *Task, records []Record, prior []float64) PersonalModel {
	train := trainingRecords(records)
	zero := make([]float64, len(prior))
	if len(train) == 0 {
		m := PersonalModel{Theta: slices.Clone(prior), Alone: zero, Eta: t.Local.Eta, Kappa: t.Local.Kappa}
		floats.Scale(t.Local.Kappa, m.Theta)
		return m
	}
	f := newFitter(t.loss(), train)
	candidates := t.fits(f, zero, 0)
	alone := average(candidates)
	if floats.Norm(prior, 2) == 0 {
		return PersonalModel{Theta: alone.theta, Alone: alone.theta, Eta: math.Exp(alone.logEta)}
	}
	for _, kappa := range []float64{t.Local.Kappa / 2, t.Local.Kappa, 2 * t.Local.Kappa} {
		centre := make([]float64, len(prior))
		floats.AddScaled(centre, kappa, prior)
		candidates = append(candidates, t.fits(f, centre, kappa)...)
	}
	together := average(candidates)
	return PersonalModel{Theta: together.theta, Alone: alone.theta, Eta: math.Exp(together.logEta), Kappa: together.kappa}
}

// candidate is a fit, or a mean of fits, and the logarithm of its weight.
type candidate struct {
	theta                      []float64
	logEta, kappa, logEvidence float64
}

// fits returns the fits around the centre, for pulls of 1/8 to 8 times the
// task's.
func (t *Task) fits(f *fitter, centre []float64, kappa float64) []candidate {
	var out []candidate
	theta := slices.Clone(centre)
	weight := make([]float64, len(centre))
	for octave := 3; octave >= -3; octave-- { // strongest first: a short way from the centre
		strength := math.Ldexp(1, octave)
		t.pull(weight, strength)
		f.minimise(theta, weight, centre)
		// The task's own eta is the most plausible before a record is seen.
		surprise := float64(octave) * math.Ln2
		out = append(out, candidate{
			theta: slices.Clone(theta), logEta: math.Log(strength * t.Local.Eta), kappa: kappa,
			logEvidence: evidenceRate*f.loss.evidence(f.leaveOneOut(), f.y) - surprise*surprise,
		})
	}
	return out
}

// evidenceRate tempers the weights: at 1 they trust the leave-one-out
// predictions as if these were independent.
const evidenceRate = 0.5

// average is the mean of the candidates with weights exp(logEvidence).
func average(candidates []candidate) candidate {
	weights := make([]float64, len(candidates))
	for i, c := range candidates {
		weights[i] = c.logEvidence
	}
	total := floats.LogSumExp(weights)
	mean := candidate{theta: make([]float64, len(candidates[0].theta))}
	for i, c := range candidates {
		w := math.Exp(weights[i] - total)
		floats.AddScaled(mean.theta, w, c.theta)
		mean.logEta += w * c.logEta
		mean.kappa += w * c.kappa
	}
	return mean
}

// pull fills the weights of the penalty: the constant has its own.
func (t *Task) pull(weight []float64, strength float64) {
	for k := range weight {
		weight[k] = strength * t.Local.Eta
	}
	if t.Constant > 0 {
		weight[len(weight)-1] = strength * t.Local.EtaConstant
	}
}
