package vector

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// same reports whether two numbers have the same bits, or are both none.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// alike checks all operations on two vectors of a length against gonum's and the plain
// loop.
func alike(t *testing.T, x, y []float64, alpha float64) {
	t.Helper()
	if got, want := Dot(x, y), floats.Dot(x, y); !same(got, want) {
		t.Errorf("%d numbers: dot %v, want %v", len(x), got, want)
	}
	got, want := slices.Clone(x), slices.Clone(x)
	AddScaled(got, alpha, y)
	floats.AddScaled(want, alpha, y)
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("%v plus %v times %v is %v, want %v", x, alpha, y, got, want)
	}
	productsAlike(t, x, y)
	sumsAlike(t, x, y, alpha)
	got, want = slices.Clone(x), nil
	plain := 0.
	for _, v := range got {
		plain += v * v
	}
	if s := Squares(x); !same(s, plain) && !(math.Abs(s-plain) <= float64(len(x))*0x1p-52*plain) {
		t.Errorf("squares %v, want %v", s, plain)
	}
	total, sum := make([]int64, len(x)), make([]int64, len(x))
	for j, v := range x {
		if !(math.Abs(alpha*v) < 1<<51) {
			return
		}
		total[j] = int64(j) << 40
		sum[j] = total[j] + int64(alpha*v)
	}
	start := slices.Clone(total)
	if AddUnits(total, x, alpha); !slices.Equal(total, sum) {
		t.Errorf("%v times %v, rounded, makes %v, want %v", alpha, x, total, sum)
	}
	squaredAlike(t, x, alpha, start, total)
	for n := range 4 {
		got, want := slices.Clone(start), slices.Clone(start)
		list := slices.Repeat([]Scaled{{x, alpha}}, n)
		for k := range list {
			list[k].By /= float64(k + 1)
			AddUnits(want, x, list[k].By)
		}
		if AddAllUnits(got, list); !slices.Equal(got, want) {
			t.Errorf("%d times %v times %v, rounded, makes %v, want %v", n, alpha, x, got, want)
		}
	}
}

// squaredAlike checks what AddUnitsSquared adds, and the sum of its squares.
func squaredAlike(t *testing.T, x []float64, alpha float64, start, total []int64) {
	t.Helper()
	want := new(big.Int)
	for _, v := range x {
		n := big.NewInt(int64(alpha * v))
		if n.BitLen() > 43 {
			return
		}
		want.Add(want, n.Mul(n, n))
	}
	got := slices.Clone(start)
	high, low := AddUnitsSquared(got, x, alpha)
	if sum := joined(high, low); !slices.Equal(got, total) || sum.Cmp(want) != 0 {
		t.Errorf("%v times %v, rounded, makes %v, squares %v; want %v and %v", alpha, x, got, sum, total, want)
	}
}

// productsAlike checks what takes several vectors at once against one after the other.
func productsAlike(t *testing.T, x, y []float64) {
	t.Helper()
	for n := range 6 {
		products := make([]Product, n)
		for k := range products {
			if products[k].X = y; k%2 == 1 {
				products[k].X = x
			}
		}
		Multiply(x, products)
		for k, p := range products {
			if dot, squares := Dot(x, p.X), Squares(p.X); !same(p.Dot, dot) || !same(p.Squares, squares) && !(math.Abs(p.Squares-squares) <= float64(len(x))*0x1p-52*squares) {
				t.Errorf("the %d-th of %d products of %v and %v is %v, squares %v; want %v and %v", k, n, x, p.X, p.Dot, p.Squares, dot, squares)
			}
		}
	}
}

// sumsAlike checks AddAllScaled against AddScaled of one after the other.
func sumsAlike(t *testing.T, x, y []float64, alpha float64) {
	t.Helper()
	for n := range 4 {
		got, want := slices.Clone(x), slices.Clone(x)
		list := slices.Repeat([]Scaled{{y, alpha}}, n)
		for k := range list {
			list[k].By /= float64(k + 1)
			floats.AddScaled(want, list[k].By, y)
		}
		if AddAllScaled(got, list); !slices.EqualFunc(got, want, same) {
			t.Errorf("%v plus %d times %v times %v is %v, want %v", x, n, alpha, y, got, want)
		}
	}
}

