package privacy

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Chi-square against the exact probabilities: proportional to e^{-|n|/scale}.
func TestLaplaceLaw(t *testing.T) {
	t.Parallel()
	for _, scale := range []uint64{1, 2, 3, 10} {
		t.Run(fmt.Sprint(scale), func(t *testing.T) {
			s, counts := seeded(scale), map[int64]int{}
			const trials = 300_000
			for range trials {
				counts[s.laplace(scale)]++
			}
			checkCounts(t, counts, trials, normalised(int64(60*scale), func(n float64) float64 {
				return math.Exp(-math.Abs(n) / float64(scale))
			}))
		})
	}
}

func TestLaplaceAtLargeScale(t *testing.T) {
	t.Parallel()
	// The k-th moment of the Laplace law is k! for even k, else 0.
	moment := func(k int) float64 { return []float64{1, 0, 2, 0, 24, 0, 720}[k] }
	checkLargeScale(t, sampler.laplace, distuv.Laplace{Mu: 0, Scale: 1}.CDF, moment)
}

// The discrete law has the distribution function that its price is derived from:
// P[N <= k] = 1 - q^{k+1}/(1+q) with q = e^{-1/scale}, k >= -1.
func TestLaplaceDistribution(t *testing.T) {
	for _, scale := range []float64{1, 2, 7} {
		law := normalised(int64(60*scale), func(n float64) float64 { return math.Exp(-math.Abs(n) / scale) })
		q, sum := math.Exp(-1/scale), 0.0
		for k := int64(-60 * scale); k <= int64(20*scale); k++ {
			sum += law[k]
			if want := 1 - math.Pow(q, float64(k+1))/(1+q); k >= -1 && math.Abs(sum-want) > 1e-12 {
				t.Errorf("scale %v: P[N <= %d] is %v, want %v", scale, k, sum, want)
			}
		}
	}
}
