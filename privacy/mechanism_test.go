package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// rational is the exact value of a finite float64.
func rational(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// price is (2 clip/sigma)^2 of a mechanism in exact arithmetic.
func price(m Mechanism) *big.Rat {
	mu := big.NewRat(2*m.clip, m.sigma)
	return new(big.Rat).Mul(mu, mu)
}

func mustGaussian(t testing.TB, clip, sigma float64) Mechanism {
	t.Helper()
	m, err := NewGaussian(clip, sigma)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// randomMechanism has a ratio of sigma to clip from 2^-11 to 2^28, any size.
func randomMechanism(t testing.TB, rng *rand.Rand) (m Mechanism, clip, sigma float64) {
	t.Helper()
	clip = math.Exp(rng.Float64()*300 - 150)
	sigma = clip * math.Exp2(rng.Float64()*39-11)
	return mustGaussian(t, clip, sigma), clip, sigma
}

// All rounding is towards more privacy: less clip, more noise, a higher price.
func TestGaussianRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		m, clip, sigma := randomMechanism(t, rng)
		if m.sigma < 1<<29 || m.sigma > 1<<30 || m.clip < 1 || m.clip > maxClip {
			t.Fatalf("clip %v sigma %v: %+v is off the grid's range", clip, sigma, m)
		}
		unit := math.Ldexp(1, m.grid)
		if m.Clip() > clip || m.Clip() <= clip-unit {
			t.Errorf("clip %v became %v, grid %v", clip, m.Clip(), unit)
		}
		if m.Sigma() < sigma || m.Sigma() >= sigma+unit {
			t.Errorf("sigma %v became %v, grid %v", sigma, m.Sigma(), unit)
		}
		if !m.Protected() {
			t.Errorf("%+v is not protected", m)
		}
		exactMu := big.NewRat(2*m.clip, m.sigma)
		if mu := rational(m.Mu()); mu.Cmp(exactMu) < 0 {
			t.Errorf("%+v: mu %v is less than the true one", m, m.Mu())
		}
		if squared := rational(m.muSquared()); squared.Cmp(price(m)) < 0 {
			t.Errorf("%+v: mu^2 %v is less than the true one", m, m.muSquared())
		}
		if want, _ := price(m).Float64(); m.muSquared() > want*(1+1e-15) {
			t.Errorf("%+v: mu^2 %v is more than rounding over %v", m, m.muSquared(), want)
		}
	}
}

func TestUnprotected(t *testing.T) {
	for _, clip := range []float64{50, 1, 0.3, 1e-9, 1e100, smallest, largest} {
		m, err := NewUnprotected(clip)
		if err != nil {
			t.Fatal(err)
		}
		if m.Protected() || m.Sigma() != 0 || !math.IsInf(m.Mu(), 1) || !math.IsInf(m.muSquared(), 1) {
			t.Errorf("clip %v: %+v looks protected", clip, m)
		}
		if m.Clip() > clip || m.Clip() < clip*(1-0x1p-41) || m.clip > maxClip {
			t.Errorf("clip %v became %v", clip, m.Clip())
		}
	}
	if m, _ := NewUnprotected(50); m.grid != -36 {
		t.Errorf("the grid of clip 50 is 2^%d, want 2^-36", m.grid)
	}
}

func TestMechanismErrors(t *testing.T) {
	bad := []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, math.MaxFloat64}
	for _, v := range bad {
		if _, err := NewGaussian(v, 1); err == nil {
			t.Errorf("clip %v is accepted", v)
		}
		if _, err := NewGaussian(1, v); err == nil {
			t.Errorf("sigma %v is accepted", v)
		}
		if _, err := NewUnprotected(v); err == nil {
			t.Errorf("unprotected clip %v is accepted", v)
		}
	}
	for _, c := range []struct {
		clip, sigma float64
		ok          bool
	}{
		{1, 0x1p29, true}, {1, 0x1p30, false}, {0x1p12, 1, true}, {0x1p14, 1, false},
		{smallest, smallest, true}, {largest, largest, true}, {largest, smallest, false}, {smallest, largest, false},
	} {
		if _, err := NewGaussian(c.clip, c.sigma); (err == nil) != c.ok {
			t.Errorf("clip %v, sigma %v: error %v", c.clip, c.sigma, err)
		}
	}
}

// Whoever forgets to make a mechanism releases nothing.
func TestZeroMechanism(t *testing.T) {
	var m Mechanism
	if m.Protected() || !math.IsInf(m.Mu(), 1) {
		t.Error("the zero mechanism looks protected")
	}
	s := m.NewSum(1, 2)
	s.Add([]float64{3, 4})
	if a := NewSeededNoise(1).Answer(m, []Sum{s}); a.Sum[0] != 0 || a.Sum[1] != 0 {
		t.Errorf("the zero mechanism lets %v through", a.Sum)
	}
}
