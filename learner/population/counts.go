package population

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// counts estimates true counts from noisy ones. The prior is over a grid of counts and
// is learned from all noisy counts by expectation-maximisation (Dempster, Laird, Rubin
// 1977); the posterior mean of one count then follows from Bayes' rule.
type counts struct {
	sd    float64 // of the noise in a count; 0: no noise
	grid  []float64
	prior []float64
}

// Constants of the grid and of the steps toward the prior.
const (
	exactCounts  = 20   // 0, 1, ..., 19 are points of the grid
	spacedCounts = 90   // number of larger points, geometrically spaced
	fewPeople    = 3000 // the last point, in networks with up to this many people
	priorSteps   = 20
	// mostSquares and leastLikelihood keep a count that is far from every point from
	// becoming impossible.
	mostSquares     = 1400
	leastLikelihood = 1e-300
	mostKept        = 1 << 21 // likelihoods, 16 MiB
)

// newCounts learns the prior; people is the number of contributors.
func newCounts(noisy []float64, sd float64, people int) *counts {
	c := &counts{sd: sd}
	if sd == 0 {
		return c
	}
	c.grid = countGrid(float64(max(fewPeople, people)))
	c.learn(noisy, priorSteps)
	return c
}

// countGrid returns the points of the grid, without duplicates from rounding.
func countGrid(last float64) []float64 {
	var grid []float64
	for k := range exactCounts {
		grid = append(grid, float64(k))
	}
	for k := range spacedCounts {
		point := math.Round(exactCounts * math.Pow(last/exactCounts, float64(k)/(spacedCounts-1)))
		if point > grid[len(grid)-1] {
			grid = append(grid, point)
		}
	}
	return grid
}

// learn takes steps toward the prior. The likelihoods of the first noisy counts are kept from step
// to step; those of all counts would take a gigabyte for a million keys.
func (c *counts) learn(noisy []float64, steps int) {
	k := len(c.grid)
	kept := make([]float64, min(len(noisy), mostKept/k)*k)
	for at := 0; at < len(kept); at += k {
		c.likelihood(kept[at:at+k], noisy[at/k])
	}
	again := make([]float64, k)
	c.prior = make([]float64, k)
	floats.AddConst(1/float64(k), c.prior)
	next := make([]float64, k)
	for range steps {
		clear(next)
		for i, x := range noisy {
			l := again
			if at := i * k; at < len(kept) {
				l = kept[at : at+k]
			} else {
				c.likelihood(l, x)
			}
			floats.AddScaled(next, 1/floats.Dot(l, c.prior), l)
		}
		floats.Mul(next, c.prior)
		floats.ScaleTo(c.prior, 1/float64(len(noisy)), next)
	}
}

func (c *counts) likelihood(dst []float64, noisy float64) {
	noisy = min(noisy, c.grid[len(c.grid)-1])
	far := math.Exp(-mostSquares/2) + leastLikelihood
	for i, point := range c.grid {
		off := (noisy - point) / c.sd
		if dst[i] = far; !(off*off >= mostSquares) {
			dst[i] = math.Exp(-off*off/2) + leastLikelihood
		}
	}
}

// of returns the posterior mean of a count and of its square.
func (c *counts) of(noisy float64) (mean, square float64) {
	if c.sd == 0 {
		mean = max(noisy, 0)
		return mean, mean * mean
	}
	p := make([]float64, len(c.grid))
	c.likelihood(p, noisy)
	floats.Mul(p, c.prior)
	total := floats.Sum(p)
	for i, point := range c.grid {
		mean += p[i] / total * point
		square += p[i] / total * point * point
	}
	return mean, square
}
