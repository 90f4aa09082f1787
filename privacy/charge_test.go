package privacy

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"p2pnode/privacy/accountant"
)

// The lemma of charge, at sigmas so small that the difference of the two laws is
// large: for all |n| <= z t with z^2 <= 4t,
//
//	-1/24t^2 <= ln P[R=n]/P[D=n] <= (z^2+1)/24t^2.
func TestDiscreteIsCloseToRounded(t *testing.T) {
	for _, sigma := range []float64{2, 4, 8, 16, 32} {
		law := discreteGaussian(sigma)
		worst := 0.0
		for n := 0.0; n <= 2*sigma*math.Sqrt(sigma); n++ {
			// P[R=n] over the density at n, to the last digits.
			overDensity := quad.Fixed(func(u float64) float64 {
				return math.Exp(-(u*u + 2*n*u) / (2 * sigma * sigma))
			}, -0.5, 0.5, 40, nil, 0)
			density := math.Exp(-n*n/(2*sigma*sigma)) / (sigma * math.Sqrt(2*math.Pi))
			ratio := math.Log(overDensity) + math.Log(density/law[int64(n)])
			z := n / sigma
			kappa, floor := (z*z+1)/(24*sigma*sigma), -1/(24*sigma*sigma)
			if ratio > kappa+1e-13 || ratio < floor-1e-13 {
				t.Errorf("sigma %v, n %v: ln ratio %v is not in [%v, %v]", sigma, n, ratio, floor, kappa)
			}
			worst = max(worst, ratio/kappa)
		}
		if worst < 0.5 {
			t.Errorf("sigma %v: the bound is loose, %v of it is used", sigma, worst)
		}
	}
}

// discreteDelta is the delta at epsilon of one coordinate of noise with the given
// law, moved by shift, by its definition: sum of (P[n] - e^epsilon P[n-shift])+.
func discreteDelta(epsilon float64, law map[int64]float64, shift int64) float64 {
	delta := 0.0
	for n, p := range law {
		delta += max(0, p-math.Exp(epsilon)*law[n+shift])
	}
	return delta
}

// The smallest delta that the charge allows for a given sensitivity is kept by
// the discrete Gaussian, at sigmas where the charge is a few percent.
func TestChargeCoversDiscreteNoise(t *testing.T) {
	t.Parallel()
	exceeds := 0
	for _, sigma := range []float64{24, 32, 48, 64} {
		for _, shift := range []int64{3, 8, 20, 40} {
			mu := float64(shift) / sigma
			for _, epsilon := range []float64{0.05, 0.2, 0.5, 1, 2} {
				delta := leastNumber(0, 0.5, func(delta float64) bool {
					return charge(Budget{epsilon, delta}, 1, sigma, 1).Mu() >= mu
				})
				if delta < 1e-6 || delta > 0.49 {
					continue // z^2 <= 4 sigma no longer holds, or no budget allows it
				}
				got := discreteDelta(epsilon, discreteGaussian(sigma), shift)
				if got > delta {
					t.Errorf("sigma %v, shift %v: delta(%v) is %v, the charge allows %v", sigma, shift, epsilon, got, delta)
				}
				if got > accountant.GaussianDelta(epsilon, mu) {
					exceeds++
				}
			}
		}
	}
	if exceeds == 0 {
		t.Error("no case needs the charge, that is no test of it")
	}
}

// leastNumber bisects for the smallest number in (low, high] with the property, which
// all larger ones have.
func leastNumber(low, high float64, property func(float64) bool) float64 {
	for range 60 {
		if middle := low + (high-low)/2; property(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// What is charged is nothing to a person: at real sizes the budget moves by less
// than 1e-7.
func TestChargeIsSmall(t *testing.T) {
	for _, dim := range []int{1, 100, 1000} {
		b := Budget{1, 1e-6}
		got := charge(b, float64(dim)*MaxReleases, minSigma, 1)
		if got.Epsilon >= b.Epsilon || got.Epsilon < b.Epsilon-1e-10*float64(dim) {
			t.Errorf("dimension %d: epsilon becomes %.15f", dim, got.Epsilon)
		}
		if got.Delta >= b.Delta || got.Delta < b.Delta*(1-1e-10*float64(dim)) {
			t.Errorf("dimension %d: delta becomes %.15g", dim, got.Delta)
		}
	}
}

// The charge for one coordinate of one draw is the kappa of the proof, worked out here
// with numbers: z^2 = 2 (1 + ln 2e6 + 40) = 111.0173154, and t = 2^10.
func TestChargeIsThatOfTheProof(t *testing.T) {
	got := charge(Budget{1, 1e-6}, 1, 1<<10, 1)
	if want := 1 - 2*(111.0173154+1)/(24*(1<<20)); math.Abs(got.Epsilon-want) > 1e-12 {
		t.Errorf("epsilon becomes %.15f, want %.15f", got.Epsilon, want)
	}
}
