package accountant

import (
	"math"
	"math/big"
	"testing"
)

// The slow, obvious twins of the floating-point code: the same quantities in
// 320-bit arithmetic, straight from their definitions.

const bits320 = 320

func exact(x float64) *big.Float { return new(big.Float).SetPrec(bits320).SetFloat64(x) }

func add(x, y *big.Float) *big.Float { return exact(0).Add(x, y) }
func sub(x, y *big.Float) *big.Float { return exact(0).Sub(x, y) }
func mul(x, y *big.Float) *big.Float { return exact(0).Mul(x, y) }
func quo(x, y *big.Float) *big.Float { return exact(0).Quo(x, y) }

// exactExp is e^x by its power series at x/2^k, squared k times.
func exactExp(x *big.Float) *big.Float {
	halvings := max(0, x.MantExp(nil)+8)
	small := exact(0).SetMantExp(x, -halvings)
	sum, term := exact(1), exact(1)
	for k := 1.0; k < 60; k++ {
		term = quo(mul(term, small), exact(k))
		sum = add(sum, term)
	}
	for range halvings {
		sum = mul(sum, sum)
	}
	return sum
}

// exactTail is Phi(-x) = P[N(0,1) > x].
func exactTail(x *big.Float) *big.Float {
	pi, _ := exact(0).SetString("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
	square := mul(x, x)
	density := quo(exactExp(quo(square, exact(-2))), exact(0).Sqrt(mul(exact(2), pi)))
	if x.Cmp(exact(4)) > 0 { // continued fraction of Laplace
		f := x
		for k := 250.0; k > 0; k-- { // error below e^-170
			f = add(x, quo(exact(k), f))
		}
		return quo(density, f)
	}
	sum, term := exact(0), x // sum of x^(2k+1)/(2k+1)!!
	for k := 1.0; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-bits320; k++ {
		sum = add(sum, term)
		term = quo(mul(term, square), exact(2*k+1))
	}
	return sub(exact(0.5), mul(density, sum))
}

// exactDelta is GaussianDelta from its definition.
func exactDelta(epsilon, mu float64) *big.Float {
	ratio, half := quo(exact(epsilon), exact(mu)), exact(mu/2)
	return sub(exactTail(sub(ratio, half)), mul(exactExp(exact(epsilon)), exactTail(add(ratio, half))))
}

func TestExactTwins(t *testing.T) {
	for _, x := range []float64{-30, -1, 0.5, 1, 700} {
		got, _ := exactExp(exact(x)).Float64()
		if math.Abs(got/math.Exp(x)-1) > 1e-13 {
			t.Errorf("exp(%v) = %v", x, got)
		}
	}
	for _, x := range []float64{-12, -1, 0, 1, 3.99, 4, 4.01, 20, 37} {
		got, _ := exactTail(exact(x)).Float64()
		if want := math.Erfc(x/math.Sqrt2) / 2; math.Abs(got/want-1) > 1e-13*(1+x*x) {
			t.Errorf("tail(%v) = %v, want %v", x, got, want)
		}
	}
	// The two forms of the tail meet at 4: the second difference is smooth.
	l, m, r := exactTail(exact(4-1e-9)), exactTail(exact(4)), exactTail(exact(4+1e-9))
	if bend, _ := quo(sub(add(l, r), mul(exact(2), m)), m).Float64(); math.Abs(bend) > 1e-15 {
		t.Errorf("the two forms of the tail differ by %g", bend)
	}
}
