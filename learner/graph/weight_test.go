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
	{Rule: "profile", Degree: 4, Gamma: 0.5},
	{Rule: "random", Degree: 4},
}

func randomEnd(r *rand.Rand, p int) End {
	e := End{Round: 1, Std: 0.3 * r.Float64(), Vector: make([]float64, p)}
	for k := range e.Vector {
		e.Vector[k] = r.NormFloat64()
	}
	return e
}

func TestWeightIsSymmetricAndBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		a, b := randomEnd(r, 7), randomEnd(r, 7)
		for _, g := range rules {
			w := Weight(g, a, b)
			if back := Weight(g, b, a); w != back {
				t.Fatalf("%+v: %v one way, %v the other", g, w, back)
			}
			if !(w >= 0) || w > 1 {
				t.Fatalf("%+v: weight %v", g, w)
			}
		}
	}
}

// The similarity is the same both ways to the bit, also of ends that are noise alone: a weight
// hides the last bits, but not always.
func TestSimilarityIsSymmetric(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for range 100_000 {
		p := 1 + r.IntN(4)
		a, b := randomEnd(r, p), randomEnd(r, p)
		a.Std, b.Std = math.Exp(r.NormFloat64()), math.Exp(r.NormFloat64())
		if there, back := similarity(a, b), similarity(b, a); there != back {
			t.Fatalf("%+v and %+v: %v one way, %v the other", a, b, there, back)
		}
	}
}

// A vector whose squares are lost to rounding, all but one, is not as short as it
// looks: it is no more alike to others than others are.
func TestWeightOfAVectorTooShortToMeasure(t *testing.T) {
	const p = 1000
	short := make([]float64, p)
	long := make([]float64, p)
	for k := range short {
		short[k], long[k] = 1.5e-162, 1
	}
	short[0] = 1.6e-162
	for _, g := range rules[:2] {
		for _, std := range []float64{0, 0.01} {
			a, b := End{Round: 1, Vector: long, Std: std}, End{Round: 1, Vector: short, Std: std}
			if w := Weight(g, a, b); !(w <= Weight(g, a, a)) {
				t.Errorf("%+v with noise %v: weight %v", g, std, w)
			}
		}
	}
}

// What a hostile end may say: nothing of it makes a weight that is not a number,
// negative or infinite.
func TestWeightOfHostileEnds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	good := End{Round: 3, Vector: []float64{1, 2}, Std: 0.1}
	for i, bad := range []End{
		{}, {Round: 1}, {Vector: []float64{0, 0}}, {Vector: []float64{1}}, {Vector: []float64{nan, 1}}, {Vector: []float64{inf, 1}},
		{Vector: []float64{1e200, 1e200}}, {Vector: []float64{1, 2}, Std: nan}, {Vector: []float64{1, 2}, Std: inf},
		{Vector: []float64{1, 2}, Std: -inf}, {Vector: []float64{1e-200, 0}},
	} {
		for _, g := range rules {
			if w := Weight(g, good, bad); !(w >= 0) || math.IsInf(w, 0) {
				t.Errorf("end %d under %+v: weight %v", i, g, w)
			}
		}
	}
}

// Strangers weigh exp(-1/gamma): less than the alike, more than the unlike.
func TestStrangersMayBegin(t *testing.T) {
	a := End{Round: 1, Vector: []float64{1, 0}, Std: 0.1}
	like, unlike := End{Round: 1, Vector: []float64{2, 0.1}, Std: 0.1}, End{Round: 1, Vector: []float64{-1, 0.1}, Std: 0.1}
	noise := End{Round: 1, Vector: []float64{1, 0}, Std: 1e6}
	g := learner.Graph{Rule: "released", Degree: 4, Gamma: 0.25}
	start := float64(float32(math.Exp(-4)))
	if w := Weight(g, a, End{}); w != start {
		t.Errorf("a stranger weighs %v, want %v", w, start)
	}
	if w := Weight(g, a, noise); !(w >= start && w < 1.01*start) {
		t.Errorf("a node that has released only noise weighs %v, want little more than %v", w, start)
	}
	if w := Weight(g, a, like); !(w > 2*start) {
		t.Errorf("one alike weighs %v", w)
	}
	if w := Weight(g, a, unlike); w != 0 {
		t.Errorf("one unlike weighs %v", w)
	}
}

