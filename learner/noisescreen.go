package learner

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// The noise of honest releases hides lies, but the length of that noise is public.
// Xiang, Wang, Lin, Wang, "Practical differentially private and Byzantine-resilient
// federated learning", 2023, accept a release only if its length is one that noise
// makes. Here the same is asked of distances, which do not change if all models move
// together. A model must not be further from the agent's own than noise explains. Two
// neighbours' models must not be closer to each other than noise explains, because
// liars who agree send nearly the same model (Fung, Yoon, Beschastnikh, "The
// limitations of federated learning in Sybil settings", 2020).

const (
	// furthest is the largest accepted square of a distance, in units of the usual one.
	// With 20 weights, noise alone puts one honest model in fifteen beyond it.
	furthest = 1.5
	// tooNear is the probability that the noise of two honest models brings them so
	// near to each other that both are left out.
	tooNear = 1e-5
)

// screen marks the neighbours whose models honest noise does not explain: those too far
// from own, and those too near to another. ownStd is the standard deviation of the
// noise in own. At least half of all neighbours pass the test of distance: where people
// differ by more than the noise, the distance shows nothing. A neighbour that was not
// heard counts as being at the usual distance, or the first to speak would decide what
// is far. drawn is the noise that the agent itself drew for own: whatever noise others
// claim, the test of nearness assumes no more than this.
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
	// Twice the noise's variance times the quantile of chi-squared, which is twice this one.
	least := 4 * fresh * fresh * mathext.GammaIncRegInv(d/2, tooNear)
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

// near reports whether two neighbours were heard and the square of the distance of
// their models is below least.
func (n *neighbourhood) near(i, j int, least float64) bool {
	a, b := &n.latest[i], &n.latest[j]
	return a.round > 0 && b.round > 0 && squaredDistance(a.model, b.model, least) < least
}

// usualStd is the median of the noise that the heard neighbours claim; 0: none was
// heard.
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
