package learner

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// exactParameters is the largest number of parameters for which fits use the full
// Hessian. Above it, memory and time would grow with their square and cube.
const exactParameters = 128

// PersonalModels is [FitPersonal] for callers that cannot wait. After each piece of the
// work it yields the best model so far, and the last one is FitPersonal's. A model
// without Theta means that there is no result yet. A piece takes some ten milliseconds
// at 561 features. Leaving the loop stops the work. All of train are training records.
// They must not change meanwhile, and the models must never change. Noise is
// what is known of that in the prior.
func PersonalModels(t *Task, train *Rows, prior []float64, noise Noise) iter.Seq[PersonalModel] {
	prior = t.priorOr(prior)
	return func(yield func(PersonalModel) bool) {
		if train.Len() == 0 {
			zero := make([]float64, len(prior))
			yield(PersonalModel{Theta: floats.ScaleTo(slices.Clone(zero), t.Local.Kappa, prior), Alone: zero})
			return
		}
		s := newSearch(t, train, prior)
		s.noisy(noise)
		if s.besideStraight(t, train, yield) {
			s.within(t, train, yield)
		}
	}
}

// priorOr returns the prior, or zeros if there is none. It panics if the prior is of another task.
func (t *Task) priorOr(prior []float64) []float64 {
	switch len(prior) {
	case t.Dimension():
		return prior
	case 0:
		return make([]float64, t.Dimension())
	}
	panic(fmt.Sprintf("learner: a prior of %d parameters, and models of the task have %d", len(prior), t.Dimension()))
}

// fits is how a search makes one fit: an exact [fitter] or a [leanFitter].
type fits interface {
	// fit moves theta, the starting point, to the minimum with these weights of the
	// penalty around the centre, and returns how well it explains the records. It calls
	// seen whenever theta has come nearer, and returns false if it was stopped.
	fit(theta, weight, centre []float64, seen func()) (evidence, bool)
}

// evidence is how well a fit explains the records, in logarithms of likelihoods up to a
// constant that all fits to the same records share.
type evidence struct {
	// leaveOneOut is the log-likelihood of each record under the fit to the others.
	leaveOneOut float64
	// marginal is the log-likelihood of all records when the model is normal around the
	// centre with the precision of the penalty (Laplace's approximation, exact for the
	// squared loss; MacKay 1992, "Bayesian interpolation").
	marginal float64
}

// search makes the fits whose mean is the personal model.
type search struct {
	task      *Task
	prior     []float64
	kappas    []float64     // the most plausible first, and 0
	plausible float64       // the most plausible octave of the task's eta, for lone fits
	nearer    float64       // how many octaves above that the most plausible one around the prior is
	constant  float64       // factor of the constant's pull around the prior, compared with lone fits
	labels    moments       // of the prior's first score and the labels
	records   float64       // how many there are
	spreads   []float64     // how much each coordinate varies, see [Task.spreads]; nil: all alike
	aside     float64       // how far the owner's numbers lie to one side, see [Task.aside]
	noise     *mat.SymDense // covariance of the noise in the prior, see [Walk]; nil: not known
	variance  []float64     // of it, in the coordinates of the fits; nil: not known
	raw       bool          // none of the noise was held back, as the ridge of a sum does
	least     float64       // the least share of the variance that there may be; 1: it is known
	sizes     []float64     // variances of the prior's weights without the noise, see [sizes]; nil: not known
	worth     float64       // log prior weight of the fits around the prior
	trust     float64       // in the task's own eta
	left      float64       // how much leave-one-out evidence counts

	alone    []candidate // kappa = 0
	together []candidate
	straight *straight     // for a task with bends or a map; nil: no such fits
	model    PersonalModel // mean of the fits so far, in the task's coordinates

	outside func([]float64) []float64 // converts from the coordinates of the fits
}

// candidate is a fit and the logarithm of its weight.
type candidate struct {
	theta     []float64
	logWeight float64
}

