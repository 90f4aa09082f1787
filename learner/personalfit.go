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
		s := newSearch(t, train, prior)
		if s.besideStraight(t, train, yield) {
			s.within(t, train, yield)
		}
	}
}

// fits are what a search chooses among: an exact [fitter] or a [leanFitter].
type fits interface {
	// fit moves theta, the starting point, to the minimum with these weights of the
	// penalty around the centre, and returns how well it explains the records. It
	// calls seen when theta has come nearer, and reports whether it was let.
	fit(theta, weight, centre []float64, seen func()) (evidence, bool)
}

// evidence is what the records say for a fit, as logarithms of likelihoods up to a
// constant that all fits to the same records share.
type evidence struct {
	// leaveOneOut is that of each record under the fit to the others.
	leaveOneOut float64
	// marginal is that of the records when the model is normal around the centre
	// with the precision of the penalty (Laplace's approximation, exact for the squared
	// loss; MacKay 1992, "Bayesian interpolation").
	marginal float64
}

// search makes the fits that the personal model is the mean of.
type search struct {
	task      *Task
	prior     []float64
	kappas    []float64 // the most plausible first; 0 among them
	plausible float64   // octave of the task's eta that is the most plausible of the lone fits
	nearer    float64   // how many octaves above it that of the fits around the prior is
	constant  float64   // how many times the lone fits' the pull of the constant is there
	worth     float64   // logarithm of how far the prior is to be listened to
	trust     float64   // in the task's eta
	left      float64   // how much of what records left out say counts

	alone    []candidate // kappa = 0
	together []candidate
	straight *straight     // of a task with a map; nil: no such fits
	model    PersonalModel // of what there is, in the task's coordinates

	outside func([]float64) []float64 // from those of the fits
}

// candidate is a fit and the logarithm of its weight.
type candidate struct {
	theta     []float64
	logWeight float64
}

func newSearch(t *Task, train *Rows, prior []float64) *search {
	s := &search{task: t, prior: prior, left: t.leaveOneOutRate(train.Len()), outside: func(theta []float64) []float64 { return theta }}
	if !t.Local.Fixed {
		m := float64(train.Len())
		explained := t.explained(train, prior)
		sure := explained * m / (explained*m + 1)
		u := t.usual()
		s.plausible, s.nearer = t.plausible(train), math.Log2(1+near*u.signal*explained*sure)
		s.constant = 1 + u.constant*explained*sure
		s.worth = math.Log(sure + chance)
		s.trust = u.trust * min(1, m/u.enough) * bell(s.plausible/spread)
	}
	switch kappa := t.Local.Kappa; {
	case floats.Norm(prior, 2) == 0:
		s.kappas = []float64{0}
	case t.Local.Fixed:
		s.kappas = []float64{kappa, 0}
	default:
		s.kappas = []float64{kappa, 0, kappa / 2, 2 * kappa}
	}
	return s
}

// run makes the fits.
func (s *search) run(train *Rows, yield func(PersonalModel) bool) {
	if len(s.prior) > exactParameters {
		s.among(newLeanFitter(s.task.loss(), train, func() bool { return yield(s.model) }), yield)
	} else {
		s.among(newFitter(s.task.loss(), train), yield)
	}
}

func (s *search) centre(kappa float64) []float64 {
	return floats.ScaleTo(make([]float64, len(s.prior)), kappa, s.prior)
}

const (
	// spread is how many octaves of eta off are as plausible as one standard deviation.
	spread = 3
	// near is how many times smaller than the noise the variance of what is left to learn
	// usually is, around a prior that explains all labels.
	near = 8
	// chance is how far a prior that explains nothing is listened to, where one that
	// explains much counts 1.
	chance = 0.1
	// constantRecords is how many records the pull of the constant weighs: so few that
	// even a handful of the owner's decide it.
	constantRecords = 0.3
)

// usual is what is to be expected before a label is seen.
type usual struct {
	// signal is how many times the variance of the noise that of the scores is, as the
	// square of the spread of what the search takes for plausible: of many tasks, real
	// and made up, the best was between a quarter and a thousand.
	signal float64
	// trust is how many times more plausible than its surroundings the task's own eta is
	// to a node that has enough records to find out a wrong one; with fewer it is less.
	trust, enough float64
	// constant is how many times stronger the pull of the constant is around a prior that
	// explains all labels than around one that explains nothing.
	constant float64
}

// usual of classes is another: the noise is taken from the steepest curvature of the
// loss, and scores that tell classes apart lie where it is flatter; and a class says
// less than a number. A constant that noise has moved takes classes for others, so the
// prior's is believed less: three classes within the budget erred by 12 % more with as
// strong a pull as of numbers.
func (t *Task) usual() usual {
	if t.lossKind().target == numberTarget {
		return usual{signal: 1, trust: 6, enough: 16, constant: 128}
	}
	return usual{signal: 16, trust: 3, enough: 64, constant: 16}
}

