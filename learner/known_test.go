package learner

import (
	"math/rand/v2"
	"testing"
)

// Whoever knows how much noise is in the population's mean follows it less, and errs less: over five
// seeds of 200 people each .94 to .97 times as much; the seed is fixed.
func TestNoisyMeanIsDoubted(t *testing.T) {
	const people, p, records, sd = 200, 6, 20, 1
	task := plainTask("squared", p)
	r := rand.New(rand.NewPCG(31, 1))
	var knowing, trusting float64
	for range people {
		truth := normals(r, p)
		mean, variance := make([]float64, p), make([]float64, p)
		for i := range mean {
			mean[i], variance[i] = truth[i]+sd*r.NormFloat64(), sd*sd
		}
		train, test := draw(r, task, truth, records, 0.2), draw(r, task, truth, 200, 0)
		for told, sum := range map[*Known]*float64{{mean: mean, variance: variance}: &knowing, {mean: mean}: &trusting} {
			*sum += task.Error(FitKnowing(task, train, make([]float64, p), told).Theta, test)
		}
	}
	if share := knowing / trusting; !(share < 0.99) {
		t.Errorf("who knows of the noise errs %.3f times as much as who does not", share)
	}
}
