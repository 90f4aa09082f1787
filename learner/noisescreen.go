package learner

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
)

// The noise of honest releases hides lies, but the length of that noise is public.
// Xiang, Wang, Lin, Wang, "Practical differentially private and Byzantine-resilient
// federated learning", 2023, accept a release only if its length is one that noise
// makes. Here the same is asked of distances, which do not change if all models move
// together. A model must not be further from the agent's own than noise explains, and
// neither must be the mean of the differences between a neighbour's models and the
// agent's own over many rounds, in which noise averages out and a lie that is repeated
// does not (Karimireddy, He, Jaggi, "Learning from history for Byzantine robust
// optimization", 2021). Two neighbours' models must not be closer to each other than
// noise explains, because liars who agree send nearly the same model (Fung, Yoon,
// Beschastnikh, "The limitations of federated learning in Sybil settings", 2020).

const (
	// furthest is the largest accepted square of a distance, in units of the usual one.
	// With 20 weights, noise alone puts one honest model in fifteen beyond it.
	furthest = 1.5
	// tooNear is the probability that the noise of two honest models brings them so
	// near to each other that both are left out.
	tooNear = 1e-5
	// remembered is how much of the sum of past differences counts one round later: the
	// mean is over some thirty rounds. With all rounds, a neighbour that was wrong once
	// would have to make up for it; with a quarter as many, liars may go further.
	remembered = 15. / 16
)

// screen marks the neighbours whose models honest noise does not explain: those too far
// from the agent's own, now or on average, and those too near to another.
type screen struct {
	out     []bool             // by edge; empty: none are marked
	past    map[ID]*difference // by neighbour
	scratch []float64          // working memory
}

// difference is the sum of the differences between a neighbour's models and the agent's
// own, each multiplied by remembered for every later one.
type difference struct {
	sum     []float64
	squares float64 // sum of the squares of the factors: that of noise grows with its root
	round   uint64  // of the last model in it
}

// judge marks edges by the models that were heard over them. own is the agent's model, or
// what that was before its own release, and ownStd the standard deviation of the noise in
// it. drawn is the noise that the agent itself drew for a release: whatever noise others
// claim, the test of nearness assumes no more than this.
func (s *screen) judge(edges []Edge, heard []latest, own []float64, ownStd, drawn float64) {
	s.out = s.out[:0]
	if len(edges) < enoughToJudge {
		return
	}
	usual, least := s.claims(heard)
	if ownStd == 0 && usual == 0 {
		return
	}
	s.out = slices.Grow(s.out, len(edges))[:len(edges)]
	clear(s.out)
	d := float64(len(own))
	expected := d * (ownStd*ownStd + usual*usual)
	s.far(heard, expected, func(i int) float64 { return squaredDistance(heard[i].model, own, math.Inf(1)) })
	s.remember(edges, heard, own)
	s.far(heard, expected, func(i int) float64 {
		p := s.past[edges[i].Peer]
		return floats.Dot(p.sum, p.sum) / p.squares
	})
	fresh := min(least, drawn)
	// Twice the noise's variance times the quantile of chi-squared, which is twice this one.
	s.near(heard, 4*fresh*fresh*mathext.GammaIncRegInv(d/2, tooNear))
}

// far marks those at a square of a distance above furthest times the expected one, or
// the median if that is larger: at least half of all neighbours pass, because where
// people differ by more than the noise, a distance shows little. A neighbour that was
// not heard counts as being at the expected distance, or the first to speak would
// decide what is far.
func (s *screen) far(heard []latest, expected float64, square func(i int) float64) {
	k := len(heard)
	s.scratch = slices.Grow(s.scratch[:0], 2*k)[:2*k]
	squares := s.scratch[:k]
	for i := range heard {
		if squares[i] = expected; heard[i].round > 0 {
			squares[i] = square(i)
		}
	}
	most := furthest * max(expected, median(append(s.scratch[k:k], squares...)))
	for i := range squares {
		s.out[i] = s.out[i] || squares[i] > most
	}
}

// remember adds the models that are new to the past differences.
func (s *screen) remember(edges []Edge, heard []latest, own []float64) {
	if s.past == nil {
		s.past = map[ID]*difference{}
	}
	maps.DeleteFunc(s.past, func(peer ID, _ *difference) bool { _, found := findEdge(edges, peer); return !found })
	for i := range heard {
		if heard[i].round == 0 {
			continue
		}
		p := s.past[edges[i].Peer]
		if p == nil {
			p = &difference{sum: make([]float64, len(own))}
			s.past[edges[i].Peer] = p
		}
		if heard[i].round <= p.round {
			continue
		}
		floats.Scale(remembered, p.sum)
		floats.Add(p.sum, heard[i].model)
		floats.Sub(p.sum, own)
		p.squares, p.round = remembered*remembered*p.squares+1, heard[i].round
	}
}

// near marks both of any two whose models' distance has a square below least.
func (s *screen) near(heard []latest, least float64) {
	for i := range heard {
		for j := range i {
			if heard[i].near(&heard[j], least) {
				s.out[i], s.out[j] = true, true
			}
		}
	}
}

// near reports whether two neighbours were heard and the square of the distance of
// their models is below least.
func (a *latest) near(b *latest, least float64) bool {
	return a.round > 0 && b.round > 0 && squaredDistance(a.model, b.model, least) < least
}

// leftOut reports whether an edge is marked.
func (s *screen) leftOut(edge int) bool { return s != nil && edge < len(s.out) && s.out[edge] }

// claims returns two standard deviations of noise that the heard neighbours claim: the
// median, and one that honest neighbours claim even if as many as may lie claim less.
// Both are 0 if none was heard.
func (s *screen) claims(heard []latest) (usual, least float64) {
	s.scratch = s.scratch[:0]
	for i := range heard {
		if heard[i].round > 0 {
			s.scratch = append(s.scratch, heard[i].noiseStd)
		}
	}
	if len(s.scratch) == 0 {
		return 0, 0
	}
	usual = median(s.scratch)
	return usual, s.scratch[maxFaulty(len(s.scratch))]
}

// squaredDistance is the squared distance of a and b. If that is more than enough, it
// may return any number above enough.
func squaredDistance(a, b []float64, enough float64) (sum float64) {
	for k := range a {
		sum += (a[k] - b[k]) * (a[k] - b[k])
		if sum > enough {
			break
		}
	}
	return sum
}
