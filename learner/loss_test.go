package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// everyLoss is all there are, and the multinomial one of two classes too.
func everyLoss() map[string]loss {
	task := &Task{Threshold: 1.5, Smoothing: 0.4, Target: Target{Classes: []string{"a", "b", "c", "d"}}}
	all := map[string]loss{"multinomial of two": multinomial{2}}
	for i := range losses {
		all[losses[i].name] = losses[i].make(task)
	}
	return all
}

// label draws a label fit for the loss.
func label(l loss, r *rand.Rand) float64 {
	if m, ok := l.(multinomial); ok {
		return float64(r.IntN(m.classes))
	}
	switch l.(scalar).f.(type) {
	case logistic, hinge:
		return float64(2*r.IntN(2) - 1)
	}
	return 3 * r.NormFloat64()
}

// kinked says that z lies within h of a point where the curvature jumps.
func kinked(l loss, z []float64, y, h float64) bool {
	s, ok := l.(scalar)
	if !ok {
		return false
	}
	switch f := s.f.(type) {
	case huber:
		return math.Abs(math.Abs(y-z[0])-f.threshold) <= h
	case hinge:
		short := 1 - y*z[0]
		return math.Abs(short) <= h || math.Abs(short-f.smoothing) <= h
	}
	return false
}

// Finite differences: central, step 1e-5, so an error of about 1e-9.
func TestSlopeAndCurvatureAreDerivatives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const h = 1e-5
	for name, l := range everyLoss() {
		k := l.scores()
		slope, up, down, curvature := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k*k)
		for range 200 {
			z, y := normals(r, k), label(l, r)
			floats.Scale(3, z)
			if kinked(l, z, y, h) {
				continue
			}
			l.slope(slope, z, y)
			l.curvature(curvature, z, y)
			for j := range z {
				at := z[j]
				z[j] = at + h
				above := l.value(z, y)
				l.slope(up, z, y)
				z[j] = at - h
				below := l.value(z, y)
				l.slope(down, z, y)
				z[j] = at
				if quotient := (above - below) / (2 * h); math.Abs(quotient-slope[j]) > 1e-7 {
					t.Errorf("%s: slope %v at %v, %v; difference quotient %v", name, slope[j], z, y, quotient)
				}
				for i := range z {
					if quotient := (up[i] - down[i]) / (2 * h); math.Abs(quotient-curvature[i*k+j]) > 1e-7 {
						t.Errorf("%s: curvature %v at %v, %v; difference quotient %v", name, curvature[i*k+j], z, y, quotient)
					}
				}
			}
			l.slope(z, z, y)
			wantClose(t, name+": slope in place", z, slope, 0)
		}
	}
}

func TestGradientIsTheDerivativeInTheta(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	const h, p = 1e-5, 3
	for name, l := range everyLoss() {
		k := l.scores()
		gradient, z := make([]float64, k*p), make([]float64, k)
		for range 100 {
			theta, x, y := normals(r, k*p), normals(r, p), label(l, r)
			scoresOf(z, theta, x)
			if kinked(l, z, y, 10*h) {
				continue
			}
			l.gradient(gradient, theta, x, y)
			for j := range theta {
				at := theta[j]
				theta[j] = at + h
				scoresOf(z, theta, x)
				above := l.value(z, y)
				theta[j] = at - h
				scoresOf(z, theta, x)
				quotient := (above - l.value(z, y)) / (2 * h)
				theta[j] = at
				if math.Abs(quotient-gradient[j]) > 1e-6 {
					t.Errorf("%s: gradient %v, difference quotient %v", name, gradient[j], quotient)
				}
			}
		}
	}
}

// largestEigenvalue is that of a symmetric k x k matrix.
func largestEigenvalue(t *testing.T, c []float64, k int) float64 {
	t.Helper()
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(k, c), false) {
		t.Fatal("no eigenvalues")
	}
	return floats.Max(e.Values(nil))
}

