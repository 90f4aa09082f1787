package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"p2pnode/privacy/accountant"
)

// tail is P[Bin(n, p) >= k], added up term by term.
func tail(k, n int, p float64) float64 {
	var sum float64
	for i := k; i <= n; i++ {
		sum += math.Exp(combin.LogGeneralizedBinomial(float64(n), float64(i)) +
			float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

func TestRatesAgainstBinomialTails(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 30000} {
		for _, share := range []float64{0.0001, 0.01, 0.3, 0.5, 0.99} {
			for _, alpha := range []float64{0.05 / 8, 1e-6 / 8} {
				hits := int(math.Ceil(share * float64(n)))
				p := lowerRate(hits, n, alpha)
				if got := tail(hits, n, p); math.Abs(got/alpha-1) > 1e-5 {
					t.Errorf("%d of %d: at the lower rate %v as many hits have probability %v, want %v", hits, n, p, got, alpha)
				}
				// A rate q is too high when so many misses are too rare.
				q := upperRate(n-hits, n, alpha)
				if got := tail(hits, n, 1-q); math.Abs(got/alpha-1) > 1e-5 {
					t.Errorf("%d of %d: at the upper rate %v as few hits have probability %v, want %v", n-hits, n, q, got, alpha)
				}
			}
		}
	}
	if lowerRate(0, 5, 0.01) != 0 || upperRate(5, 5, 0.01) != 1 {
		t.Error("no hit bounds the rate by 0, no miss by 1")
	}
}

// gaussianScores are the scores of a mu-GDP release.
func gaussianScores(random *rand.Rand, mu float64, n int) (one, zero []float64) {
	for range n {
		one = append(one, mu*random.NormFloat64()+mu*mu/2)
		zero = append(zero, mu*random.NormFloat64()-mu*mu/2)
	}
	return one, zero
}

// Each bound is wrong with probability at most 0.05, so more than 25 of 200 with
// probability below 2e-5.
func TestBoundIsRightAsOftenAsItSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, mu := range []float64{0.01, 0.5, 2} {
		const delta = 0.01
		truth := accountant.GaussianEpsilon(delta, mu)
		wrong := 0
		for range 200 {
			one, zero := gaussianScores(random, mu, 600)
			if lowerBound(one, zero, delta, 0.05) > truth {
				wrong++
			}
		}
		if wrong > 25 {
			t.Errorf("mu %v: %d of 200 bounds are above the true epsilon %v", mu, wrong, truth)
		}
	}
}

func TestBoundOfSimpleScores(t *testing.T) {
	const n = 2000
	low, high := make([]float64, n), make([]float64, n)
	for i := range n {
		low[i], high[i] = -1, 1
	}
	infinite := make([]float64, n)
	for i := range n {
		infinite[i] = math.Inf(1)
	}
	// Two halves of 1000 that no score has in common: both rates are off by
	// ln(4/alpha)/1000 at most, alpha being shared by two directions and two rates.
	off := math.Log(4/0.05) / 1000
	apart := math.Log((1 - off) / off)
	for _, c := range []struct {
		name      string
		one, zero []float64
		delta     float64
		from, to  float64
	}{
		{"the same", low, low, 0, 0, 0},
		{"apart", high, low, 0, apart - 0.01, apart + 0.01},
		{"apart beyond all numbers", infinite, low, 0, apart - 0.01, apart + 0.01},
		{"apart the wrong way round", low, high, 0, 0, 0},
		{"delta allows half", high, low, 0.5, math.Log((0.5-off)/off) - 0.01, math.Log((0.5-off)/off) + 0.01},
		{"delta allows everything", high, low, 1, 0, 0},
	} {
		if got := lowerBound(c.one, c.zero, c.delta, 0.05); !(got >= c.from && got <= c.to) {
			t.Errorf("%s: %v, want %v to %v", c.name, got, c.from, c.to)
		}
	}
}

// A record that shows in world 0 only is found by the other direction.
func TestBoundLooksBothWays(t *testing.T) {
	const n = 4000
	one, zero := make([]float64, n), make([]float64, n)
	for i := range n / 10 {
		zero[10*i] = -5
	}
	// High scores: 1 against 0.9.
	if e := oneSided(one, zero, 0.01, 0.05); e > math.Log(1/0.9) {
		t.Errorf("high scores show epsilon %v, want at most ln(1/0.9)", e)
	}
	// 0.1 against 0: about ln(0.08 / 0.002).
	if e := lowerBound(one, zero, 0.01, 0.05); e < 3 {
		t.Errorf("epsilon %v, want over 3", e)
	}
}
