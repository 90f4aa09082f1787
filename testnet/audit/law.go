package audit

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// law is the auditor's law of the noise of a release, in real units.
type law struct {
	noise privacy.Noise
	scale float64
	bound float64 // 0: not truncated
}

func lawOf(m privacy.Mechanism) law { return law{m.Noise(), m.Scale(), m.Bound()} }

// logDensity is the logarithm of the density of released if the sum without noise was
// sum, up to a constant of the law; -Inf if that is impossible.
func (l law) logDensity(released, sum []float64) float64 {
	var total float64
	for j, y := range released {
		z := math.Abs(y-sum[j]) / l.scale
		switch {
		case l.bound > 0 && z*l.scale > l.bound:
			return math.Inf(-1)
		case l.noise == privacy.Laplace || l.noise == privacy.TruncatedLaplace:
			total -= z
		default:
			total -= z * z / 2
		}
	}
	return total
}

// logLikelihood is the logarithm of the likelihood of a world, up to the same
// constant in both.
func (l law) logLikelihood(released []float64, w *world) float64 {
	if len(w.sums) == 1 {
		return l.logDensity(released, w.sums[0])
	}
	batches := make([]float64, len(w.sums))
	for i, sum := range w.sums {
		batches[i] = l.logDensity(released, sum)
	}
	return floats.LogSumExp(batches)
}

// ratio is the log-likelihood ratio of world 1 over world 0. A release that is
// impossible in both worlds counts 0.
func (l law) ratio(released []float64, worlds *[2]world) float64 {
	one, zero := l.logLikelihood(released, &worlds[1]), l.logLikelihood(released, &worlds[0])
	if math.IsInf(one, -1) && math.IsInf(zero, -1) {
		return 0
	}
	return one - zero
}
