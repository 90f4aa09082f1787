package graph

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

var rules = []learner.Graph{
	{Rule: "released", Degree: 4, Gamma: 0.2},
	{Rule: "released", Degree: 4, Gamma: 0.2, Kernel: "distance"},
	{Rule: "learned", Degree: 4, Gamma: 0.2},
	{Rule: "learned", Degree: 4, Gamma: 0.5, Kernel: "distance"},
	{Rule: "profile", Degree: 4, Gamma: 0.5},
	{Rule: "random", Degree: 4},
}

func randomEnd(r *rand.Rand, p int) End {
	e := End{Round: 1, Std: 0.3 * r.Float64(), Degree: 4 * r.Float64(), Vector: make([]float64, p)}
	for k := range e.Vector {
		e.Vector[k] = r.NormFloat64()
	}
	return e
}

func TestWeightIsSymmetricAndBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		a, b, old := randomEnd(r, 7), randomEnd(r, 7), r.Float64()
		for _, g := range rules {
			w := Weight(g, a, b, old)
			if back := Weight(g, b, a, old); w != back {
				t.Fatalf("%+v: %v one way, %v the other", g, w, back)
			}
			if !(w >= 0) || g.Rule != "learned" && w > 1 || w > float64(2*g.Degree) {
				t.Fatalf("%+v: weight %v", g, w)
			}
		}
	}
}

// What a hostile end may say: nothing of it makes a weight that is not a number,
// negative or infinite.
func TestWeightOfHostileEnds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := End{Round: 3, Vector: []float64{1, 2}, Std: 0.1, Degree: 1}
	for i, bad := range []End{
		{}, {Round: 1}, {Vector: []float64{0, 0}}, {Vector: []float64{1}}, {Vector: []float64{nan, 1}}, {Vector: []float64{inf, 1}},
		{Vector: []float64{1e200, 1e200}}, {Vector: []float64{1, 2}, Std: nan}, {Vector: []float64{1, 2}, Std: inf},
		{Vector: []float64{1, 2}, Std: -inf}, {Vector: []float64{1, 2}, Degree: nan}, {Vector: []float64{1, 2}, Degree: inf},
		{Vector: []float64{1, 2}, Degree: -inf}, {Vector: []float64{1, 2}, Degree: -5}, {Vector: []float64{1e-200, 0}},
	} {
		for _, g := range rules {
			for _, old := range []float64{0, 1, 100} {
				if w := Weight(g, good, bad, old); !(w >= 0) || math.IsInf(w, 0) {
					t.Errorf("end %d under %+v: weight %v", i, g, w)
				}
			}
		}
	}
}

// Strangers weigh exp(-1/gamma): less than the alike, more than the unlike.
func TestStrangersMayBegin(t *testing.T) {
	a := End{Round: 1, Vector: []float64{1, 0}, Std: 0.1}
	like, unlike := End{Round: 1, Vector: []float64{2, 0.1}, Std: 0.1}, End{Round: 1, Vector: []float64{-1, 0.1}, Std: 0.1}
	noise := End{Round: 1, Vector: []float64{1, 0}, Std: 2}
	for _, kernel := range []string{"", "cosine", "distance"} {
		g := learner.Graph{Rule: "released", Degree: 4, Gamma: 0.25, Kernel: kernel}
		start := float64(float32(math.Exp(-4)))
		for _, e := range []End{{}, noise} {
			if w := Weight(g, a, e, 0); w != start {
				t.Errorf("%q: a stranger weighs %v, want %v", kernel, w, start)
			}
		}
		if w := Weight(g, a, like, 0); !(w > 2*start) {
			t.Errorf("%q: one alike weighs %v", kernel, w)
		}
		if w := Weight(g, a, unlike, 0); w != 0 {
			t.Errorf("%q: one unlike weighs %v", kernel, w)
		}
		g.Rule = "learned"
		if w := Weight(g, a, End{}, 0); !(w > 0) {
			t.Errorf("%q: nobody has an edge yet, and a stranger gets %v", kernel, w)
		}
	}
}

// The corrected inner products and squared norms are those without noise, in the
// mean: for pairs of 20,000 noisy copies of two vectors at an angle of 60 degrees.
// The means of a.b, n_a and n_b have a standard error of at most 0.6% of their size
// here; the ratio of the means is within 5% but once in a million.
func TestSimilarityIsFreeOfTheNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const p, std = 10, 0.25
	var product, na, nb, blind float64
	for range 20_000 {
		a, b := End{Vector: make([]float64, p), Std: std}, End{Vector: make([]float64, p), Std: 2 * std}
		a.Vector[0], b.Vector[0], b.Vector[1] = 1, 0.5, math.Sqrt(0.75)
		for k := range p {
			a.Vector[k] += std * r.NormFloat64()
			b.Vector[k] += 2 * std * r.NormFloat64()
		}
		product += floats.Dot(a.Vector, b.Vector)
		aa, bb := floats.Dot(a.Vector, a.Vector), floats.Dot(b.Vector, b.Vector)
		na += aa - p*std*std
		nb += bb - p*4*std*std
		blind += aa
		if s := signal(aa, a); s > 0 && s != aa-p*std*std {
			t.Fatalf("signal %v of a squared norm %v", s, aa)
		}
	}
	if cos := product / math.Sqrt(na*nb); math.Abs(cos-0.5) > 0.025 {
		t.Errorf("the corrected cosine is %v in the mean, want 0.5", cos)
	}
	if blind < 1.5*na {
		t.Error("the noise is too small for this test to tell")
	}
}

// Of two candidates that look equally alike, the less noisy one weighs more.
func TestUnreliableEndsWeighLess(t *testing.T) {
	own := End{Round: 1, Vector: []float64{1, 0, 0}, Std: 0.1}
	for _, kernel := range []string{"cosine", "distance"} {
		g, last := learner.Graph{Rule: "released", Degree: 4, Gamma: 0.2, Kernel: kernel}, 2.0
		for _, std := range []float64{0, 0.1, 0.2, 0.4, 0.5} {
			w := Weight(g, own, End{Round: 1, Vector: []float64{1, 0.2, 0}, Std: std}, 0)
			if !(w < last) {
				t.Errorf("%s: weight %v with noise %v, no less than %v", kernel, w, std, last)
			}
			last = w
		}
	}
}
