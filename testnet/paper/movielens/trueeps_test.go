package movielens

import (
	"math"
	"testing"

	"p2pnode/privacy/accountant"
)

func TestPerUpdateSpendsTheBudget(t *testing.T) {
	for _, updates := range []int{1, 5, 50} {
		for _, eps := range epsilons {
			steps := make([]float64, updates)
			for i := range steps {
				steps[i] = accountant.KairouzShare(eps, paperDelta, updates)
			}
			spent := accountant.Kairouz(steps, paperDelta).Min()
			if spent > eps || spent < eps*(1-1e-9) {
				t.Errorf("%d updates spend %v of %v", updates, spent, eps)
			}
		}
	}
	if e := accountant.KairouzShare(0, paperDelta, 5); e != 0 {
		t.Errorf("without a budget an update has %v", e)
	}
}

// One release of Laplace noise has delta(eps) = 1 - e^((eps-a)/2).
func TestTrueEpsilonOfOneRelease(t *testing.T) {
	for _, a := range []float64{0.5, 3, 20, 100} {
		got, err := trueEpsilon(a, 1)
		want := a + 2*math.Log1p(-paperDelta)
		if err != nil || math.Abs(got-want) > 1e-4*want {
			t.Errorf("a = %g: %v, want %v (%v)", a, got, want, err)
		}
	}
}

// The reading of summed losses promises what it does not keep; the one of means keeps
// it but for the centring.
func TestSensitivity(t *testing.T) {
	summed, averaged := reading{sum: true}, reading{}
	if s := summed.sensitivity(16, 7); s != 16*math.Sqrt(rank) {
		t.Errorf("summed: %v", s)
	}
	if s := averaged.sensitivity(16, 5); s != 3 {
		t.Errorf("averaged: %v", s)
	}
}
