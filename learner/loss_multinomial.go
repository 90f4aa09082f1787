package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

func multinomialLoss() lossKind {
	return lossKind{
		name: "multinomial", target: classTarget, odds: true,
		make:  func(t *Task) loss { return multinomial{len(t.Target.Classes)} },
		usual: usualLoss{slope: math.Sqrt2, length: 2},
	}
}

// multinomial is the softmax cross-entropy of K classes, log sum_k exp(z_k) - z_y, with
// y the number of the class, 0 to K-1. With q the probabilities, its curvature diag(q)
// - q q' is at most 1/2 and its slope q - e_y is at most sqrt 2 long, so a clip of
// sqrt(2) ||x|| clips nothing.
type multinomial struct{ classes int }

func (l multinomial) scores() int { return l.classes }

func (l multinomial) value(z []float64, y float64) float64 {
	return floats.LogSumExp(z) - z[int(y)]
}

func (l multinomial) slope(dst, z []float64, y float64) {
	softmax(dst, z)
	dst[int(y)]--
}

func (l multinomial) curvature(dst, z []float64, _ float64) {
	q := dst[:l.classes] // the first row, which is written last; until then it holds the probabilities
	softmax(q, z)
	for k := l.classes - 1; k >= 0; k-- {
		row, share := block(dst, k, l.classes), q[k]
		floats.ScaleTo(row, -share, q)
		row[k] += share
	}
}

func (l multinomial) gradient(dst, theta, x []float64, y float64) {
	slope := make([]float64, l.classes)
	scoresOf(slope, theta, x)
	l.slope(slope, slope, y)
	clear(dst)
	addOuter(dst, 1, slope, x)
}

func (multinomial) smoothness(norm float64) float64 { return norm * norm / 2 }

func (multinomial) steepness(_, _ float64) float64 { return math.Sqrt2 }

func (multinomial) evidence(sum float64, _ int) float64 { return -sum }

// softmax writes the probabilities exp(z_k) / sum_j exp(z_j). dst may be z.
func softmax(dst, z []float64) {
	largest := floats.Max(z)
	var sum float64
	for k, v := range z {
		dst[k] = math.Exp(v - largest)
		sum += dst[k]
	}
	floats.Scale(1/sum, dst)
}
