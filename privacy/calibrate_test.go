package privacy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// gaussianFor returns the Gaussian mechanism with the least noise that lets a cohort take
// part in releases releases of at most dim coordinates within b, each record clipped to
// the l2 norm clip: sigma = 2 clip sqrt(releases)/mu_B (Balle and Wang 2018), to nine
// digits.
func gaussianFor(b Budget, clip float64, releases, dim int) (Mechanism, error) {
	p, err := Design{Budget: b, Dimension: dim, Clip: clip, Releases: releases}.Policy()
	m, _ := p.Next(0)
	return m, err
}

func mustCalibrate(t testing.TB, b Budget, clip float64, releases, dim int) Mechanism {
	t.Helper()
	m, err := gaussianFor(b, clip, releases, dim)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// gaussianFor(b, clip, T, dim) is admitted exactly T times: each T up to 100, every
// nineteenth up to 2000, another budget each time.
func TestCalibrateIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for releases := 1; releases <= 2000; releases++ {
		if releases > 100 && releases%19 != 0 {
			continue
		}
		b, dim, clip := randomBudget(rng), 1+rng.IntN(1000), math.Exp(rng.Float64()*100-50)
		m := mustCalibrate(t, b, clip, releases, dim)
		a := mustAccount(t, b, dim)
		n := 0
		for spend(t, a, m, 7) {
			n++
		}
		if n != releases || !a.Exhausted(7, m) {
			t.Fatalf("%+v: %d releases admitted, calibrated for %d", b, n, releases)
		}
		if s := a.Spent(7); s > 1 || s < 1-1e-7 {
			t.Errorf("%+v: %v of the budget is spent at the end", b, s)
		}
	}
}

// The noise is the least: two units less and the last release is refused. It is
// also what the formula says, up to the grid and the charge.
func TestCalibrateIsLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		b, releases := randomBudget(rng), 1+rng.IntN(1000)
		clip := math.Exp(rng.Float64()*10 - 5)
		m := mustCalibrate(t, b, clip, releases, 50)
		less := m
		less.sigma -= 2
		a := mustAccount(t, b, 50)
		for spend(t, a, less, 1) {
		}
		if a.Releases(1) >= releases {
			t.Errorf("%+v, %d releases: less noise is enough", b, releases)
		}
		if m.sigma < minSigma || m.sigma > 1<<30 || m.Clip() > clip {
			t.Errorf("%+v: %+v is off its range", b, m)
		}
		// The charge is about 1e-9 for 50 coordinates; over epsilon it is relative.
		want := 2 * m.Clip() * math.Sqrt(float64(releases)) / b.Mu()
		if ratio := m.Scale() / want; ratio < 1-1e-12 || ratio > 1+1e-8+1e-8/b.Epsilon {
			t.Errorf("%+v: sigma is %.12f of the formula", b, ratio)
		}
	}
}

// Where sigma is so large that the clip is a few units, the clip shrinks in steps.
// The releases that were asked for are admitted.
func TestCalibrateOnACoarseGrid(t *testing.T) {
	b := Budget{1e-6, 1e-9}
	for _, releases := range []int{1, 3, 10, 17, 100, 999} {
		for _, clip := range []float64{1, 1.3, 1.999} {
			m := mustCalibrate(t, b, clip, releases, 1)
			a := mustAccount(t, b, 1)
			n := 0
			for spend(t, a, m, 1) {
				n++
			}
			if n < releases || n > 5*releases {
				t.Errorf("clip %d units: %d releases admitted, calibrated for %d", m.clip, n, releases)
			}
		}
	}
}

func TestCalibrateErrors(t *testing.T) {
	good := Budget{1, 1e-6}
	for _, c := range []struct {
		b             Budget
		clip          float64
		releases, dim int
	}{
		{Budget{}, 1, 1, 1}, {good, 0, 1, 1}, {good, math.NaN(), 1, 1}, {good, 1, 0, 1}, {good, 1, -1, 1},
		{good, 1, MaxReleases + 1, 1}, {good, 1, 1, 0}, {Budget{1e-9, 1e-300}, 1, 60000, 1000}, {good, 1e300, 1, 1},
	} {
		if m, err := gaussianFor(c.b, c.clip, c.releases, c.dim); err == nil {
			t.Errorf("%+v is accepted: %+v", c, m)
		}
	}
}

func BenchmarkCalibrate(b *testing.B) {
	for b.Loop() {
		mustCalibrate(b, Budget{1, 1e-6}, 1, 16, 30)
	}
}
