package privacy

import (
	"math"
	"testing"
)

// The lemma of charge, in 320-bit arithmetic at sigmas so small that the
// difference of the two laws is large: for all |n| <= z t with z^2 <= 4t,
//
//	-1/24t^2 <= ln P[R=n]/P[D=n] <= (z^2+1)/24t^2.
func TestDiscreteIsCloseToRounded(t *testing.T) {
	for _, sigma := range []float64{2, 4, 8, 16, 32} {
		law := discreteGaussian(sigma)
		worst := 0.0
		for n := 0.0; n <= 2*sigma*math.Sqrt(sigma); n++ {
			left, right := quo(exact(n-0.5), exact(sigma)), quo(exact(n+0.5), exact(sigma))
			rounded, _ := sub(exactTail(left), exactTail(right)).Float64()
			ratio := math.Log(rounded / law[int64(n)])
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

// discreteDelta is the delta at epsilon of one discrete Gaussian coordinate of
// sensitivity shift, by its definition: sum of (P[n] - e^epsilon P[n-shift])+.
func discreteDelta(epsilon, sigma float64, shift int64) float64 {
	delta, law := 0.0, discreteGaussian(sigma)
	for n, p := range law {
		delta += max(0, p-math.Exp(epsilon)*law[n+shift])
	}
	return delta
}

// The smallest delta that the charge allows for a given sensitivity is kept by
// the discrete Gaussian, at sigmas where the charge is a few percent.
func TestChargeCoversDiscreteNoise(t *testing.T) {
	exceeds := 0
	for _, sigma := range []float64{24, 32, 48, 64} {
		for _, shift := range []int64{3, 8, 20, 40} {
			mu := float64(shift) / sigma
			for _, epsilon := range []float64{0.05, 0.2, 0.5, 1, 2} {
				allowed := func(delta float64) bool {
					got, err := GaussianMu(charge(Budget{epsilon, delta}, 1, sigma))
					return err == nil && got >= mu
				}
				_, delta := bisect(0, 0.5, allowed)
				if delta < 1e-6 || delta > 0.49 {
					continue // z^2 <= 4 sigma no longer holds, or no budget allows it
				}
				got := discreteDelta(epsilon, sigma, shift)
				if got > delta {
					t.Errorf("sigma %v, shift %v: delta(%v) is %v, the charge allows %v", sigma, shift, epsilon, got, delta)
				}
				if got > GaussianDelta(epsilon, mu) {
					exceeds++
				}
			}
		}
	}
	if exceeds == 0 {
		t.Error("no case needs the charge, that is no test of it")
	}
}

// What is charged is nothing to a person: at real sizes the budget moves by less
// than 1e-7.
func TestChargeIsSmall(t *testing.T) {
	for _, dim := range []int{1, 100, 1000} {
		b := Budget{1, 1e-6}
		got := charge(b, float64(dim)*MaxReleases, minSigma)
		if got.Epsilon >= b.Epsilon || got.Epsilon < b.Epsilon-1e-10*float64(dim) {
			t.Errorf("dimension %d: epsilon becomes %.15f", dim, got.Epsilon)
		}
		if got.Delta >= b.Delta || got.Delta < b.Delta*(1-1e-10*float64(dim)) {
			t.Errorf("dimension %d: delta becomes %.15g", dim, got.Delta)
		}
	}
}