func newSearch(t *Task, train *Rows, prior []float64) *search {
	s := &search{task: t, prior: prior, records: float64(train.Len()), left: t.leaveOneOutRate(train.Len()), outside: func(theta []float64) []float64 { return theta }}
	if !t.Local.Fixed {
		m := s.records
		all := t.labelMoments(train, prior)
		s.labels = all[0]
		explained := t.explained(all, m)
		sure := explained * m / (explained*m + 1)
		u := t.usual()
		of := t.deviations(train)
		s.spreads = t.spreads(of)
		s.aside = t.aside(of, s.spreads)
		s.plausible, s.nearer = t.plausible(train, s.spreads), math.Log2(1+near*explained*sure)
		s.constant = 1 + u.constant*explained*sure
		s.worth = math.Log(sure + chance)
		s.trust = u.trust * min(1, m/u.enough) * bellCurve(s.plausible/spread)
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

// noisy says how much noise is in each number of the prior, of which nothing was held back.
// Of many parameters and of given weights the fits do not use it, and of classes only if it is known
// how much it is: to find it out takes more than what classes say.
func (s *search) noisy(noise Noise) {
	known := noise.Least == noise.Most || s.task.lossKind().target == numberTarget
	if noise.Most == 0 || !known || len(s.prior) > exactParameters || s.task.Local.Fixed {
		return
	}
	share := noise.Least / noise.Most
	std := min(noise.Most, maxRadius) // more says nothing more, and its square overflows
	s.raw, s.least, s.noise = true, share*share, mat.NewSymDense(s.task.Width(), nil)
	for i := range s.task.Width() {
		s.noise.SetSym(i, i, std*std)
	}
}

// between reports whether the noise in the prior lies between two values, for each of which there are
// fits.
func (s *search) between() bool { return s.raw && s.least < 1 }

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
	// spread is the number of octaves of eta that count as one standard deviation.
	spread = 3
	// near is, around a prior that explains all labels, the usual ratio of the noise to
	// the variance of what is left to learn.
	near = 8
	// chance is the weight of a prior that explains nothing, where one that explains
	// much has the weight 1.
	chance = 0.1
	// constantRecords is the weight of the constant's pull in records. It is so small
	// that even a handful of the owner's records decide the constant.
	constantRecords = 0.3
	// leastPull is the least share of it, which keeps a fit to equal labels solvable.
	leastPull = 1e-9
)

// usual holds what the search expects before it sees a label.
type usual struct {
	// trust is how many times more plausible than its surroundings the task's own eta
	// is, for a node that has enough records to find out that it is wrong. With fewer
	// records the factor is smaller.
	trust, enough float64
	// constant is the factor between the pull of the constant around a prior that
	// explains all labels and around one that explains nothing.
	constant float64
}

// usual differs for classes: a class says less than a number. If noise has moved the
// constant, classes are confused, so the prior's constant has less weight: with the pull
// used for numbers, three classes within the budget erred by 12 % more.
func (t *Task) usual() usual {
	if t.lossKind().target == numberTarget {
		return usual{trust: 6, enough: 16, constant: 128}
	}
	return usual{trust: 3, enough: 64, constant: 16}
}

// plausible returns the most plausible eta before a label is seen, in octaves above the
// task's eta, from the length of the records' features. With theta normal around the
// prior with precision 2 eta, it is the eta at which the variance of the scores is the
// variance that a record of the steepest curvature leaves. In many tasks, real and made
// up, the best ratio of the two was between a quarter and a thousand. Where classes are
// rare or hard to tell apart, more makes the probabilities worse than a constant's, and
// where they are told apart well, one is soon found too small.
func (t *Task) plausible(train *Rows, spreads []float64) float64 {
	square, p := 0., t.featureCount()
	for r := range train.All() {
		x := r.X[:p]
		own := floats.Dot(x, x)
		for j, spread := range spreads {
			own += x[j] * x[j] * (1/spread - 1)
		}
		square += own / float64(train.Len())
	}
	if square == 0 {
		return 0
	}
	return math.Log2(square * t.loss().smoothness(1) / (2 * t.Local.Eta))
}

// pull returns the weights of the penalty around kappa times the prior, with 2^octave
// times the task's eta, and less of it where the owner's numbers vary little. The constant
// has a weight of its own in each block, which is larger if the prior is near, and smaller
// if the owner's labels are surely elsewhere.
func (s *search) pull(kappa float64, octave int) []float64 {
	t := s.task
	weight := make([]float64, len(s.prior))
	floats.AddConst(math.Ldexp(t.Local.Eta, octave), weight)
	width := len(weight) / t.loss().scores()
	scaleFeatures(weight, width, s.spreads)
	if t.Constant > 0 {
		constant := t.Local.EtaConstant
		if !t.Local.Fixed {
			constant = s.constantPull(kappa) * t.Constant * t.Constant * t.loss().smoothness(1) / 2
		}
		for k := width - 1; k < len(weight); k += width {
			weight[k] = constant
		}
	}
	return weight
}

// loosen weakens the pull of the constant, which is the score in the middle of all ranges. Where the
// owner's numbers lie far from there, a score among them is what is plausible, and the constant is
// that less what the weights of the numbers make of the distance: its variance is larger by theirs.
// Otherwise steep lines would be pulled flat, since their constants are far away.
func (s *search) loosen(weight []float64, octave int) {
	constant := &weight[len(weight)-1]
	*constant /= 1 + *constant*s.aside/(math.Ldexp(s.task.Local.Eta, octave)*s.task.Constant*s.task.Constant)
}

// doubt weakens the pull to a noisy centre: models spread around it by the variance that the pull
// stands for, which is half of what is left of the labels divided by the weight, and by that of the
// noise. Of classes, whose losses are likelihoods, it is half of one divided by the weight. The centre
// moves to where it is likely to be without the noise, if its weights have the sizes that are told from
// them and the noise, see [sizes]; a wary line moves it, if it is as far from zero as the most plausible
// pull of lone models says. Where it is nearer, wary fits are better, and where it is farther, worse; so
// they compete with the others, but for a centre with all of its noise, around which all are wary.
func (s *search) doubt(weight, centre []float64, l *line) {
	_, left := s.unexplained(l.kappa)
	if _, all := s.unexplained(0); !s.raw && all > 0 {
		left = min(left, all) // what a centre adds to the labels is its noise, and not theirs
	}
	if s.task.lossKind().target != numberTarget {
		left = 1
	}
	if left == 0 || s.variance == nil {
		return
	}
	var lone []float64
	if l.wary {
		lone = s.pull(0, int(math.Round(s.plausible)))
	}
	for i := range weight {
		v := l.noise * s.variance[i%len(s.variance)] // the same for each score
		if !l.wary && i < len(s.sizes) && v > 0 {
			share := s.sizes[i] / (s.sizes[i] + v)
			centre[i] *= share
			v *= share
		}
		sure := left / (2 * l.kappa * l.kappa * v) // the noise as a weight
		if math.IsInf(sure, 1) {
			continue
		}
		if l.wary {
			centre[i] *= sure / (sure + lone[i])
			sure += lone[i]
		}
		weight[i] /= 1 + weight[i]/sure
	}
}

// constantPull is the weight of the constant's pull, in records: usually the same, and more
// around a prior that explains much; but of numbers no more than makes it plausible that the
// constant is as far away as the owner's labels say. Otherwise few records of somebody
// whose level is her own would end far from all of them. Where the loss bounds what a record
// may pull, the constant's pull is that of one record at most: a few labels that lie far off
// make the variance large, and would hold the model far from all others.
func (s *search) constantPull(kappa float64) float64 {
	records := constantRecords
	if kappa != 0 {
		records *= s.constant
	}
	m := s.records
	if s.task.lossKind().target != numberTarget || m < 2 {
		return records
	}
	mean, variance := s.unexplained(kappa)
	far := mean*mean - variance/m // what chance makes of m labels is not far
	if far <= 0 {
		return records
	}
	pull := min(records, variance/far)
	loss, away := s.task.loss(), math.Abs(mean)
	if one := loss.steepness(0, away) / (loss.smoothness(1) * away); one < 1 { // the loss is a line there
		pull = min(pull, one)
	}
	return max(pull, leastPull*records)
}

// unexplained are the mean and the variance of what kappa times the prior leaves of the labels.
func (s *search) unexplained(kappa float64) (mean, variance float64) {
	l, m := &s.labels, s.records
	mean = l.y - kappa*l.x
	return mean, max(0, l.yy-2*kappa*l.xy+kappa*kappa*l.xx-mean*mean) * m / max(1, m-1)
}

// labelMoments are those of a model's scores and the labels, one for each score.
func (t *Task) labelMoments(train *Rows, model []float64) []moments {
	k, m := t.loss().scores(), float64(train.Len())
	z, all := make([]float64, k), make([]moments, k)
	for r := range train.All() {
		scoresOf(z, model, r.X)
		for j := range z {
			all[j].add(z[j], labelOf(r.Y, j, k), m)
		}
	}
	return all
}

// explained is the share of the variance of the labels that the scores of the prior
// explain, minus what chance explains with so few records. With several classes it is
// the mean of the shares for their indicators. A prior that explains much is near, so
// the fit moves little away from it. A tiny prior of the right direction, which only
// noise could make explain much, explains little: no fit multiplies it by more than
// twice kappa.
func (t *Task) explained(all []moments, m float64) float64 {
	share := -1 / m
	for _, of := range all {
		share += of.explained(2*t.Local.Kappa) / float64(len(all))
	}
	return max(0, share)
}

// moments are the means of two numbers, of their squares and of their product.
type moments struct{ x, y, xx, yy, xy float64 }

// add adds one of m pairs.
func (s *moments) add(x, y, m float64) {
	s.x, s.y = s.x+x/m, s.y+y/m
	s.xx, s.yy, s.xy = s.xx+x*x/m, s.yy+y*y/m, s.xy+x*y/m
}

// variances are those of x and of y.
func (s *moments) variances() (xx, yy float64) { return s.xx - s.x*s.x, s.yy - s.y*s.y }

// constant reports whether x and y vary so little together that rounding may be all of it.
func (s *moments) constant() bool {
	xx, yy := s.variances()
	return xx*yy <= 1e-24*s.xx*s.yy
}

// explained is the share of the variance of y that x explains when multiplied by a
// factor of at most most; 0 if the covariance is not positive or one of the two is
// constant.
func (s *moments) explained(most float64) float64 {
	covariance := s.xy - s.x*s.y
	if covariance <= 0 || s.constant() {
		return 0
	}
	xx, yy := s.variances()
	times := min(most, covariance/xx)
	return min(1, times*(2*covariance-times*xx)/yy)
}

func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// implausibility is how implausible a fit around kappa times the prior with 2^octave times
// the task's eta is before it is seen, as minus a logarithm. The task's own eta is a
// guess: if it is right it helps, and far from what the records say it does no harm.
func (s *search) implausibility(kappa float64, octave int) float64 {
	off, own, worth := float64(octave)-s.plausible, float64(octave), 0.
	if kappa != 0 {
		off, worth = off-s.nearer, s.worth
	}
	if kappa != 0 && s.between() || kappa == 0 && s.aside > 0 {
		worth -= math.Ln2 // two lines share the weight of one
	}
	return -math.Log(bellCurve(off/spread)+s.trust*bellCurve(own)) - worth
}

// bellCurve is the density of a normal number, scaled to 1 at its middle.
func bellCurve(x float64) float64 { return math.Exp(-x * x / 2) }

// The rates by which the log-likelihoods are multiplied. A rate of 1 would treat the
// leave-one-out predictions of records as independent of each other, and the model as
// true.
const (
	classesLeftOut = 0.6
	numbersLeftOut = 40 // with this many records the rate is a half
	marginalRate   = 0.6
)

// leaveOneOutRate is the rate of the leave-one-out evidence. The difference of two fits
// in it is a mean over m records, and so has the noise of a mean: the expected true
// difference is m/(m+c) of the measured one, with c the variance between records
// divided by that between fits. The marginal likelihood is more certain for few
// records, and wrong for many where no straight line is right. For classes few records
// count as much as many: only the leave-one-out evidence of few finds the weak pull that
// suits classes which are told apart well, and that of many says hardly more than chance
// about fits that do.
func (t *Task) leaveOneOutRate(records int) float64 {
	if t.lossKind().target != numberTarget {
		return classesLeftOut
	}
	m := float64(records)
	return m / (m + numbersLeftOut)
}

// add adds a fit to the model.
func (s *search) add(kappa float64, octave int, theta []float64, e evidence) candidate {
	c := candidate{theta: slices.Clone(theta), logWeight: s.left*e.leaveOneOut + marginalRate*e.marginal - s.implausibility(kappa, octave)}
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
		line := s.straight
		s.model = PersonalModel{
			Theta: line.mixed(s.model.Theta, s.rivals(), line.model.Theta, line.rivals()),
			Alone: line.mixed(s.model.Alone, s.alone, line.model.Alone, line.alone),
		}
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