// The Hessian in theta is C (x) x x', so its norm is that of C times ||x||^2. The
// adversary's records sit where the curvature peaks, and reach the bound.
func TestSmoothnessBoundsTheCurvature(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for name, l := range everyLoss() {
		k, worst := l.scores(), 0.0
		c := make([]float64, k*k)
		check := func(z []float64, y float64) {
			l.curvature(c, z, y)
			norm := r.Float64() * 2
			got := largestEigenvalue(t, c, k) * norm * norm
			if got > l.smoothness(norm)*(1+1e-12) {
				t.Errorf("%s: curvature %v above the bound %v", name, got, l.smoothness(norm))
			}
			worst = max(worst, got/l.smoothness(norm))
		}
		for range 1000 {
			z := normals(r, k)
			floats.Scale(10*r.Float64(), z)
			check(z, label(l, r))
		}
		// Two scores equal and far above the rest; a residual of 0; a margin
		// inside the parabola.
		peak := make([]float64, k)
		for j := range peak[:max(k-2, 0)] {
			peak[j] = -50
		}
		check(peak, 0)
		if _, binary := l.(scalar); binary {
			check([]float64{0.9}, 1)
		}
		if worst < 1-1e-9 {
			t.Errorf("%s: the curvature reaches only %v of the bound", name, worst)
		}
	}
}

// Convex and smooth: any two gradients differ by at most the smoothness times the
// distance of the models (adversarial pairs on both sides of a kink among them).
func TestGradientsAreLipschitz(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	const p = 2
	for name, l := range everyLoss() {
		k := l.scores()
		a, b := make([]float64, k*p), make([]float64, k*p)
		for range 2000 {
			x, y := normals(r, p), label(l, r)
			theta := normals(r, k*p)
			other := append([]float64(nil), theta...)
			floats.AddScaled(other, math.Exp(-5*r.Float64()), normals(r, k*p))
			l.gradient(a, theta, x, y)
			l.gradient(b, other, x, y)
			bound := l.smoothness(floats.Norm(x, 2)) * floats.Distance(theta, other, 2)
			if got := floats.Distance(a, b, 2); got > bound*(1+1e-9) {
				t.Fatalf("%s: gradients %v apart, bound %v", name, got, bound)
			}
		}
	}
}

func TestHingeIsRoundedOffByLessThanHalfItsSmoothing(t *testing.T) {
	l := hinge{0.1}
	for _, c := range []struct{ z, y, exact, slope float64 }{
		{0, 1, 1, -1}, {2, 1, 0, 0}, {-2, 1, 3, -1}, {1, 1, 0, 0}, {0.5, -1, 1.5, 1}, {0.95, 1, 0.05, -0.5},
	} {
		v, s := l.value(c.z, c.y), l.slope(c.z, c.y)
		if gap := c.exact - v; v < 0 || gap < -1e-15 || gap > 0.05+1e-15 || math.Abs(s-c.slope) > 1e-12 {
			t.Errorf("at %v, %v: %v with slope %v, want %v less at most 0.05, and %v", c.z, c.y, v, s, c.exact, c.slope)
		}
	}
}

// Song et al. 2021: with one score, clipped gradients are those of a convex
// function that is no less smooth. A step of 2/L then brings no two models further
// apart.
func TestClippedGradientsOfOneScoreStayNonexpansive(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	const p, clip = 3, 0.4
	for name, l := range everyLoss() {
		if l.scores() > 1 {
			continue
		}
		a, b := make([]float64, p), make([]float64, p)
		for range 2000 {
			theta, other, x, y := normals(r, p), normals(r, p), normals(r, p), label(l, r)
			clippedGradient(a, l, theta, x, y, clip)
			clippedGradient(b, l, other, x, y, clip)
			if floats.Norm(a, 2) > clip*(1+1e-12) {
				t.Fatalf("%s: a gradient of norm %v, clip %v", name, floats.Norm(a, 2), clip)
			}
			before, rate := floats.Distance(theta, other, 2), 2/l.smoothness(floats.Norm(x, 2))
			floats.AddScaled(theta, -rate, a)
			floats.AddScaled(other, -rate, b)
			if after := floats.Distance(theta, other, 2); after > before*(1+1e-12) {
				t.Fatalf("%s: a step takes two models from %v to %v apart", name, before, after)
			}
		}
	}
}