// The squared length, the inner product and so the cosine of the optima are found
// without bias: for 20,000 noisy pairs of two unit vectors at an angle of 60 degrees.
// The standard errors of the means are below 0.7%; the bounds are more than five of
// them away, false failure below 1e-5.
func TestSimilarityIsFreeOfTheNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const p, std, pairs = 10, 0.2, 20_000
	var product, n, longer float64
	for range pairs {
		a, b := make([]float64, p), make([]float64, p)
		a[0], b[0], b[1] = 1, 0.5, math.Sqrt(0.75)
		for k := range p {
			a[k] += std * r.NormFloat64()
			b[k] += 1.5 * std * r.NormFloat64()
		}
		aa, bb := floats.Dot(a, a), floats.Dot(b, b)
		product += floats.Dot(a, b) / pairs
		n += signal(aa-p*std*std, bb-p*2.25*std*std, std*std, 2.25*std*std, p) / pairs
		longer += math.Sqrt(aa*bb) / pairs
	}
	if math.Abs(n-1) > 0.04 || math.Abs(product/n-0.5) > 0.04 {
		t.Errorf("squared length %v and cosine %v in the mean, want 1 and 0.5", n, product/n)
	}
	if longer < 1.3 {
		t.Errorf("the noise makes the vectors only %v times longer, too little for this test to tell", longer)
	}
}

// Of two candidates that look equally alike, the less noisy one weighs more, as far as the
// node's own noise lets it tell.
func TestUnreliableEndsWeighLess(t *testing.T) {
	own := End{Round: 1, Vector: []float64{1, 0, 0}, Std: 0.1}
	g, last := learner.Graph{Rule: "released", Degree: 4, Gamma: 0.2}, 2.0
	for _, std := range []float64{0.1, 0.2, 0.4, 0.5} {
		w := Weight(g, own, End{Round: 1, Vector: []float64{1, 0.2, 0}, Std: std})
		if !(w < last) {
			t.Errorf("weight %v with noise %v, no less than %v", w, std, last)
		}
		last = w
	}
}

// Whatever an end claims about its length and its noise, with whatever copy of the other's
// vector, it weighs no more than an end with the other's optimum and as much noise would.
func TestClaimsBuyNoWeight(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const p = 10
	g := rules[0]
	for range 500 {
		own := End{Round: 5, Std: 0.1 + r.Float64(), Vector: make([]float64, p)}
		for k := range own.Vector {
			own.Vector[k] = 0.5 + own.Std*r.NormFloat64()
		}
		// The most that the node's own noise allows: the optimum is as long as it can be.
		aa := floats.Dot(own.Vector, own.Vector)
		n := most(aa-p*own.Std*own.Std, own.Std*own.Std, p)
		n = max(n, math.Sqrt(2*p)*own.Std*own.Std)
		reliable := n / (n + p*own.Std*own.Std)
		bound := math.Exp((reliable*reliable - 1) / g.Gamma)
		for _, scale := range []float64{1e-3, 0.5, 1, 2, 1e3, 1e6} {
			for _, std := range []float64{0, 1e-9, 0.01, 0.1, 1} {
				claim := End{Round: 9, Std: std, Vector: make([]float64, p)}
				floats.AddScaled(claim.Vector, scale, own.Vector)
				if w := Weight(g, own, claim); w > bound*(1+1e-6) {
					t.Fatalf("own noise %v; a copy %v times as long with noise %v weighs %v, more than %v", own.Std, scale, std, w, bound)
				}
			}
		}
	}
}
