package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func chacha(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

// randomPolar draws constants of an obfuscation that a task may have.
func randomPolar(r *rand.Rand) *Polar {
	p := &Polar{
		Servers: make([]string, 3+r.IntN(6)), Delta: 1 + r.IntN(30),
		Obfuscation: []string{"multiplicative", "additive", "both"}[r.IntN(3)],
		Law:         []string{"gaussian", "uniform"}[r.IntN(2)],
		Sum:         math.Exp(4*r.NormFloat64() - 1),
	}
	p.Bound = p.Sum * (1 + 100*r.Float64()*float64(r.IntN(2)))
	if p.Obfuscation != "multiplicative" {
		p.Additive = math.Exp(3 * r.NormFloat64())
	}
	return p
}

// SLC and BUC of the weights: sum W = M and sum |W| <= Mbar, over all servers and
// the steps of one window.
func TestWeightsObeySLCAndBUC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		p := randomPolar(r)
		weights := p.weights(rand.New(chacha(byte(r.IntN(256)))))
		var sum, size float64
		for _, row := range weights {
			if len(row) != len(p.Servers) {
				t.Fatalf("a row of %d weights for %d servers", len(row), len(p.Servers))
			}
			sum += floats.Sum(row)
			size += floats.Norm(row, 1)
		}
		tolerance := 1e-12 * p.Bound
		if len(weights) != p.Delta || math.Abs(sum-p.Sum) > tolerance {
			t.Errorf("%d steps of weights that add up to %v; want %d and %v", len(weights), sum, p.Delta, p.Sum)
		}
		if size > p.Bound+tolerance {
			t.Errorf("absolute weights add up to %v, over the bound %v", size, p.Bound)
		}
		same := p.Obfuscation == "additive" || p.Bound == p.Sum
		if spread := floats.Max(weights[0]) - floats.Min(weights[0]); (spread < 1e-9*p.Sum) != same {
			t.Errorf("%s with bound %v of sum %v: weights spread over %v", p.Obfuscation, p.Bound, p.Sum, spread)
		}
	}
}

// SLC and BUC of the offsets: sum_J d^J = 0 at every step and |d^J| <= Y.
func TestOffsetsObeySLCAndBUC(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		p, dim := randomPolar(r), 1+r.IntN(12)
		offsets := p.offsets(rand.New(chacha(byte(r.IntN(256)))), dim)
		sum := make([]float64, dim)
		for j := range offsets {
			floats.Add(sum, offsets[j])
			norm := floats.Norm(offsets[j], 2)
			if norm > p.Additive*(1+1e-12) {
				t.Errorf("an offset of norm %v, over the bound %v", norm, p.Additive)
			}
			if (norm > 0) != (p.Obfuscation != "multiplicative") {
				t.Errorf("%s: an offset of norm %v", p.Obfuscation, norm)
			}
		}
		if len(offsets) != len(p.Servers) || floats.Norm(sum, 2) > 1e-13*p.Additive*float64(len(offsets)) {
			t.Errorf("%d offsets add up to %v", len(offsets), sum)
		}
	}
}

// In dimension p a share s^p of the ball is within s of its radius. 20,000 draws:
// the standard error of each share is .0035 at most, so .02 is missed by chance
// less than once in a million.
func TestUniformInBall(t *testing.T) {
	r := rand.New(chacha(7))
	for _, dim := range []int{1, 2, 5} {
		const draws, radius = 20000, 3.0
		inside, positive := 0.0, 0.0
		v := make([]float64, dim)
		for range draws {
			uniformInBall(r, v, radius)
			if floats.Norm(v, 2) <= radius*0.8 {
				inside += 1. / draws
			}
			if v[dim-1] > 0 {
				positive += 1. / draws
			}
		}
		if want := math.Pow(0.8, float64(dim)); math.Abs(inside-want) > 0.02 || math.Abs(positive-0.5) > 0.02 {
			t.Errorf("dimension %d: %v within 0.8 of the radius, want %v; %v on one side", dim, inside, want, positive)
		}
	}
}

// What the doc comment of Polar says a curious server learns.
func TestWhatACuriousServerLearns(t *testing.T) {
	p := &Polar{Servers: make([]string, 3), Delta: 4, Obfuscation: "multiplicative", Law: "gaussian", Sum: 3, Bound: 30}
	r := rand.New(chacha(1))
	gradient := []float64{1, -2, 0.5}
	w := p.weights(r)[0][0]
	cosine := func(v []float64) float64 {
		return math.Abs(floats.Dot(v, gradient)) / floats.Norm(v, 2) / floats.Norm(gradient, 2)
	}
	message := floats.AddScaledTo(make([]float64, 3), p.offsets(r, 3)[0], w, gradient)
	if cosine(message) < 1-1e-12 {
		t.Errorf("multiplicative alone hides the direction: cosine %v", cosine(message))
	}
	p.Obfuscation, p.Additive = "both", 100
	row, offsets := p.weights(r)[0], p.offsets(r, 3)
	all := make([]float64, 3)
	for j := range row {
		floats.Add(all, floats.AddScaledTo(make([]float64, 3), offsets[j], row[j], gradient))
	}
	if cosine(all) < 1-1e-12 {
		t.Errorf("offsets hide the direction from all servers together: cosine %v", cosine(all))
	}
}
