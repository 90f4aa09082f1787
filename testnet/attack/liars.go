package attack

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"p2pnode/learner"
)

// kindOfLie makes the model that a liar sends instead of its own. Its length must be at
// most the task's radius, or it would be refused.
type kindOfLie struct {
	name, about string
	quick       bool // part of the gate too
	// lie returns a model of the length of own, and the noise that it claims.
	lie func(l *liar, own []float64, std float64) ([]float64, float64)
}

var kindsOfLies = []kindOfLie{
	{"random", "says a random model of the ball", false, func(l *liar, own []float64, std float64) ([]float64, float64) {
		return l.direction(own, l.radius*math.Pow(l.chance.Float64(), 1/float64(len(own)))), std
	}},
	{"border", "says the same model at the border of the ball as all its like, and that there is no noise in it", true, func(l *liar, own []float64, _ float64) ([]float64, float64) {
		return floats.ScaleTo(own, l.radius, l.plot.aim), 0
	}},
	{"flipped", "says the opposite of what it has learned", false, func(_ *liar, own []float64, std float64) ([]float64, float64) {
		return floats.ScaleTo(own, -1, own), std
	}},
	{"minus-mean", "says the opposite of what the honest have learned on average, at the border of the ball", false, func(l *liar, own []float64, std float64) ([]float64, float64) {
		mean := l.plot.mean()
		return floats.ScaleTo(own, -l.radius/max(floats.Norm(mean, 2), 1e-9), mean), std
	}},
	{"alie", "says a model as far from the mean of the honest as hides in their spread (Baruch, Baruch, Goldberg 2019)", true, func(l *liar, own []float64, std float64) ([]float64, float64) {
		mean, spread := l.plot.mean(), l.plot.spread()
		floats.ScaleTo(own, -l.plot.hidden(), spread)
		return floats.AddTo(own, own, mean), std
	}},
	{"inner-product", "says a small model against the mean of the honest (Xie, Koyejo, Gupta 2019)", false, func(l *liar, own []float64, std float64) ([]float64, float64) {
		return floats.ScaleTo(own, -0.5, l.plot.mean()), std
	}},
	{"inside", "knows the defence: says the mean of the honest, moved against itself by as much as the honest are apart", false, func(l *liar, own []float64, std float64) ([]float64, float64) {
		mean := l.plot.mean()
		length := max(floats.Norm(mean, 2), 1e-9)
		return floats.ScaleTo(own, 1-l.plot.apart()/length, mean), std
	}},
	{"drift", "knows the defence: says what it has learned, moved in the same direction as all its like by as much as the honest are apart", true, func(l *liar, own []float64, std float64) ([]float64, float64) {
		return l.moved(own, 1), std
	}},
	{"hidden", "knows the defence: as drift, by half as much, and with as much noise in it as the honest have, each its own", false, func(l *liar, own []float64, std float64) ([]float64, float64) {
		return l.hide(l.moved(own, 0.5), std), std
	}},
	{"patient", "knows the defence: as hidden, by an eighth in place of half, so that thirty rounds do not show it", false, func(l *liar, own []float64, std float64) ([]float64, float64) {
		return l.hide(l.moved(own, 0.125), std), std
	}},
	{"noisy", "knows the defence: says the opposite of the mean of the honest, with as much noise as theirs, and that there is four times as much", false, func(l *liar, own []float64, std float64) ([]float64, float64) {
		return l.hide(floats.ScaleTo(own, -1, l.plot.mean()), std), 4 * std
	}},
	{"boastful", "knows the defence: says five times what it has learned, then the same model at the border of the ball as all its like, and that there is immense noise in all", false, func(l *liar, own []float64, _ float64) ([]float64, float64) {
		if l.sent > 5 {
			floats.ScaleTo(own, l.radius, l.plot.aim)
		}
		return own, 1e150
	}},
}

// plot is what liars know together: what every honest agent sent last.
type plot struct {
	said [][]float64 // by participant; nil: nothing yet, or a liar
	aim  []float64   // a direction, of length 1
	lie  float64     // the share of liars
}

// hear notes what an honest agent sent.
func (p *plot) hear(who int, out learner.Output) learner.Output {
	for i := range out.Send {
		if m := &out.Send[i]; m.Kind == learner.KindModel {
			p.said[who] = m.Real
		}
	}
	return out
}

func (p *plot) honest(each func(model []float64)) (n float64) {
	for _, m := range p.said {
		if m != nil {
			n++
			each(m)
		}
	}
	return n
}

// mean is the mean of the honest models.
func (p *plot) mean() []float64 {
	mean := make([]float64, len(p.aim))
	n := p.honest(func(m []float64) { floats.Add(mean, m) })
	floats.Scale(1/max(1, n), mean)
	return mean
}

// spread is the standard deviation of each coordinate of the honest models.
func (p *plot) spread() []float64 {
	mean, spread := p.mean(), make([]float64, len(p.aim))
	n := p.honest(func(m []float64) {
		for k := range m {
			spread[k] += (m[k] - mean[k]) * (m[k] - mean[k])
		}
	})
	for k := range spread {
		spread[k] = math.Sqrt(spread[k] / max(1, n))
	}
	return spread
}

// hidden is z_max of Baruch, Baruch and Goldberg: at this many standard deviations, the
// honest models further out and those of the liars together are more than half.
func (p *plot) hidden() float64 {
	honest := 1 - p.lie
	return distuv.UnitNormal.Quantile(max(0.5, (honest-max(0, 0.5-p.lie))/honest))
}

// apart is the median distance of the honest models from their mean.
func (p *plot) apart() float64 {
	mean := p.mean()
	var list []float64
	p.honest(func(m []float64) { list = append(list, floats.Distance(m, mean, 2)) })
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return math.Sqrt2 * list[len(list)/2]
}

// liar makes what an agent sends in place of its models.
type liar struct {
	kind   kindOfLie
	plot   *plot
	radius float64
	chance *rand.Rand
	sent   int // how many models it has said, with the one that it makes
}

// changed is the output of the agent with lies for its models.
func (l *liar) changed(out learner.Output) learner.Output {
	for i := range out.Send {
		m := &out.Send[i]
		if m.Kind != learner.KindModel {
			continue
		}
		l.sent++
		m.Real, m.NoiseStd = l.kind.lie(l, slices.Clone(m.Real), m.NoiseStd)
		if length := floats.Norm(m.Real, 2); length > l.radius*(1-1e-12) {
			floats.Scale(l.radius*(1-1e-12)/length, m.Real)
		}
	}
	return out
}

// direction is a random vector of that length.
func (l *liar) direction(own []float64, length float64) []float64 {
	for i := range own {
		own[i] = l.chance.NormFloat64()
	}
	floats.Scale(length/floats.Norm(own, 2), own)
	return own
}

// moved is, in own, the mean of the honest moved in the liars' direction by this share of
// how far the honest are apart.
func (l *liar) moved(own []float64, share float64) []float64 {
	return floats.AddScaledTo(own, l.plot.mean(), share*l.plot.apart(), l.plot.aim)
}

// hide adds noise of the liar's own to a model.
func (l *liar) hide(model []float64, std float64) []float64 {
	for i := range model {
		model[i] += std * l.chance.NormFloat64()
	}
	return model
}
