package movielens

import (
	"math"
	"slices"

	"p2pnode/privacy/accountant"
)

// leak is what a reading's messages really guarantee: epsilon at the paper's delta
// for the people with the fewest, the median and the most training ratings.
type leak struct{ least, median, most float64 }

// leak computes it from the noise that was added; norm is the largest l1 norm of a
// movie's features.
func (e *experiment) leak(r reading, norm, eps float64, updates int) (leak, error) {
	var values [3]float64
	for i, m := range trainingSizes(e.data, &e.splits[0]) {
		var err error
		if values[i], err = trueEpsilon(r.sensitivity(m, norm)*accountant.KairouzShare(eps, paperDelta, updates), updates); err != nil {
			return leak{}, err
		}
	}
	return leak{values[0], values[1], values[2]}, nil
}

// sensitivity is the l1 sensitivity of the releases of a person with m ratings, in
// units of the 2 C/m for which the noise is made.
//
// Under the sum the noise is m times too small, and clipping in l2 leaves sqrt(p) times
// as much in l1; the fact that each user's mean also tells about the ratings is not
// even counted. Under the mean only that remains: another rating moves the mean by at
// most 4/m, and so each of m gradients by 8 norm/m.
func (r reading) sensitivity(m int, norm float64) float64 {
	if r.sum {
		return float64(m) * math.Sqrt(rank)
	}
	return 1 + 8*norm/(2*belletClip)
}

// trueEpsilon is the epsilon, at the paper's delta, of this many releases of Laplace
// noise of scale 1 on vectors of l1 sensitivity a: by exact composition, or the sum
// where that is smaller.
func trueEpsilon(a float64, updates int) (float64, error) {
	loss, err := accountant.Compose(paperDelta, accountant.Group{Step: accountant.Laplace(a), Count: updates})
	if err != nil {
		return 0, err
	}
	return min(loss.Epsilon(paperDelta), a*float64(updates)), nil
}

// trainingSizes are the fewest, the median and the most training ratings of a person.
func trainingSizes(d *dataset, s *split) [3]int {
	sizes := make([]int, users)
	for _, r := range s.training(d.ratings) {
		sizes[r.user]++
	}
	slices.Sort(sizes)
	return [3]int{sizes[0], sizes[len(sizes)/2], sizes[len(sizes)-1]}
}
