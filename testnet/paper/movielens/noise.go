package movielens

import (
	"fmt"

	"p2pnode/privacy/accountant"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// noiseUpdates is the number of updates for which the table of noise is computed.
const noiseUpdates = 20

// noise shows how much noise the reading of summed losses adds, and how much it would
// have to add.
func (e *experiment) noise() page.Section {
	t := page.Table{
		Caption: fmt.Sprintf("Losses summed: Laplace noise of each of %d updates, in units of the clip, on the sum of the gradients, at delta = exp(-5)", noiseUpdates),
		Head:    []string{"training ratings", "claimed eps", "noise it adds", "true eps", "if clipped in l1", "noise it would take", "times more"},
	}
	var summed reading
	summed.sum = true
	for _, m := range trainingSizes(e.data, &e.splits[0]) {
		for _, eps := range epsilons {
			step := accountant.KairouzShare(eps, paperDelta, noiseUpdates)
			added := 2 / (step * float64(m))
			factor := summed.sensitivity(m, 0)
			l2, err := trueEpsilon(factor*step, noiseUpdates)
			l1, err2 := trueEpsilon(float64(m)*step, noiseUpdates)
			if err != nil || err2 != nil {
				continue // more than can be composed
			}
			t.Rows = append(t.Rows, page.Line{Cells: []string{
				fmt.Sprint(m), fmt.Sprintf("%g", eps), paper.Short(added), paper.Short(l2), paper.Short(l1),
				paper.Short(factor * added), fmt.Sprintf("%.0f", factor),
			}})
		}
	}
	return page.Section{
		Title: "What the noise would have to be",
		Text: []string{"For the persons with the fewest, the median and the most training ratings. " +
			"Noise of scale 2 C/(eps m) suits the mean of m gradients clipped to C in l1. On their sum it is m times too small, and clipped in l2 another sqrt(20) times."},
		Tables: []page.Table{t},
	}
}
