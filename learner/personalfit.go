package learner

import (
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// exactParameters is up to how many of them fits go by the Hessian of all; above it
// memory and time would grow with their square and cube.
const exactParameters = 128

// PersonalModels is [FitPersonal] for who cannot wait: after each piece of the work it
// yields the best model so far, and the last one is FitPersonal's. Models that come
// before there is anything to say have no Theta. Pieces take some ten milliseconds
// at 561 features. Leaving the loop gives the rest up. All of train are training records;
// they must not change meanwhile, nor the models at any time.
func PersonalModels(t *Task, train *Rows, prior []float64) iter.Seq[PersonalModel] {
	return func(yield func(PersonalModel) bool) {
		if train.Len() == 0 {
			zero := make([]float64, len(prior))
			yield(PersonalModel{Theta: floats.ScaleTo(slices.Clone(zero), t.Local.Kappa, prior), Alone: zero})
			return
		}
		rows, s := train, newSearch(t, prior, t.pull())
		if span := t.newSpan(train, prior); span != nil {
			rows = span.inside(train)
			s = newSearch(t, span.model(prior), span.weight(t))
			s.outside = span.outside
		}
		if len(s.prior) > exactParameters {
			s.lean(rows, yield)
		} else {
			s.exact(rows, yield)
		}
	}
}

// search makes the fits that the personal model is the mean of.
type search struct {
	task   *Task
	prior  []float64
	weight []float64 // of the penalty with the task's own eta
	widest int       // octaves of eta on either side of that
	kappas []float64 // beside 0

	alone    []candidate // kappa = 0
	together []candidate
	model    PersonalModel // of what there is, in the task's coordinates

	outside func([]float64) []float64 // from those of the fits
}

// candidate is a fit and the logarithm of its weight.
type candidate struct {
	theta     []float64
	logWeight float64
}

func newSearch(t *Task, prior, weight []float64) *search {
	s := &search{task: t, prior: prior, weight: weight, widest: 3, outside: func(theta []float64) []float64 { return theta }}
	kappa := t.Local.Kappa
	switch {
	case t.Local.Fixed:
		s.widest, s.kappas = 0, []float64{kappa}
	default:
		s.kappas = []float64{kappa / 2, kappa, 2 * kappa}
	}
	if floats.Norm(prior, 2) == 0 {
		s.kappas = nil
	}
	return s
}

// exact makes all fits, each in a piece.
func (s *search) exact(train *Rows, yield func(PersonalModel) bool) {
	f := newFitter(s.task.loss(), train)
	for _, kappa := range append([]float64{0}, s.kappas...) {
		centre := s.centre(kappa)
		theta := slices.Clone(centre)
		for octave := s.widest; octave >= -s.widest; octave-- { // strongest first: a short way from the centre
			f.minimise(theta, s.pull(octave), centre)
			s.add(kappa, octave, theta, f.loss.evidence(f.leaveOneOut(), f.y))
			if !yield(s.model) {
				return
			}
		}
	}
}

func (s *search) centre(kappa float64) []float64 {
	return floats.ScaleTo(make([]float64, len(s.prior)), kappa, s.prior)
}

// pull is the weights of the penalty with 2^octave times the task's eta.
func (s *search) pull(octave int) []float64 {
	return floats.ScaleTo(make([]float64, len(s.weight)), math.Ldexp(1, octave), s.weight)
}

// evidenceRate tempers the weights: at 1 they trust the leave-one-out
// predictions as if these were independent.
const evidenceRate = 0.5

// add takes a fit into the model.
func (s *search) add(kappa float64, octave int, theta []float64, evidence float64) candidate {
	// The task's own eta is the most plausible before a record is seen.
	surprise := float64(octave) * math.Ln2
	c := candidate{theta: slices.Clone(theta), logWeight: evidenceRate*evidence - surprise*surprise}
	if kappa == 0 {
		s.alone = append(s.alone, c)
	} else {
		s.together = append(s.together, c)
	}
	alone := make([]float64, len(theta))
	if s.alone != nil {
		alone = average(s.alone)
	}
	s.show(average(s.rivals()), alone)
	return c
}

func (s *search) show(theta, alone []float64) {
	s.model = PersonalModel{Theta: s.outside(theta), Alone: s.outside(alone)}
}

// rivals are the fits that share the weight of the collaborative model.
func (s *search) rivals() []candidate {
	if s.task.Local.Fixed && s.together != nil {
		return s.together
	}
	return slices.Concat(s.alone, s.together)
}

// average is the weighted mean of the candidates' models.
func average(candidates []candidate) []float64 {
	logWeights := make([]float64, len(candidates))
	for i, c := range candidates {
		logWeights[i] = c.logWeight
	}
	total := floats.LogSumExp(logWeights)
	mean := make([]float64, len(candidates[0].theta))
	for i, c := range candidates {
		floats.AddScaled(mean, math.Exp(logWeights[i]-total), c.theta)
	}
	return mean
}
