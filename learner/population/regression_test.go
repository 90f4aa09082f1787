package population

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// However far a label reaches, its parts are together no longer than the bound, which the
// longest reaches; and they add up to the label.
func TestBandsCostNothing(t *testing.T) {
	r := Regression{Scale: 1, Length: 1, Label: 7, Bands: 4}
	for _, y := range []float64{0, 0.1, -0.2, 0.3, 1, -2.5, 6.9, 7, -7, 100} {
		var square, sum float64
		for _, b := range r.bands() {
			square += b.part(y) * b.part(y)
			sum += b.part(y) / b.gain
		}
		length := math.Sqrt(square)
		if want := math.Copysign(min(math.Abs(y), 7), y); math.Abs(sum-want) > 1e-14 || length > 7+1e-12 || math.Abs(y) >= 7 && length < 7-1e-12 {
			t.Errorf("%v: the parts add up to %v, and are %v long", y, sum, length)
		}
	}
}

// Without noise, bands change nothing. With it, a range of labels that is far too wide costs less
// in bands, and one that fits a little more: over 200 seeds the error is .56 of that without bands,
// with a standard deviation of .045, and 1.10, with .043. The bounds are five of them away, which one
// seed in a million would miss; the seed is fixed.
func TestBandsOfLabels(t *testing.T) {
	const p, records, draws = 3, 500, 40
	errors := func(label, sd float64, bands int) float64 {
		random, noise := rand.New(rand.NewPCG(8, 1)), rand.New(rand.NewPCG(9, 1))
		r := Regression{Scale: label / math.Sqrt2, Length: 1, Label: label, Bands: bands, Ridge: 5, Least: 1}
		truth, sum := []float64{0.3, -0.6, 0.2}, make([]float64, r.Dimension(p))
		var total float64
		for range draws {
			clear(sum)
			for range records {
				x := make([]float64, p)
				for i := range x {
					x[i] = random.NormFloat64()
				}
				floats.Scale(1/floats.Norm(x, 2), x)
				r.Add(sum, x, min(1, max(-1, floats.Dot(truth, x)+0.2*random.NormFloat64())))
			}
			for i := range sum {
				sum[i] += sd * label * noise.NormFloat64()
			}
			mean, err := r.Learn(p, sum, sd*label)
			if err != nil {
				t.Fatal(err)
			}
			floats.Sub(mean, truth)
			total += floats.Norm(mean, 2)
		}
		return total / draws
	}
	for _, c := range []struct{ label, sd, least, most float64 }{{10, 0, 0.999, 1.001}, {10, 7, 0, 0.78}, {1, 7, 0, 1.31}} {
		if ratio := errors(c.label, c.sd, 4) / errors(c.label, c.sd, 1); !(ratio > c.least && ratio < c.most) {
			t.Errorf("labels up to %v, noise %v: the error in bands is %.4f of that without", c.label, c.sd, ratio)
		}
	}
}

// Of moments that tell nothing of each other noise leaves nearly nothing but their mean, and what
// coordinates have in common stays.
func TestNoiseIsTakenOutOfMoments(t *testing.T) {
	const p, sd = 30, 40
	random := rand.New(rand.NewPCG(5, 2))
	for _, c := range []struct {
		name        string
		common      float64
		least, most float64 // of the share that is left
		error       float64
	}{
		{"nothing in common", 0, 0, 0.2, 0.4},
		{"much in common", 300, 0.97, 1, 1},
	} {
		truth, noisy := mat.NewSymDense(p, nil), mat.NewSymDense(p, nil)
		for i := range p {
			for j := i; j < p; j++ {
				value, std := c.common, sd/math.Sqrt2
				if i == j {
					value, std = 500, sd
				}
				truth.SetSym(i, j, value)
				noisy.SetSym(i, j, value+std*random.NormFloat64())
			}
		}
		off := func(m *mat.SymDense) float64 {
			var d mat.Dense
			d.Sub(m, truth)
			return mat.Norm(&d, 2)
		}
		before := off(noisy)
		shared := calm(noisy, sd)
		if after := off(noisy) / before; !(shared >= c.least && shared <= c.most && after < c.error) {
			t.Errorf("%s: %.3f of it is left, and moments err by %.3f of what they did", c.name, shared, after)
		}
	}
}

// Where a sum says nothing, the ridge keeps all of the noise that was in the model before.
func TestRidgeKeepsNoise(t *testing.T) {
	r, kept := Regression{Scale: 1, Length: 1, Label: 1, Bands: 4, Ridge: 2, Least: 1}, mat.NewSymDense(2, []float64{4, 1, 1, 9})
	of := func(kept *mat.SymDense) *mat.SymDense {
		_, noise, err := r.learn(mat.NewSymDense(2, nil), 1, make([]float64, 8), 3, kept)
		if err != nil {
			t.Fatal(err)
		}
		return noise
	}
	with, without := of(kept), of(nil)
	without.AddSym(without, kept)
	if !mat.EqualApprox(with, without, 1e-12) {
		t.Errorf("%v, want %v", mat.Formatted(with), mat.Formatted(without))
	}
}
