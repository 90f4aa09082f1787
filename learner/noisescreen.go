package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Honest releases hide lies, but how long their noise is, is public. Xiang, Wang, Lin, Wang,
// "Practical differentially private and Byzantine-resilient federated learning", 2023, take a
// release only if its length is one that noise makes. Here the same is asked of distances,
// which no common way moves: of a model from the own one, that it is no longer; and of two
// neighbours' models, that it is no shorter, since liars who agree say nearly the same (Fung,
// Yoon, Beschastnikh, "The limitations of federated learning in Sybil settings", 2020).

const (
	// furthest is how many times longer than usual the square of an honest distance is: with
	// 20 weights noise alone makes that of one in fifteen longer.
	furthest = 1.5
	// tooNear is how likely the noise of two honest models is to bring them as near as those
	// that are left out for it.
	tooNear = 1e-5
)

// screen marks the neighbours whose models are not what honest noise makes of any: too far
// from own, whose noise has the standard deviation ownStd, or too near to another. Half of
// those that are too far stay in any case: where people differ by more than the noise, it says
// nothing. Who has not been heard counts as usual there, or whoever speaks first would
// decide what is far. drawn is the noise that the agent has drawn itself for own: no model is
// too near for less noise than others claim.
func (n *neighbourhood) screen(own []float64, ownStd, drawn float64) {
	if len(n.edges) < enoughToJudge {
		return
	}
	usual := n.usualStd()
	if ownStd == 0 && usual == 0 {
		return
	}
	d, k := float64(len(own)), len(n.edges)
	expected := d * (ownStd*ownStd + usual*usual)
	n.scratch = slices.Grow(n.scratch[:0], 2*k)[:2*k]
	distances := n.scratch[:k]
	for i := range n.latest {
		if distances[i] = expected; n.latest[i].round > 0 {
			distances[i] = squaredDistance(n.latest[i].model, own, math.Inf(1))
		}
	}
	most := furthest * max(expected, median(append(n.scratch[k:k], distances...)))
	fresh := min(usual, drawn)
	least := 4 * fresh * fresh * mathext.GammaIncRegInv(d/2, tooNear) // twice the noise's square times the quantile of chi-squared
	n.out = slices.Grow(n.out, k)[:k]
	for i := range n.latest {
		n.out[i] = distances[i] > most
		for j := range n.latest[:i] {
			if n.near(i, j, least) {
				n.out[i], n.out[j] = true, true
			}
		}
	}
}

// near reports whether two neighbours were heard and the square of their models' distance is
// below least.
func (n *neighbourhood) near(i, j int, least float64) bool {
	a, b := &n.latest[i], &n.latest[j]
	return a.round > 0 && b.round > 0 && squaredDistance(a.model, b.model, least) < least
}

// usualStd is the median of what those who were heard say of their noise; 0: nobody was.
func (n *neighbourhood) usualStd() float64 {
	n.scratch = n.scratch[:0]
	for i := range n.latest {
		if n.latest[i].round > 0 {
			n.scratch = append(n.scratch, n.latest[i].noiseStd)
		}
	}
	if len(n.scratch) == 0 {
		return 0
	}
	return median(n.scratch)
}

// squaredDistance is that of a and b, or something above enough if it is longer.
func squaredDistance(a, b []float64, enough float64) (sum float64) {
	for k := range a {
		sum += (a[k] - b[k]) * (a[k] - b[k])
		if sum > enough {
			break
		}
	}
	return sum
}
