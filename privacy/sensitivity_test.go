package privacy

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// slowSensitivity is At by the recursion.
func slowSensitivity(s CarriedSensitivity, i int) float64 {
	d := 0.0
	for range i {
		d = s.Keep*d + s.Step
		if s.Most > 0 {
			d = min(d, s.Most)
		}
	}
	return d
}

func TestSensitivityAgainstRecursion(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for range 3000 {
		s := CarriedSensitivity{Keep: rng.Float64() * 1.2, Step: math.Exp(rng.Float64()*20 - 10)}
		switch rng.IntN(6) {
		case 0:
			s.Keep = 0
		case 1:
			s.Keep = 1
		case 2:
			s.Keep = 1 + (rng.Float64()-0.5)*1e-12
		}
		if rng.IntN(2) == 0 {
			s.Most = s.Step * math.Exp(rng.Float64()*6-1)
		}
		i := rng.IntN(300)
		got, want := s.At(i), slowSensitivity(s, i)
		// The recursion itself rounds in each step.
		if got < want*(1-1e-13) || got > want*(1+1e-13) {
			t.Errorf("%+v at %d: %v, the recursion gives %v", s, i, got, want)
		}
	}
}

// No rounding makes a distance too short, however long the powers grow: neither in At
// nor in the numbers it is given.
func TestSensitivityIsRoundedUp(t *testing.T) {
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	times := func(a *big.Float, b float64) *big.Float { return new(big.Float).Mul(a, exact(b)) }
	check := func(s CarriedSensitivity, keep, step, most *big.Float, i int) {
		t.Helper()
		want := exact(0)
		for range i {
			want.Add(want.Mul(want, keep), step)
			if most != nil && want.Cmp(most) > 0 {
				want.Set(most)
			}
		}
		got := s.At(i)
		if exact(got).Cmp(want) < 0 {
			t.Errorf("%+v at %d: %v is below %v", s, i, got, want)
		}
		if loose := times(want, 1+1e-12); exact(got).Cmp(loose) > 0 {
			t.Errorf("%+v at %d: %v is far above %v", s, i, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(7, 3))
	for range 300 {
		s, i := CarriedSensitivity{Keep: rng.Float64() * 2, Step: rng.ExpFloat64()}, 1+rng.IntN(900)
		check(s, exact(s.Keep), exact(s.Step), nil, i)

		rate, bound, convexity := rng.Float64(), rng.ExpFloat64(), rng.Float64()/10
		keep := new(big.Float).Sub(exact(1), times(exact(rate), convexity))
		check(ContractingSensitivity(rate, bound, convexity), keep, times(exact(2*rate), bound), nil, i)

		alpha, records := rng.Float64(), 1+rng.IntN(200)
		most := times(exact(2*alpha), bound)
		step := new(big.Float).Quo(most, exact(float64(records)))
		check(releasedIterateSensitivity(alpha, bound, records), exact(0), step, nil, i)
		check(privateIterateSensitivity(alpha, bound, records, 1.7), times(exact(alpha), 1.7), step, most, i)
	}
}

func TestSensitivityOfNonsense(t *testing.T) {
	nan := math.NaN()
	for _, s := range []CarriedSensitivity{
		{Keep: -0.1, Step: 1}, {Keep: nan, Step: 1}, {Keep: 0.5, Step: -1}, {Keep: 0.5, Step: nan},
		{Step: 1, Most: -1}, {Step: 1, Most: nan}, {Keep: math.Inf(1), Step: 1}, {Keep: 2, Step: math.Inf(1)},
		releasedIterateSensitivity(1, 1, 0), releasedIterateSensitivity(1, 1, -3),
	} {
		if d := s.At(3); !math.IsInf(d, 1) {
			t.Errorf("%+v is %v", s, d)
		}
	}
	if d := (CarriedSensitivity{Step: 1}).At(-1); !math.IsInf(d, 1) {
		t.Errorf("before the first release it is %v", d)
	}
	if d := (CarriedSensitivity{Keep: 2, Step: 1}).At(5000); !math.IsInf(d, 1) {
		t.Errorf("what doubles 5000 times is %v", d)
	}
	if d := (CarriedSensitivity{Keep: 2}).At(5000); d != 0 {
		t.Errorf("what adds nothing is %v", d)
	}
}

func TestSensitivityReferenceValues(t *testing.T) {
	var file struct {
		Cases []struct {
			ID, Kind string
			Input    json.RawMessage
			Expected json.RawMessage
			RelTol   float64 `json:"rel_tol"`
		}
	}
	reference(t, "privacy_values.json", &file)
	seen := 0
	for _, c := range file.Cases {
		if c.Kind != "conditional_sensitivity" {
			continue
		}
		seen++
		var in struct {
			Scheme     string
			Akk, Mu, G float64
		}
		var want []float64
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Expected, &want); err != nil {
			t.Fatal(err)
		}
		s := CarriedSensitivity{Keep: map[string]float64{"iid": 0, "clean": in.Akk, "gh": 1}[in.Scheme], Step: 2 * in.Mu * in.G}
		for i, d := range want {
			if got := s.At(i + 1); math.Abs(got/d-1) > c.RelTol {
				t.Errorf("%s: D_%d is %v, want %v", c.ID, i+1, got, d)
			}
		}
	}
	if seen == 0 {
		t.Error("the file has no conditional sensitivities")
	}
}

// diffuse runs one node of the diffusion scheme for a GIVEN transcript psi, and
// returns its phi: private state w, one gradient of absolute value at most 1 a step.
// What the neighbours add is the same in every world and is left out.
func diffuse(own, c, rate float64, transcript, gradients []float64) []float64 {
	w, phis := 0.0, make([]float64, len(transcript))
	for i, psi := range transcript {
		phi := w - rate*gradients[i]
		phis[i] = phi
		w = own * ((1-c)*phi + c*psi)
	}
	return phis
}

// Two worlds with one transcript are never further apart than D_i, and opposite
// gradients attain it: in all three schemes.
func TestDiffusionWorlds(t *testing.T) {
	const own, rate, steps = 0.4, 0.3, 30
	rng := rand.New(rand.NewPCG(7, 2))
	for name, c := range map[string]float64{"independent": 1, "transmission": 0, "homomorphic": -(1 - own) / own} {
		s := CarriedSensitivity{Keep: own * math.Abs(1-c), Step: 2 * rate}
		for trial := range 200 {
			transcript, g, h := make([]float64, steps), make([]float64, steps), make([]float64, steps)
			for i := range steps {
				transcript[i] = rng.NormFloat64()
				g[i], h[i] = 2*rng.Float64()-1, 2*rng.Float64()-1
				if trial == 0 { // the worst case
					g[i], h[i] = 1, -1
				}
			}
			a, b := diffuse(own, c, rate, transcript, g), diffuse(own, c, rate, transcript, h)
			for i := range steps {
				d := math.Abs(a[i] - b[i])
				if most := s.At(i + 1); d > most*(1+1e-12)+1e-12 || trial == 0 && d < most*(1-1e-12)-1e-12 {
					t.Errorf("%s: step %d is %v apart, D is %v", name, i+1, d, most)
				}
			}
		}
	}
}

// Equation 27: the epsilons of the homomorphic scheme add up to mu G (i^2+i)/b.
func TestHomomorphicTotal(t *testing.T) {
	const mu, g, b = 0.3, 2.0, 7.0
	s, total := CarriedSensitivity{Keep: 1, Step: 2 * mu * g}, 0.0
	for i := 1; i <= 100; i++ {
		total += s.At(i) / b
		if want := mu * g * float64(i*i+i) / b; math.Abs(total/want-1) > 1e-13 {
			t.Errorf("after %d releases %v, want %v", i, total, want)
		}
	}
}

// Gradient steps of a strongly convex quadratic contract: the homomorphic scheme
// then saturates at 2 bound/convexity, and worlds attain D_i.
func TestContractingWorlds(t *testing.T) {
	const rate, bound, convexity = 0.2, 1.5, 0.5
	s := ContractingSensitivity(rate, bound, convexity)
	w, v := 0.0, 0.0 // r = 1: the private state is phi itself
	for i := 1; i <= 200; i++ {
		w, v = w-rate*(convexity*w+bound), v-rate*(convexity*v-bound)
		if d := v - w; math.Abs(d/s.At(i)-1) > 1e-12 {
			t.Errorf("step %d is %v apart, D is %v", i, d, s.At(i))
		}
	}
	if level := s.At(200); math.Abs(level-2*bound/convexity) > 1e-6 {
		t.Errorf("it levels off at %v", level)
	}
}

// The Krasnosel'skii-Mann iteration: applied to the released iterate it is flat at
// 2 alpha B/N, applied to the private one it climbs, to 2 alpha B for alpha >= 1/2.
func TestIterateSensitivity(t *testing.T) {
	const bound, records = 1.0, 100
	for _, alpha := range []float64{0.1, 0.5, 0.9} {
		flat := releasedIterateSensitivity(alpha, bound, records)
		private := privateIterateSensitivity(alpha, bound, records, 2)
		if flat.At(1) != flat.At(500) || math.Abs(flat.At(9)/(2*alpha*bound/records)-1) > 1e-13 {
			t.Errorf("alpha %v: released iterate %v", alpha, flat.At(9))
		}
		if math.Abs(private.At(1)/flat.At(1)-1) > 1e-14 {
			t.Errorf("alpha %v: the first step is %v and %v", alpha, private.At(1), flat.At(1))
		}
		top := private.At(5000)
		if capped := math.Abs(top/(2*alpha*bound)-1) < 1e-12; capped != (alpha >= 0.5) {
			t.Errorf("alpha %v: the private iterate climbs to %v", alpha, top)
		}
	}
}

// privateIterateSensitivity is that of the private Krasnosel'skii-Mann
// iteration (DP-dKM, algorithm 1), x^k = W X^{k-1} + alpha (T(x^{k-1}) -
// x^{k-1}) with the released mix W X and T applied to the PRIVATE iterate. A
// local mean over records of terms bounded by bound moves by 2 bound/records
// for one record, and by lipschitz (of I-T: 2 if T is nonexpansive, 1 if firmly
// so) times the distance of the iterates; and never by more than 2 bound in
// all:
//
//	D_k = min(2 alpha bound, alpha (2 bound/records + lipschitz D_{k-1})).
//
// Their theorem 1 bounds the expectation over the sampled index, which is no
// sensitivity: at 100 records and epsilon 0.5 the true delta is 0.01.
func privateIterateSensitivity(alpha, bound float64, records int, lipschitz float64) CarriedSensitivity {
	s := releasedIterateSensitivity(alpha, bound, records)
	s.Keep, s.Most = up(alpha*lipschitz), up(2*alpha*bound)
	return s
}

// releasedIterateSensitivity is the same iteration with T applied to the
// RELEASED iterate, which is as public in both worlds: nothing is carried, and
// D_k = 2 alpha bound/records for every k.
func releasedIterateSensitivity(alpha, bound float64, records int) CarriedSensitivity {
	return CarriedSensitivity{Step: up(up(2*alpha*bound) / float64(records))}
}
