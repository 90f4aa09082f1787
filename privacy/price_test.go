package privacy

import (
	"math"
	"testing"

	"p2pnode/privacy/accountant"
)

// discreteLaplace is the law of the discrete Laplace noise of scale t, within
// [-reach, reach] and conditioned on that.
func discreteLaplace(t float64, reach int64) map[int64]float64 {
	law, total := map[int64]float64{}, 0.0
	for n := -reach; n <= reach; n++ {
		law[n] = math.Exp(-math.Abs(float64(n)) / t)
		total += law[n]
	}
	for n := range law {
		law[n] /= total
	}
	return law
}

// The claims of laplaceShift for one coordinate, by the definition of the profile: at scales
// so small that one grid unit is a lot, the continuous law with shift s+1 covers the
// discrete one with shift s. With shift s it does not.
func TestLaplaceDiscreteness(t *testing.T) {
	needed := 0
	for _, scale := range []float64{1, 2.5, 4, 10} {
		law := discreteLaplace(scale, 800) // the rest is below e^-80
		for _, shift := range []int64{1, 2, 5, 13} {
			for epsilon := -3.0; epsilon <= 6; epsilon += 0.125 {
				got := discreteDelta(epsilon, law, shift)
				if most := accountant.Laplace(float64(shift+1) / scale).Delta(epsilon); got > most+1e-14 {
					t.Errorf("scale %v, shift %d: delta(%v) is %v, the price allows %v", scale, shift, epsilon, got, most)
				}
				if got > accountant.Laplace(float64(shift)/scale).Delta(epsilon)+1e-14 {
					needed++
				}
			}
		}
	}
	if needed == 0 {
		t.Error("no case needs the unit for discreteness, that is no test of it")
	}
}

func TestTruncatedLaplaceDiscreteness(t *testing.T) {
	for _, scale := range []float64{1, 2.5, 4, 10} {
		for _, bound := range []int64{7, 15, 40} {
			law := discreteLaplace(scale, bound)
			for _, shift := range []int64{1, 2, 5} {
				step := accountant.TruncatedLaplace(float64(shift+1)/scale, float64(bound)/scale)
				for epsilon := -3.0; epsilon <= 8; epsilon += 0.125 {
					got := discreteDelta(epsilon, law, shift)
					if most := step.Delta(epsilon); got > most+1e-14 {
						t.Errorf("scale %v, bound %d, shift %d: delta(%v) is %v, the price allows %v", scale, bound, shift, epsilon, got, most)
					}
				}
			}
		}
	}
}

// Two coordinates, by the definition on the product law: (s_1 + 2)/t covers every
// way to split the shift, truncated to what hides it or to next to nothing.
func TestLaplaceDiscretenessOfVectors(t *testing.T) {
	const scale = 2.0
	for _, bound := range []int64{8, 12, 60} {
		law := discreteLaplace(scale, bound)
		for _, shift := range [][2]int64{{1, 1}, {2, 1}, {4, 0}, {3, 3}} {
			step := accountant.TruncatedLaplace(float64(shift[0]+shift[1]+2)/scale, float64(bound)/scale)
			for epsilon := -1.0; epsilon <= 4; epsilon += 0.5 {
				got := 0.0
				for n, p := range law {
					for k, q := range law {
						got += max(0, p*q-math.Exp(epsilon)*law[n+shift[0]]*law[k+shift[1]])
					}
				}
				if most := step.Delta(epsilon); got > most+1e-12 {
					t.Errorf("bound %d, shift %v: delta(%v) is %v, the price allows %v", bound, shift, epsilon, got, most)
				}
			}
		}
	}
}

// However a shift is split over coordinates of truncated noise, one coordinate that
// takes it all is worse: the compositions, though pessimistic, are below it.
func TestTruncatedVectors(t *testing.T) {
	t.Parallel()
	for _, bound := range []float64{1, 3, 8} {
		for _, shift := range []float64{0.3 * bound, 0.99 * bound} {
			one := accountant.TruncatedLaplace(shift, bound)
			for _, first := range []float64{1. / 3, 0.5, 0.9} { // the rest in two
				loss, err := accountant.Compose(1e-6,
					accountant.Group{Step: accountant.TruncatedLaplace(first*shift, bound), Count: 1},
					accountant.Group{Step: accountant.TruncatedLaplace((1-first)*shift/2, bound), Count: 2})
				if err != nil {
					t.Fatal(err)
				}
				for k := range 60 {
					epsilon := shift * float64(k-30) / 25
					if got, most := loss.Delta(epsilon), one.Delta(epsilon); got > most {
						t.Errorf("bound %v, shift %v, %v of it first: delta(%v) is %v, in one coordinate %v", bound, shift, first, epsilon, got, most)
					}
				}
			}
		}
	}
}

