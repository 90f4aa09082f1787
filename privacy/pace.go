package privacy

import (
	"fmt"
	"math"
)

// Pace says how a budget is spread over the releases.
type Pace string

// The paces.
const (
	Uniform Pace = "uniform" // the same noise in all releases
	Growing Pace = "growing" // less noise, at a higher price, in each release than in the one before
	OneShot Pace = "one-shot"
)

// stretch is count releases whose noise is this multiple of the least noise.
type stretch struct {
	noise    float64 // >= 1
	count    int
	distance float64 // of whole vectors; 0: sums of clipped gradients
}

// shift is the sensitivity of one release in units of the clip.
func (d Design) shift(s stretch) float64 {
	if s.distance > 0 {
		return s.distance / d.Clip
	}
	return 2
}

// stretches returns the releases of the design in order, the noise of the last
// being 1.
//
// Growing is proposition 2 of Bellet et al. 2018, corrected. Let an update
// shrink the error by C < 1 and add the noise of variance n_t: P_{t+1} <= C P_t
// + n_t, which unrolls to
//
//	P_T <= C^T P_0 + sum over t < T of C^{T-1-t} n_t.
//
// The paper's equation 12 has C^t in place of C^{T-1-t}, and so its noise
// increases with time: the wrong way round, because later noise has less time
// to shrink. Minimise the sum for a given budget, with s_t the scale of the
// noise and n_t proportional to s_t^2:
//
//   - epsilons add up, sum of 1/s_t given: the derivatives C^{T-1-t} s_t and
//     1/s_t^2 are proportional, so s_t ~ C^{-(T-1-t)/3}, epsilon_t ~
//     C^{(T-1-t)/3};
//   - squares add up, sum of 1/s_t^2 given (Gaussian noise exactly; Laplace
//     noise under the other accountings, nearly, when the releases are many and
//     small): C^{T-1-t} s_t and 1/s_t^3 are, so s_t^2 ~ C^{-(T-1-t)/2}.
//
// At T = 50, C = 0.9 the noise term is 0.55 (epsilons) and 0.66 (squares) of
// the uniform one; that of the paper is 4.48.
func (d Design) stretches() ([]stretch, error) {
	if d.carries() {
		return d.carriedStretches(), nil
	}
	if d.Pace != Growing {
		return []stretch{{noise: 1, count: d.Releases}}, nil
	}
	root := 4.0
	if d.Accounting == PureFilter {
		root = 3
	}
	list := make([]stretch, d.Releases)
	for t := range list {
		list[t] = stretch{noise: math.Pow(d.Contraction, -float64(d.Releases-1-t)/root), count: 1}
	}
	if list[0].noise > mostNoise/leastNoise {
		return nil, fmt.Errorf("privacy: a contraction of %v over %d releases leaves no signal in the first, choose one nearer to 1 or fewer releases", d.Contraction, d.Releases)
	}
	return list, nil
}

// carriedStretches gives each release its own distance, and all the same noise. Equal
// distances, as when nothing is carried, make one stretch.
func (d Design) carriedStretches() []stretch {
	var list []stretch
	for t := 1; t <= d.Releases; t++ {
		distance := d.Carried.At(t)
		if last := len(list) - 1; last >= 0 && list[last].distance == distance {
			list[last].count++
			continue
		}
		list = append(list, stretch{noise: 1, count: 1, distance: distance})
	}
	return list
}
