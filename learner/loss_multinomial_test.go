package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// With two classes only the difference of the scores counts, and it is the
// logistic loss's score.
func TestMultinomialOfTwoIsLogistic(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	two, one := multinomial{2}, logistic{}
	slope, curvature := make([]float64, 2), make([]float64, 4)
	for range 200 {
		z, class := normals(r, 2), float64(r.IntN(2))
		floats.Scale(5, z)
		d, y := z[1]-z[0], 2*class-1
		two.slope(slope, z, class)
		two.curvature(curvature, z, class)
		s, c := one.slope(d, y), one.curvature(d, y)
		wantClose(t, "value", []float64{two.value(z, class)}, []float64{one.value(d, y)}, 1e-12)
		wantClose(t, "slope", slope, []float64{-s, s}, 1e-12)
		wantClose(t, "curvature", curvature, []float64{c, -c, -c, c}, 1e-12)
	}
}

// What a step of 2/L makes of the distance between two models at most, among
// random pairs close to each other: more than 1 when gradients of three classes are
// clipped, which is why learners that need steps that bring no two models further
// apart refuse such a clip (Validate); and 1 when nothing is clipped, or with two
// classes.
func TestClippedGradientsOfThreeClassesExpand(t *testing.T) {
	for _, c := range []struct {
		classes int
		clip    float64
		expands bool
	}{{2, 0.2, false}, {2, 1, false}, {3, 0.2, true}, {3, 1, true}, {3, math.Sqrt2, false}, {5, 1, true}, {5, math.Sqrt2, false}} {
		r := rand.New(rand.NewPCG(1, 1))
		l, worst := multinomial{c.classes}, 0.0
		a, b := make([]float64, c.classes), make([]float64, c.classes)
		for range 20000 {
			theta, x, y := normals(r, c.classes), []float64{1}, float64(r.IntN(c.classes))
			floats.Scale(5*r.Float64(), theta)
			other := append([]float64(nil), theta...)
			floats.AddScaled(other, 0.01+r.Float64()/10, normals(r, c.classes))
			clippedGradient(a, l, theta, x, y, c.clip)
			clippedGradient(b, l, other, x, y, c.clip)
			before, rate := floats.Distance(theta, other, 2), 2/l.smoothness(1)
			floats.AddScaled(theta, -rate, a)
			floats.AddScaled(other, -rate, b)
			worst = max(worst, floats.Distance(theta, other, 2)/before)
		}
		if expands := worst > 1.001; expands != c.expands {
			t.Errorf("%d classes, clip %v: a step multiplies the distance by up to %v", c.classes, c.clip, worst)
		}
	}
}
