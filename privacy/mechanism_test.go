package privacy

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// laws are the mechanisms with noise. The truncated ones keep it within four
// scales.
var laws = []struct {
	noise Noise
	make  func(clip, scale float64) (Mechanism, error)
}{
	{Gaussian, NewGaussian},
	{Laplace, NewLaplace},
	{TruncatedGaussian, func(clip, scale float64) (Mechanism, error) { return NewTruncatedGaussian(clip, scale, 4*scale) }},
	{TruncatedLaplace, func(clip, scale float64) (Mechanism, error) { return NewTruncatedLaplace(clip, scale, 4*scale) }},
}

// must returns m, which is made without an error.
func must(t testing.TB) func(Mechanism, error) Mechanism {
	return func(m Mechanism, err error) Mechanism {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func mustGaussian(t testing.TB, clip, sigma float64) Mechanism {
	t.Helper()
	return must(t)(NewGaussian(clip, sigma))
}

// randomMechanism has any law, a ratio of scale to clip from 2^-11 to 2^28, any
// size.
func randomMechanism(t testing.TB, rng *rand.Rand) (m Mechanism, clip, scale float64) {
	t.Helper()
	clip = math.Exp(rng.Float64()*300 - 150)
	scale = clip * math.Exp2(rng.Float64()*39-11)
	return must(t)(laws[rng.IntN(len(laws))].make(clip, scale)), clip, scale
}

// All rounding is towards more privacy: less clip, more noise, a wider bound.
func TestRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		m, clip, scale := randomMechanism(t, rng)
		if m.sigma < 1<<29 || m.sigma > 1<<30 || m.clip < 1 || m.clip > maxClip {
			t.Fatalf("clip %v scale %v: %+v is off the grid's range", clip, scale, m)
		}
		unit := math.Ldexp(1, m.grid)
		if m.Clip() > clip || m.Clip() <= clip-unit {
			t.Errorf("clip %v became %v, grid %v", clip, m.Clip(), unit)
		}
		if m.Scale() < scale || m.Scale() >= scale+unit {
			t.Errorf("scale %v became %v, grid %v", scale, m.Scale(), unit)
		}
		truncated := m.noise == TruncatedGaussian || m.noise == TruncatedLaplace
		if truncated && (m.Bound() < 4*scale || m.Bound() >= 4*scale+unit) || !truncated && m.Bound() != 0 {
			t.Errorf("the bound of %+v at scale %v is %v", m, scale, m.Bound())
		}
		if !m.Protected() || m.sensitivity() != 2*m.clip {
			t.Errorf("%+v is not protected or has sensitivity %d", m, m.sensitivity())
		}
	}
}

// Mu is the true value rounded up by a hair, for the Gaussian alone.
func TestMu(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 10))
	for range 5000 {
		m, _, _ := randomMechanism(t, rng)
		if m.noise != Gaussian {
			if !math.IsInf(m.Mu(), 1) {
				t.Errorf("%+v has mu %v", m, m.Mu())
			}
			continue
		}
		exact := big.NewRat(2*m.clip, m.sigma)
		want, _ := exact.Float64()
		if new(big.Rat).SetFloat64(m.Mu()).Cmp(exact) < 0 || m.Mu() > want*(1+1e-15) {
			t.Errorf("%+v: mu is %v, want just over %v", m, m.Mu(), want)
		}
		if batch := must(t)(m.Subsampled(1, 2)); !math.IsInf(batch.Mu(), 1) {
			t.Errorf("%+v has mu %v", batch, batch.Mu())
		}
		bounded := must(t)(m.Bounded(m.Clip(), 9))
		if got, want := bounded.Mu(), float64(m.clip+3)/float64(m.sigma); got < want || got > want*(1+1e-15) {
			t.Errorf("%+v has mu %v, want just over %v", bounded, got, want)
		}
	}
}

func TestUnprotected(t *testing.T) {
	for _, clip := range []float64{50, 1, 0.3, 1e-9, 1e100, smallest, largest} {
		m := must(t)(NewUnprotected(clip))
		if m.Protected() || m.Scale() != 0 || m.NoiseStd() != 0 || m.Noise() != Unprotected || !math.IsInf(m.Mu(), 1) {
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
	for _, law := range laws {
		for _, v := range bad {
			if _, err := law.make(v, 1); err == nil {
				t.Errorf("%s: clip %v is accepted", law.noise, v)
			}
			if _, err := law.make(1, v); err == nil {
				t.Errorf("%s: scale %v is accepted", law.noise, v)
			}
		}
		for _, c := range []struct {
			clip, scale float64
			ok          bool
		}{
			{1, 0x1p29, true}, {1, 0x1p30, false}, {0x1p12, 1, true}, {0x1p14, 1, false},
			{smallest, smallest, true}, {largest, largest, true}, {largest, smallest, false}, {smallest, largest, false},
		} {
			m, err := law.make(c.clip, c.scale)
			if (err == nil) != c.ok || err != nil && m != (Mechanism{}) {
				t.Errorf("%s: clip %v, scale %v: error %v", law.noise, c.clip, c.scale, err)
			}
		}
	}
	for _, v := range bad {
		if _, err := NewUnprotected(v); err == nil {
			t.Errorf("unprotected clip %v is accepted", v)
		}
	}
}

// The standard deviation that receivers weigh by is that of the noise drawn.
func TestNoiseStd(t *testing.T) {
	t.Parallel()
	for _, law := range laws {
		m := must(t)(law.make(1, 3))
		if m.Noise() != law.noise {
			t.Errorf("the noise of %s is called %s", law.noise, m.Noise())
		}
		s, squares := seeded(7), 0.0
		const trials = 200_000
		for range trials {
			z := math.Ldexp(float64(m.draw(s)), m.grid) / m.NoiseStd()
			squares += z * z / trials
		}
		// The variance of z^2 is at most that of the Laplace law, 5: so the seed
		// fails a correct sampler with probability under 1e-6.
		if math.Abs(squares-1) > standardErrors*math.Sqrt(5./trials) {
			t.Errorf("%s: the variance is %v of what NoiseStd says", law.noise, squares)
		}
	}
}

// A mechanism that nobody has made releases nothing.
func TestZeroMechanism(t *testing.T) {
	var m Mechanism
	if m.Protected() || m.NoiseStd() != 0 || !math.IsInf(m.Mu(), 1) {
		t.Error("the zero mechanism looks protected")
	}
	s := m.NewSum(1, 2)
	s.Add([]float64{3, 4})
	if a := NewSeededNoise(1).Answer(m, []Sum{s}); a.Sum[0] != 0 || a.Sum[1] != 0 {
		t.Errorf("the zero mechanism lets %v through", a.Sum)
	}
	if _, err := m.Subsampled(1, 2); err == nil {
		t.Error("the zero mechanism is subsampled")
	}
	if _, err := m.Bounded(1, 2); err == nil {
		t.Error("the zero mechanism is bounded, and would let a vector through")
	}
}