func TestHuberIsSquaredNearAndStraightFar(t *testing.T) {
	l := huber{2}
	for _, c := range []struct{ z, y, value, slope float64 }{{1, 1, 0, 0}, {0, 1, 0.5, -1}, {0, 2, 2, -2}, {0, 5, 8, -2}, {5, 0, 8, 2}} {
		if v, s := l.value(c.z, c.y), l.slope(c.z, c.y); v != c.value || s != c.slope {
			t.Errorf("huber(%v, %v) = %v with slope %v, want %v and %v", c.z, c.y, v, s, c.value, c.slope)
		}
	}
}

func TestLossesSurviveHugeScores(t *testing.T) {
	for name, l := range everyLoss() {
		k := l.scores()
		slope, curvature := make([]float64, k), make([]float64, k*k)
		for _, far := range []float64{-1e6, -800, 800, 1e6} {
			z := make([]float64, k)
			z[0] = far
			y := 1.0
			value := l.value(z, y)
			l.slope(slope, z, y)
			l.curvature(curvature, z, y)
			if !finite(slope) || !finite(curvature) || !finite([]float64{value}) || value < 0 {
				t.Errorf("%s at %v: value %v, slope %v, curvature %v", name, far, value, slope, curvature)
			}
		}
	}
}

// With the clip GradientBound nothing is clipped, for any record and model the
// task admits.
func TestGradientBoundHoldsOverTheBall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	tasks := []*Task{Movies(), Linear()}
	for _, name := range lossNames {
		tasks = append(tasks, plainTask(name, 3))
	}
	for _, task := range tasks {
		p, worst := task.Dimension(), 0.0
		gradient := make([]float64, p)
		for range 5000 {
			theta, x := normals(r, p), normals(r, task.Width())
			floats.Scale(task.Radius/floats.Norm(theta, 2), theta)
			floats.Scale(task.FeatureNorm()/floats.Norm(x, 2), x)
			y := label(task.loss(), r)
			if !task.Classifies() {
				y = []float64{task.Target.Min, task.Target.Max}[r.IntN(2)] - task.Target.Center
			}
			task.loss().gradient(gradient, theta, x, y)
			worst = max(worst, floats.Norm(gradient, 2))
		}
		if worst > task.GradientBound()*(1+1e-12) {
			t.Errorf("%s: a gradient of norm %v, bound %v", task.Name, worst, task.GradientBound())
		}
		if worst < task.GradientBound()/3 {
			t.Errorf("%s: the bound %v is far above every gradient found, at most %v", task.Name, task.GradientBound(), worst)
		}
	}
}

func TestEvidencePrefersBetterPredictions(t *testing.T) {
	for name, l := range everyLoss() {
		k := l.scores()
		y := []float64{1, -1, 1}
		right, wrong := []float64{0.9, -0.8, 1.1}, []float64{0, 0, -1}
		if k > 1 {
			y = []float64{1, 0, 1}
			right, wrong = make([]float64, 3*k), make([]float64, 3*k)
			for i := range y {
				right[i*k+int(y[i])], wrong[i*k+(int(y[i])+1)%2] = 1, 1
			}
		}
		good, bad := l.evidence(total(l, right, y), 3), l.evidence(total(l, wrong, y), 3)
		if !(good > bad) || !finite([]float64{good, bad}) {
			t.Errorf("%s: evidence %v of good and %v of bad predictions", name, good, bad)
		}
	}
}

func BenchmarkGradient(b *testing.B) {
	const p = 26
	for name, l := range everyLoss() {
		b.Run(name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			theta, x, y := normals(r, l.scores()*p), normals(r, p), label(l, r)
			dst := make([]float64, len(theta))
			for b.Loop() {
				l.gradient(dst, theta, x, y)
			}
		})
	}
}
