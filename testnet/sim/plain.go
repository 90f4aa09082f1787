package sim

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// Plain is the arithmetic of a crowd's agents, without privacy, as the loop over arrays
// that one would write to compute nothing else: nobody sends, each reads its neighbours'
// newest models where they lie, and nothing is checked. It is what the simulator is
// measured against; without delays both come to the same bits.
type Plain struct {
	dimension, records int
	features, labels   []float64 // of agent after agent
	models             []float64
	spoken             []bool  // who has ever released: before, it pulls at nobody
	first              []int32 // of an agent's neighbours; one more at the end
	neighbours         []int32
	step               plainStep
	random             *rand.Rand

	gradient, mean []float64
	total          []int64
}

// plainStep are the numbers of a step that all agents share, as eq. 4 of package learner
// has them.
type plainStep struct {
	clip, units       float64 // units of the clip's grid in 1
	alpha, mu, c      float64
	lambda, mean      float64 // mean is 1 over the number of records
	radius, threshold float64
}

// plain is the loop of a crowd whose features lie in one block.
func (c Crowd) plain(t *learner.Task, list []Participant, features []float64) *Plain {
	l := &Plain{
		dimension: c.Dimension, records: c.Records, features: features, step: c.step(t),
		models: inLargePages(make([]float64, c.Agents*c.Dimension)), spoken: make([]bool, c.Agents),
		random: rand.New(rand.NewPCG(c.Seed, 17)),
		labels: make([]float64, 0, c.Agents*c.Records), first: make([]int32, 0, c.Agents+1), neighbours: make([]int32, 0, c.Agents*c.Neighbours),
		gradient: make([]float64, c.Dimension), mean: make([]float64, c.Dimension), total: make([]int64, c.Dimension),
	}
	for i := range list {
		l.first = append(l.first, int32(len(l.neighbours)))
		for _, e := range list[i].Edges {
			l.neighbours = append(l.neighbours, int32(Number(e.Peer)))
		}
		for k := range list[i].Records {
			l.labels = append(l.labels, list[i].Records[k].Y)
		}
	}
	l.first = append(l.first, int32(len(l.neighbours)))
	return l
}

func (c Crowd) step(t *learner.Task) plainStep {
	m := float64(c.Records)
	s := plainStep{clip: t.GradientBound(), mu: t.Mu, c: min(1, m/float64(t.ConfidenceAt)), lambda: t.Lambda / m, mean: 1 / m, radius: t.Radius}
	_, exponent := math.Frexp(s.clip)
	s.units = math.Ldexp(1, 42-exponent)
	norm := t.FeatureNorm()
	s.alpha = 1 / (1 + s.mu*s.c*(2*norm*norm+2*s.lambda))
	s.threshold = s.radius * s.radius * (1 - 1e-9)
	return s
}

// Wakes lets so many agents wake, each drawn at random.
func (l *Plain) Wakes(n int) {
	for range n {
		l.wake(l.random.IntN(len(l.spoken)))
	}
}

func (l *Plain) wake(i int) {
	own, s := l.model(i), &l.step
	l.addGradients(i, own)
	for j, n := range l.total {
		l.gradient[j] = s.mean * (float64(n) * (1 / s.units))
	}
	floats.AddScaled(l.gradient, 2*s.lambda, own)
	mean := l.neighbourhood(i, own)
	floats.Scale(1-s.alpha, own)
	floats.AddScaled(own, s.alpha, mean)
	floats.AddScaled(own, -s.alpha*s.mu*s.c, l.gradient)
	if floats.Dot(own, own) >= s.threshold {
		if norm := floats.Norm(own, 2); norm > s.radius {
			floats.Scale(s.radius/norm, own)
		}
	}
	l.spoken[i] = true
}

func (l *Plain) model(i int) []float64 { return l.models[i*l.dimension : (i+1)*l.dimension] }

// addGradients adds up the clipped gradients of the agent's records in units of the grid.
func (l *Plain) addGradients(i int, own []float64) {
	clear(l.total)
	for k := i * l.records; k < (i+1)*l.records; k++ {
		x := l.features[k*l.dimension : (k+1)*l.dimension]
		floats.ScaleTo(l.gradient, -2*(l.labels[k]-floats.Dot(own, x)), x)
		factor := l.step.units
		if norm := floats.Dot(l.gradient, l.gradient); norm > l.step.clip*l.step.clip {
			factor *= l.step.clip / math.Sqrt(norm)
		}
		total := l.total[:len(l.gradient)]
		for j, g := range l.gradient {
			total[j] += int64(g * factor)
		}
	}
}

// neighbourhood is the mean of the neighbours' models, all of weight 1; its own while
// nobody has spoken, in memory of its own since own is changed next.
func (l *Plain) neighbourhood(i int, own []float64) []float64 {
	around, spoken := l.neighbours[l.first[i]:l.first[i+1]], 0.
	for _, j := range around {
		if l.spoken[j] {
			spoken++
		}
	}
	if spoken == 0 {
		copy(l.mean, own)
		return l.mean
	}
	clear(l.mean)
	for _, j := range around {
		if l.spoken[j] {
			floats.AddScaled(l.mean, 1/spoken, l.model(int(j)))
		}
	}
	return l.mean
}