// plausible is how many octaves above the task's eta that one lies which is the most
// plausible before a label is seen, from the length of the records' features. With
// theta normal around the prior with precision 2 eta, it is where the scores vary
// usual.signal times as much as a record of the steepest curvature leaves them open.
func (t *Task) plausible(train *Rows) float64 {
	var square float64
	for r := range train.All() {
		x := r.X
		if t.Constant > 0 {
			x = x[:len(x)-1]
		}
		square += floats.Dot(x, x) / float64(train.Len())
	}
	if square == 0 {
		return 0
	}
	return math.Log2(square * t.loss().smoothness(1) / (2 * t.usual().signal * t.Local.Eta))
}

// pull is the weights of the penalty around kappa times the prior, with 2^octave times
// the task's eta. The constant has its own, in each block: a prior that is near is near in
// it too.
func (s *search) pull(kappa float64, octave int) []float64 {
	t := s.task
	weight := make([]float64, len(s.prior))
	floats.AddConst(math.Ldexp(t.Local.Eta, octave), weight)
	if t.Constant > 0 {
		constant := constantRecords * t.Constant * t.Constant * t.loss().smoothness(1) / 2
		switch {
		case t.Local.Fixed:
			constant = t.Local.EtaConstant
		case kappa != 0:
			constant *= s.constant
		}
		width := len(weight) / t.loss().scores()
		for k := width - 1; k < len(weight); k += width {
			weight[k] = constant
		}
	}
	return weight
}

// explained is the share of the variance of the labels that the scores of the prior
// explain, less what chance explains of so few; of several classes it is the mean share
// of their indicators'. A prior that explains much is near, so the way from it is short.
// What only noise could make of it, a tiny prior of the right direction, explains
// little: no fit takes it more than twice kappa times.
func (t *Task) explained(train *Rows, prior []float64) float64 {
	k, m := t.loss().scores(), float64(train.Len())
	z, moments := make([]float64, k), make([]moments, k)
	for r := range train.All() {
		scoresOf(z, prior, r.X)
		for j := range z {
			moments[j].add(z[j], labelOf(r.Y, j, k), m)
		}
	}
	share := -1 / m
	for _, of := range moments {
		share += of.explained(2*t.Local.Kappa) / float64(k)
	}
	return max(0, share)
}

// moments are the means of two numbers, their squares and their product.
type moments struct{ x, y, xx, yy, xy float64 }

// add takes one of m pairs in.
func (s *moments) add(x, y, m float64) {
	s.x, s.y = s.x+x/m, s.y+y/m
	s.xx, s.yy, s.xy = s.xx+x*x/m, s.yy+y*y/m, s.xy+x*y/m
}

// explained is the share of the variance of y that x explains, at most so many times
// as large as it is; 0 where it is of the wrong sign or a constant.
func (s *moments) explained(most float64) float64 {
	covariance, xx, yy := s.xy-s.x*s.y, s.xx-s.x*s.x, s.yy-s.y*s.y
	if covariance <= 0 || xx*yy <= 1e-24*s.xx*s.yy {
		return 0
	}
	times := min(most, covariance/xx)
	return min(1, times*(2*covariance-times*xx)/yy)
}

func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// surprise is how implausible a fit around kappa times the prior with 2^octave times the
// task's eta is before the fit is seen. The task's own eta is a guess: when it is right
// it helps, far from what the records say it does no harm.
func (s *search) surprise(kappa float64, octave int) float64 {
	off, own, worth := float64(octave)-s.plausible, float64(octave), 0.
	if kappa != 0 {
		off, worth = off-s.nearer, s.worth
	}
	return -math.Log(bell(off/spread)+s.trust*bell(own)) - worth
}

// bell is the density of a normal number, 1 at its middle.
func bell(x float64) float64 { return math.Exp(-x * x / 2) }

// The likelihoods are tempered: at 1 they would be trusted as if the records left
// out were independent of each other, and the model as if it were true.
const (
	classesLeftOut = 0.2
	numbersLeftOut = 40 // so many count half
	marginalRate   = 0.6
)

// leaveOneOutRate is how much of the likelihood of the records left out counts. By how much
// two fits differ in it is a mean over m records, and so off by the noise of a mean: what
// is to be expected of the true difference is m/(m+c) of the one that is seen, where c is the
// variance between records over that between fits. The marginal likelihood is surer of few
// records, and wrong of many where no straight line is right. Classes of many records
// say hardly more than chance about fits that tell them apart: there it stays low.
func (t *Task) leaveOneOutRate(records int) float64 {
	if t.lossKind().target != numberTarget {
		return classesLeftOut
	}
	m := float64(records)
	return m / (m + numbersLeftOut)
}

// add takes a fit into the model.
func (s *search) add(kappa float64, octave int, theta []float64, e evidence) candidate {
	c := candidate{theta: slices.Clone(theta), logWeight: s.left*e.leaveOneOut + marginalRate*e.marginal - s.surprise(kappa, octave)}
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
	if s.straight != nil {
		s.model = PersonalModel{Theta: s.straight.mixed(s.model.Theta, s.rivals()), Alone: s.straight.mixed(s.model.Alone, s.alone)}
	}
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