// At every length up to some pieces of what is done at once, and at every offset from the
// start of a line, all is as gonum has it.
func TestAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	draw := func(n int) []float64 {
		list := make([]float64, n)
		for j := range list {
			list[j] = r.NormFloat64() * math.Exp(4*r.NormFloat64())
		}
		return list
	}
	for n := range 70 {
		for from := range 4 {
			for range 10 {
				alike(t, draw(n + from)[from:], draw(n), r.NormFloat64()*math.Ldexp(1, r.IntN(40)))
			}
		}
	}
	alike(t, draw(100_000), draw(100_000), 3)
}

// Around whole numbers, zero and the largest product a rounding may not go astray.
func TestAddUnitsRounds(t *testing.T) {
	var x []float64
	for _, v := range []float64{0, math.Copysign(0, -1), 1, 2, 3, 1 << 40, 1<<51 - 1, 0.5, 0x1p-1074} {
		for _, v := range []float64{v, math.Nextafter(v, 4), math.Nextafter(v, -4), v + 0.5} {
			x = append(x, v, -v)
		}
	}
	alike(t, x, x, 1)
	alike(t, x, x, 0)
}

// The largest products and the longest vectors, of either sign, keep every bit of their
// squares.
func TestSquaresFit(t *testing.T) {
	for _, n := range []int{1, 4, 1<<20 - 1, 1 << 20} {
		for _, v := range []int64{1<<43 - 1, -(1<<43 - 1), 1<<22 - 1, -1, -(1 << 22), 1 << 42} {
			high, low := AddUnitsSquared(make([]int64, n), slices.Repeat([]float64{float64(v)}, n), 1)
			want := new(big.Int).Mul(big.NewInt(v), big.NewInt(v))
			want.Mul(want, big.NewInt(int64(n)))
			if got := joined(high, low); got.Cmp(want) != 0 {
				t.Errorf("the squares of %d times %d are %v, want %v", n, v, got, want)
			}
		}
	}
}

// joined is high 2^64 + low.
func joined(high, low uint64) *big.Int {
	n := new(big.Int).SetUint64(high)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(low))
}

// Vectors of two lengths are refused as gonum refuses them.
func TestLengths(t *testing.T) {
	for name, f := range map[string]func(){
		"Dot":          func() { Dot(make([]float64, 8), make([]float64, 9)) },
		"AddScaled":    func() { AddScaled(make([]float64, 8), 1, make([]float64, 9)) },
		"AddUnits":     func() { AddUnits(make([]int64, 8), make([]float64, 9), 1) },
		"Multiply":     func() { Multiply(make([]float64, 8), []Product{{X: make([]float64, 8)}, {X: make([]float64, 9)}}) },
		"AddAllScaled": func() { AddAllScaled(make([]float64, 8), []Scaled{{make([]float64, 8), 1}, {make([]float64, 9), 1}}) },
		"AddAllUnits":  func() { AddAllUnits(make([]int64, 8), []Scaled{{make([]float64, 8), 1}, {make([]float64, 9), 1}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes vectors of two lengths", name)
				}
			}()
			f()
		}()
	}
}

func FuzzAlike(f *testing.F) {
	for _, h := range []float64{0, 1, math.NaN(), math.Inf(-1), math.MaxFloat64, 0x1p-1074} {
		f.Add(h, binary.LittleEndian.AppendUint64(make([]byte, 96), math.Float64bits(h)))
	}
	f.Fuzz(func(t *testing.T, alpha float64, data []byte) {
		list := make([]float64, len(data)/8)
		for j := range list {
			list[j] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*j:]))
		}
		half := len(list) / 2
		alike(t, list[:half], list[half:2*half], alpha)
	})
}

func BenchmarkDot(b *testing.B) {
	x := make([]float64, 50)
	for b.Loop() {
		Dot(x, x)
	}
}
