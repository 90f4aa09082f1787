package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"p2pnode/privacy"
)

// What rounding moves is at most a thousandth of the noise's standard deviation in any
// coordinate, never away from zero, and nothing at all where there is too little noise.
func TestSinglePrecisionIsBelowTheNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	for _, c := range []struct {
		radius, std float64
		rounds      bool
	}{
		{5, 0.05, true}, {5, 0x1p-11, true}, {5, 0x1p-12, false}, {10, 0, false}, {10, 1e-12, false},
		{1e30, 1e27, true}, {1e300, 1e299, true}, {1e-30, 1e-31, true}, {math.MaxFloat64, math.MaxFloat64 / 4, true}, {1, math.NaN(), false},
	} {
		task := &Task{Radius: c.radius}
		model := make([]float64, 5000)
		for i := range model {
			model[i] = r.NormFloat64() * math.Exp(10*r.NormFloat64())
		}
		floats.Scale(c.radius/floats.Norm(model, 2), model)
		model[0], model[1], model[2] = math.Copysign(0, -1), c.radius/1e9, -c.radius/1e9
		project(model, c.radius)
		before := append([]float64(nil), model...)
		task.single(model, c.std)
		if rounded := IsSingle(model); rounded != c.rounds {
			t.Errorf("radius %g, noise %g: single precision: %v, want %v", c.radius, c.std, rounded, c.rounds)
		}
		for i, x := range before {
			if moved := math.Abs(model[i] - x); math.Abs(model[i]) > math.Abs(x) || c.rounds && c.radius < 1e38 && moved > c.std/1024 {
				t.Fatalf("radius %g, noise %g: %g became %g", c.radius, c.std, x, model[i])
			}
		}
		if !c.rounds && !floats.Same(model, before) {
			t.Errorf("radius %g, noise %g: a model that the noise does not hide changed", c.radius, c.std)
		}
	}
	// As docs/privacy.md says it.
	if bits := singleBits(5, 0.05); math.Abs(bits-16.7) > 0.1 {
		t.Errorf("%.1f bits of a coordinate near 5 lie below noise of 0.05", bits)
	}
}

// Leaving out bits is rounding toward zero, to the last bit and at every size.
func TestTowardZero(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 2))
	check := func(x float64) {
		y := float32(x)
		if math.Abs(float64(y)) > math.Abs(x) {
			y = math.Nextafter32(y, 0)
		}
		if got := towardZero(x); math.Float64bits(got) != math.Float64bits(float64(y)) && !math.IsNaN(x) {
			t.Errorf("%g becomes %g, want %g", x, got, y)
		}
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 0x1p-126, 0x1p-149, 0x1p-150, math.MaxFloat32, 0x1p128, math.MaxFloat64, math.Inf(-1), math.Nextafter(1, 0)} {
		for _, x := range []float64{x, -x, math.Nextafter(x, 0), math.Nextafter(x, math.Inf(1))} {
			check(x)
		}
	}
	for range 100_000 {
		check(math.Ldexp(r.NormFloat64(), r.IntN(320)-170))
		check(math.Float64frombits(r.Uint64()))
	}
}

// What a node sends in single precision has the spread it says (of 20,000 coordinates it
// is off by 0.5 % as a standard deviation, so 3 % fail by chance less often than once in
// a million), and its mean moves by less than 1e-4 of the noise.
func TestRoundedReleasesKeepTheirNoise(t *testing.T) {
	const n = 20_000
	task := plainTask("squared", n)
	task.Radius = 1e4
	mechanism := must(privacy.NewGaussian(1, 3))
	std := mechanism.NoiseStd()
	answer := privacy.NewSeededNoise(3).Answer(mechanism, []privacy.Sum{mechanism.NewSum(1, n)})
	model := append([]float64(nil), answer.Sum...)
	task.single(model, std)
	if !IsSingle(model) {
		t.Fatal("not rounded")
	}
	if got := stat.StdDev(model, nil); math.Abs(got/std-1) > 0.03 {
		t.Errorf("spread %g, declared %g", got, std)
	}
	floats.Sub(model, answer.Sum)
	if off := math.Abs(stat.Mean(model, nil)); off > 1e-4*std {
		t.Errorf("rounding moves the mean by %g of the noise", off/std)
	}
}
