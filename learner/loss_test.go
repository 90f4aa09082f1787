package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func losses() map[string]loss { return map[string]loss{"squared": squared{}, "logistic": logistic{}} }

func label(name string, r *rand.Rand) float64 {
	if name == "logistic" {
		return float64(2*r.IntN(2) - 1)
	}
	return 3 * r.NormFloat64()
}

// Finite differences: central, step 1e-5, so an error of about 1e-9.
func TestSlopeAndCurvatureAreDerivatives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const h = 1e-5
	for name, l := range losses() {
		for range 200 {
			z, y := 4*r.NormFloat64(), label(name, r)
			slope := (l.value(z+h, y) - l.value(z-h, y)) / (2 * h)
			if math.Abs(slope-l.slope(z, y)) > 1e-7 {
				t.Errorf("%s: slope(%v, %v) = %v, difference quotient %v", name, z, y, l.slope(z, y), slope)
			}
			curvature := (l.slope(z+h, y) - l.slope(z-h, y)) / (2 * h)
			if math.Abs(curvature-l.curvature(z, y)) > 1e-7 {
				t.Errorf("%s: curvature(%v, %v) = %v, difference quotient %v", name, z, y, l.curvature(z, y), curvature)
			}
		}
	}
}

func TestSmoothnessBoundsTheCurvature(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for name, l := range losses() {
		for range 1000 {
			z, y, norm := 3*r.NormFloat64(), label(name, r), r.Float64()*2
			if got := l.curvature(z, y) * norm * norm; got > l.smoothness(norm)*(1+1e-12) {
				t.Errorf("%s: curvature %v above the bound %v", name, got, l.smoothness(norm))
			}
		}
	}
}

func TestLogisticSurvivesHugeScores(t *testing.T) {
	l := logistic{}
	for _, z := range []float64{-1e6, -800, 800, 1e6} {
		for _, y := range []float64{-1, 1} {
			if v, s, c := l.value(z, y), l.slope(z, y), l.curvature(z, y); !finite([]float64{v, s, c}) || v < 0 || c < 0 || math.Abs(s) > 1 {
				t.Errorf("z = %v, y = %v: value %v, slope %v, curvature %v", z, y, v, s, c)
			}
		}
	}
}

// With the clip GradientBound nothing is clipped, for any record and model the
// task admits.
func TestGradientBoundHoldsOverTheBall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, task := range []*Task{Movies(), Linear(), plainTask("squared", 3)} {
		p, worst := task.Dimension(), 0.0
		for range 5000 {
			theta, x := normals(r, p), normals(r, p)
			floats.Scale(task.Radius/floats.Norm(theta, 2), theta)
			floats.Scale(task.FeatureNorm()/floats.Norm(x, 2), x)
			y := label("logistic", r)
			if task.Loss == "squared" {
				y = []float64{task.Target.Min, task.Target.Max}[r.IntN(2)] - task.Target.Center
			}
			worst = max(worst, math.Abs(task.loss().slope(floats.Dot(theta, x), y))*floats.Norm(x, 2))
		}
		if worst > task.GradientBound() {
			t.Errorf("%s: a gradient of norm %v, bound %v", task.Name, worst, task.GradientBound())
		}
		if worst < task.GradientBound()/3 {
			t.Errorf("%s: the bound %v is far above every gradient found, at most %v", task.Name, task.GradientBound(), worst)
		}
	}
}

func TestEvidencePrefersBetterPredictions(t *testing.T) {
	for name, l := range losses() {
		y := []float64{1, -1, 1}
		good, bad := l.evidence([]float64{0.9, -0.8, 1.1}, y), l.evidence([]float64{0, 0, -1}, y)
		if !(good > bad) || !finite([]float64{good, bad, l.evidence(y, y)}) {
			t.Errorf("%s: evidence %v of good and %v of bad predictions", name, good, bad)
		}
	}
}
