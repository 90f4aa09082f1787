package learner

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// This is obfuscation, not differential privacy. What a client of learner polar adds
// makes one message hard to read; it bounds nothing. [Polar] says what a curious server
// learns all the same.

// weights draws W[i][J], one row for each of the Delta steps of a window and one column
// for each server, such that
//
//	SLC  the sum over servers and steps is Sum (M),
//	BUC  the sum of the absolute values is at most Bound (Mbar),
//
// both up to rounding. The weights are independent draws of Law minus their mean,
// scaled to the l1 norm Bound - Sum, plus Sum/(S Delta) each. So they use all that BUC
// allows, no draw is ever rejected, and no server or step is special. Without
// multiplicative obfuscation every weight is Sum/(S Delta).
func (p *Polar) weights(random *rand.Rand) [][]float64 {
	servers := len(p.Servers)
	flat := make([]float64, servers*p.Delta)
	if p.Obfuscation != "additive" && p.Bound > p.Sum {
		for i := range flat {
			if p.Law == "uniform" {
				flat[i] = 2*random.Float64() - 1
			} else {
				flat[i] = random.NormFloat64()
			}
		}
		floats.AddConst(-floats.Sum(flat)/float64(len(flat)), flat)
		floats.Scale((p.Bound-p.Sum)/floats.Norm(flat, 1), flat)
	}
	floats.AddConst(p.Sum/float64(len(flat)), flat)
	rows := make([][]float64, p.Delta)
	for i := range rows {
		rows[i] = flat[i*servers : (i+1)*servers]
	}
	return rows
}

// offsets draws d^J, a vector of dim coordinates for each server, such that
//
//	SLC  they add up to zero,
//	BUC  the l2 norm of each is at most Additive (Y),
//
// both up to rounding. The offsets are independent draws, uniform in the ball of radius
// r = Y S/(2(S-1)), minus their mean. A draw minus the mean is (1-1/S) of itself minus
// 1/S of each of S-1 others, so it is no longer than 2 (1-1/S) r = Y; and no server
// gets a special remainder. Without additive obfuscation they are zero.
func (p *Polar) offsets(random *rand.Rand, dim int) [][]float64 {
	servers := float64(len(p.Servers))
	offsets := make([][]float64, len(p.Servers))
	mean := make([]float64, dim)
	for j := range offsets {
		offsets[j] = make([]float64, dim)
		if p.Obfuscation != "multiplicative" {
			uniformInBall(random, offsets[j], p.Additive*servers/(2*(servers-1)))
			floats.AddScaled(mean, 1/servers, offsets[j])
		}
	}
	for j := range offsets {
		floats.Sub(offsets[j], mean)
	}
	return offsets
}

// uniformInBall draws v uniformly from the l2 ball of the given radius: the direction
// of a normal vector is uniform, and a share s^dim of the ball's volume is within s of
// its radius.
func uniformInBall(random *rand.Rand, v []float64, radius float64) {
	for k := range v {
		v[k] = random.NormFloat64()
	}
	floats.Scale(radius*math.Pow(random.Float64(), 1/float64(len(v)))/floats.Norm(v, 2), v)
}
