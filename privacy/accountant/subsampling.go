package accountant

import (
	"fmt"
	"math"
)

// Sampling says how the records of a subsampled step are chosen.
type Sampling uint8

// The ways of sampling. Each has its own adjacency, and steps of different
// adjacency are never composed.
const (
	WithoutReplacement Sampling = 1 // a batch of fixed size; replace-one
	Poisson            Sampling = 2 // each record by itself; add-or-remove-one; for evaluation only
)

// Subsampled is base on a random share q of the records, 0 < q <= 1, drawn
// afresh for the step. base is a step that is not itself subsampled. Shuffled
// epochs are neither way of sampling.
func Subsampled(base Step, q float64, s Sampling) (Step, error) {
	switch base := base.(type) {
	case nil:
		return nil, fmt.Errorf("accountant: no step to subsample, give one")
	case senseless:
		return nil, fmt.Errorf("%s", string(base))
	case subsampled:
		return nil, fmt.Errorf("accountant: a step is subsampled twice, multiply the shares instead")
	}
	if !(q > 0 && q <= 1) {
		return nil, fmt.Errorf("accountant: share of the records is %v, choose one in (0, 1]", q)
	}
	if s != WithoutReplacement && s != Poisson {
		return nil, fmt.Errorf("accountant: way of sampling is %d, choose WithoutReplacement or Poisson", s)
	}
	return subsampled{base, q, s}, nil
}

type subsampled struct {
	base     Step
	q        float64
	sampling Sampling
}

// Delta is that of the worse direction. Directions are composed each by itself:
// the maximum of the profiles belongs to no pair of laws.
func (s subsampled) Delta(epsilon float64) float64 {
	forward, backward := s.directions()
	return max(forward.at(epsilon, backward), backward.at(epsilon, forward))
}

// directions: under Poisson sampling the worlds with and without the record are
// the mixture (1-q) Q + q P and Q, which differ by direction. Without
// replacement, advanced joint convexity (Balle, Barthe, Gaboardi 2018, theorem 2)
// bounds both directions by the profile of "remove".
func (s subsampled) directions() (forward, backward profile) {
	if s.sampling == WithoutReplacement {
		return s.remove, s.remove
	}
	return s.remove, s.add
}

// remove is the profile of ((1-q)Q + qP, Q):
//
//	(1-q) Q + q P - e^eps Q = q (P - e^eps' Q),  e^eps' = 1 + (e^eps-1)/q.
func (s subsampled) remove(epsilon float64) float64 {
	return s.q * s.base.Delta(math.Log1p(math.Expm1(min(epsilon, 1))/s.q)+s.beyondOne(epsilon))
}

// beyondOne is what eps' gains from eps = 1 on, where e^eps may overflow:
// ln((e^eps - (1-q)) / (e - (1-q))).
func (s subsampled) beyondOne(epsilon float64) float64 {
	if epsilon <= 1 {
		return 0
	}
	return epsilon - 1 + math.Log1p((s.q-1)*math.Exp(-epsilon)) - math.Log1p((s.q-1)/math.E)
}

// add is the profile of (Q, (1-q)Q + qP). With w = 1 - (1-e^-eps)/q
//
//	Q - e^eps ((1-q) Q + q P) = q e^eps (w Q - P),
//
// nowhere positive if w <= 0. Otherwise, by the rule for the other direction and
// negative epsilon, sup (w Q - P) = w delta(-ln w).
func (s subsampled) add(epsilon float64) float64 {
	if s.q == 1 {
		return s.base.Delta(epsilon)
	}
	w := 1 + math.Expm1(-epsilon)/s.q
	if !(w > 0) {
		return 0
	}
	return s.q * math.Exp(epsilon) * w * s.base.Delta(-math.Log(w))
}
