package accountant

import (
	"math"
	"testing"
)

func TestLargestSteps(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		steps          int
	}{{0.1, 1e-3, 1}, {1, 1e-6, 10}, {3, 1e-9, 100}, {0.5, 0.01, 1000}, {8, 0.4, 3}} {
		a, err := LargestLaplaceStep(c.epsilon, c.delta, c.steps)
		if err != nil {
			t.Fatal(err)
		}
		e, err := LargestPureStep(c.epsilon, c.delta, c.steps)
		if err != nil {
			t.Fatal(err)
		}
		if got := epsilonOf(c.delta, Group{Laplace(a), c.steps}); got > c.epsilon || got < c.epsilon*(1-1e-4) {
			t.Errorf("%+v: %v costs %v", c, a, got)
		}
		if got := PureEpsilon(e, c.steps, c.delta); got > c.epsilon || got < c.epsilon*(1-1e-8) {
			t.Errorf("%+v: %v costs %v", c, e, got)
		}
		if e > a*(1+1e-5) {
			t.Errorf("%+v: any mechanism of %v, but Laplace of %v only", c, e, a)
		}
		if c.steps == 1 {
			if want := c.epsilon - 2*math.Log1p(-c.delta); math.Abs(a/want-1) > 1e-5 {
				t.Errorf("%+v: one step of %v, want %v", c, a, want)
			}
		}
	}
	for _, c := range []struct {
		epsilon, delta float64
		steps          int
	}{{0, 0.1, 1}, {1, 0, 1}, {1, 0.1, 0}, {1, 0.1, maxSteps + 1}, {math.NaN(), 0.1, 1}} {
		if _, err := LargestLaplaceStep(c.epsilon, c.delta, c.steps); err == nil {
			t.Errorf("%+v: no error", c)
		}
		if _, err := LargestPureStep(c.epsilon, c.delta, c.steps); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestTruncatedCalibration(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{0.5, 1e-3}, {1, 1e-5}, {0.01, 0.2}, {3, 1e-9}, {20, 1e-6}, {1e-6, 0.3}} {
		const sensitivity = 7.0
		scale, bound := TruncatedLaplaceFor(c.epsilon, c.delta, sensitivity)
		if got := TruncatedLaplace(sensitivity/scale, bound/scale).Delta(c.epsilon); math.Abs(got/c.delta-1) > 1e-9 {
			t.Errorf("%+v: Laplace noise of %v within %v has delta %v", c, scale, bound, got)
		}
		sigma, bound := TruncatedGaussianFor(c.epsilon, c.delta, sensitivity)
		a, cut := sensitivity/sigma, bound/sigma
		if got := TruncatedGaussian(a, cut).Delta(c.epsilon); got > c.delta*(1+1e-12) || got < c.delta*(1-1e-6) {
			t.Errorf("%+v: Gaussian noise of %v within %v has delta %v", c, sigma, bound, got)
		}
		if got := TruncatedGaussian(a, cut*0.999).Delta(c.epsilon); got <= c.delta {
			t.Errorf("%+v: a smaller bound would do", c)
		}
		// About as good as the plain Gaussian or the uniform law of width
		// sensitivity/delta, whichever is better.
		density := math.Exp(-cut*cut/2) / math.Sqrt(2*math.Pi)
		sd := sigma * math.Sqrt(1-2*cut*density/math.Erf(cut/math.Sqrt2))
		if best := min(sensitivity/lowMu(c.epsilon, c.delta), sensitivity/c.delta/math.Sqrt(12)); sd > best*1.002 {
			t.Errorf("%+v: standard deviation %v, %v is possible", c, sd, best)
		}
	}
	// The calibration that looks at the mass outside the overlap alone.
	if got := TruncatedGaussian(1, 4.083730058646639).Delta(0.5); got < 0.238 {
		t.Errorf("the false calibration has delta %v", got)
	}
	for _, c := range [][3]float64{{0, 0.1, 1}, {1, 0, 1}, {1, 0.1, -1}, {1, 0.1, math.NaN()}, {1, 0.1, math.Inf(1)}} {
		scale, bound := TruncatedLaplaceFor(c[0], c[1], c[2])
		sigma, cut := TruncatedGaussianFor(c[0], c[1], c[2])
		for _, got := range []float64{scale, bound, sigma, cut} {
			if !math.IsInf(got, 1) {
				t.Errorf("%v: %v is enough noise", c, got)
			}
		}
	}
	if scale, bound := TruncatedLaplaceFor(1000, 1e-6, 1); !(scale == 0.001 && bound > 1 && bound < 1.1) {
		t.Errorf("at a large epsilon: scale %v, bound %v", scale, bound)
	}
}