// The Renyi divergence of the discrete Gaussian is at most that of the continuous
// one, and that of the discrete Laplace at most that at the price's shift.
func TestRenyiPricesCoverDiscreteNoise(t *testing.T) {
	divergence := func(law map[int64]float64, order float64, shift int64) float64 {
		sum := 0.0
		for n, p := range law {
			if q := law[n+shift]; q > 0 {
				sum += math.Exp(order*math.Log(p) - (order-1)*math.Log(q))
			}
		}
		return math.Log(sum) / (order - 1)
	}
	for _, scale := range []float64{1, 3, 8} {
		gaussian, laplace := discreteGaussian(scale), discreteLaplace(scale, 300)
		for _, shift := range []int64{1, 2, 5} {
			for _, order := range []float64{1.01, 1.5, 2, 4} {
				s := float64(shift) / scale
				if got, most := divergence(gaussian, order, shift), order*s*s/2; got > most*(1+1e-9) {
					t.Errorf("Gaussian, scale %v, shift %d, order %v: %v, the price is %v", scale, shift, order, got, most)
				}
				a := float64(shift+1) / scale
				if got, most := divergence(laplace, order, shift), accountant.LaplaceRenyi(order, a); got > most*(1+1e-9) {
					t.Errorf("Laplace, scale %v, shift %d, order %v: %v, the price is %v", scale, shift, order, got, most)
				}
			}
		}
	}
}

// Which accounting has a price for what, and that it is the one of the mathematics.
func TestPrices(t *testing.T) {
	const dim, order = 10, 8.0
	gaussian, laplace := must(t)(NewGaussian(1, 100)), must(t)(NewLaplace(1, 100))
	bounded := must(t)(gaussian.Bounded(3, dim))
	wide := must(t)(gaussian.Bounded(3, dim+1))
	sampled := must(t)(gaussian.Subsampled(3, 10))
	unprotected := must(t)(NewUnprotected(1))
	shift := float64(laplace.sensitivity()+dim) / float64(laplace.sigma)
	for _, c := range []struct {
		accounting Accounting
		m          Mechanism
		want       float64 // 0: none
	}{
		{GaussianFilter, gaussian, 4e-4}, {GaussianFilter, bounded, 9e-4}, {GaussianFilter, laplace, 0},
		{PureFilter, gaussian, 0}, {PureFilter, laplace, shift},
		{RenyiFilter, gaussian, order * 2e-4}, {RenyiFilter, bounded, order * 4.5e-4},
		{RenyiFilter, laplace, accountant.LaplaceRenyi(order, shift)},
	} {
		terms := Terms{Budget: Budget{1, 1e-6}, Dimension: dim, Accounting: c.accounting}
		if c.accounting == RenyiFilter {
			terms.Order = order
		}
		got, ok := terms.price(c.m)
		if ok != (c.want > 0) || ok && math.Abs(got/c.want-1) > 1e-6 {
			t.Errorf("%s: %+v costs %v (%v), want %v", c.accounting, c.m, got, ok, c.want)
		}
		if c.accounting == RenyiFilter && c.m == laplace && !(got > c.want) {
			t.Errorf("the price of Laplace noise, %v, leaves nothing for rounding errors", got)
		}
		if (terms.priced(c.m) == nil) != ok {
			t.Errorf("%s: %+v: error %v", c.accounting, c.m, terms.priced(c.m))
		}
		for _, m := range []Mechanism{{}, unprotected, sampled, wide, must(t)(NewTruncatedGaussian(1, 100, 500)), must(t)(NewTruncatedLaplace(1, 100, 500))} {
			if cost, ok := terms.price(m); ok || terms.priced(m) == nil {
				t.Errorf("%s: %+v costs %v", c.accounting, m, cost)
			}
		}
	}
}
