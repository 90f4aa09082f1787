package audit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// lowerBound returns a lower bound on the epsilon at delta that distinguishes the
// scores of two worlds. It is wrong with probability at most alpha, and 0 if the scores
// show no difference. Scores are independent and unordered, and high ones indicate
// world 1.
func lowerBound(one, zero []float64, delta, alpha float64) float64 {
	return max(
		oneSided(one, zero, delta, alpha/2),
		oneSided(negated(zero), negated(one), delta, alpha/2),
	)
}

// oneSided bounds epsilon by the sets of high scores, which are more frequent in world
// 1. The threshold comes from the first halves, the rates from the second.
func oneSided(one, zero []float64, delta, alpha float64) float64 {
	tune1, test1 := halves(one)
	tune0, test0 := halves(zero)
	best, threshold := 0.0, math.Inf(1)
	for _, t := range slices.Concat(candidates(tune1), candidates(tune0)) {
		if e := separation(tune1, tune0, t, delta, alpha); e > best {
			best, threshold = e, t
		}
	}
	if best == 0 {
		return 0
	}
	return separation(test1, test0, threshold, delta, alpha)
}

// separation is ln((P1 - delta) / P0) for the scores of at least threshold, at the
// pessimistic ends of the two rates; 0 if it is not positive.
func separation(one, zero []float64, threshold, delta, alpha float64) float64 {
	low := lowerRate(atLeast(one, threshold), len(one), alpha/2)
	high := upperRate(atLeast(zero, threshold), len(zero), alpha/2)
	if low <= delta {
		return 0
	}
	return max(0, math.Log((low-delta)/high))
}

// lowerRate is the lower bound of Clopper and Pearson on a rate seen hits times out of
// n, wrong with probability at most alpha.
func lowerRate(hits, n int, alpha float64) float64 {
	if hits == 0 {
		return 0
	}
	return distuv.Beta{Alpha: float64(hits), Beta: float64(n - hits + 1)}.Quantile(alpha)
}

// upperRate is the upper bound. It uses the lower bound on the rate of misses, so that
// a small alpha is never subtracted from 1.
func upperRate(hits, n int, alpha float64) float64 { return 1 - lowerRate(n-hits, n, alpha) }

// halves returns the first and the second half, each sorted.
func halves(scores []float64) (first, second []float64) {
	middle := len(scores) / 2
	return slices.Sorted(slices.Values(scores[:middle])), slices.Sorted(slices.Values(scores[middle:]))
}

// candidates are scores at ranks from the top that grow by a tenth: possible thresholds
// of a set of high scores.
func candidates(sorted []float64) []float64 {
	var c []float64
	for k := 1; k <= len(sorted); k += 1 + k/10 {
		c = append(c, sorted[len(sorted)-k])
	}
	return c
}

// atLeast counts the scores of at least threshold.
func atLeast(sorted []float64, threshold float64) int {
	below, _ := slices.BinarySearch(sorted, threshold)
	return len(sorted) - below
}

func negated(scores []float64) []float64 {
	n := make([]float64, len(scores))
	for i, s := range scores {
		n[i] = -s
	}
	return n
}
