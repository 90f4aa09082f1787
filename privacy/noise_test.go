package privacy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// filled returns a sum of n random records.
func filled(m Mechanism, c Cohort, dim, n int) Sum {
	rng := rand.New(rand.NewPCG(uint64(c), uint64(n)))
	s := m.NewSum(c, dim)
	for range n {
		s.Add(randomGradient(rng, dim, m.Clip()))
	}
	return s
}

// The answer is the integer sum plus one draw per coordinate, converted once:
// exact arithmetic with the same draws gives the same float64. All laws.
func TestAnswerIsExact(t *testing.T) {
	for seed := range uint64(50) {
		m, _, _ := randomMechanism(t, rand.New(rand.NewPCG(4, seed)))
		sums := []Sum{filled(m, 3, 7, 20), filled(m, 1, 7, 5), filled(m, 8, 7, 0)}
		got := NewSeededNoise(seed).Answer(m, sums)
		draws := seeded(seed)
		for j, v := range got.Sum {
			total := sums[0].total[j] + sums[1].total[j] + sums[2].total[j] + m.draw(draws)
			want, _ := new(big.Float).SetMantExp(new(big.Float).SetInt64(total), m.grid).Float64()
			if v != want {
				t.Errorf("coordinate %d is %v, want %v", j, v, want)
			}
		}
		if got.Slots != 25 || !slices.Equal(got.Cohorts, []Cohort{3, 1, 8}) || got.Exhausted() {
			t.Errorf("%d slots of cohorts %v", got.Slots, got.Cohorts)
		}
	}
}

// An unprotected answer is the clipped sum, to the grid.
func TestUnprotectedAnswer(t *testing.T) {
	m, err := NewUnprotected(5)
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewSum(1, 2)
	s.Add([]float64{3, -4})
	s.Add([]float64{0.1, 0.2})
	s.Add([]float64{-300, 400}) // clipped to (-3, 4)
	for _, got := range []Answer{NewSeededNoise(1).Answer(m, []Sum{s}), NewLiveNoise().Answer(m, []Sum{s})} {
		for j, want := range []float64{0.1, 0.2} {
			if math.Abs(got.Sum[j]-want) > 3*math.Ldexp(1, m.grid) {
				t.Errorf("coordinate %d is %v, want %v", j, got.Sum[j], want)
			}
		}
	}
}

func TestAnswerOfNothing(t *testing.T) {
	m := mustGaussian(t, 1, 1)
	for _, a := range []Answer{NewLiveNoise().Answer(m, nil), NewSeededNoise(1).Answer(m, []Sum{})} {
		if !a.Exhausted() || a.Slots != 0 || a.Cohorts != nil {
			t.Errorf("no sums give %+v", a)
		}
	}
	// A cohort whose records are all deleted still gives a noisy zero.
	s := m.NewSum(1, 3)
	s.AddEmpty([]float64{1, 2, 3})
	if a := NewLiveNoise().Answer(m, []Sum{s}); a.Exhausted() || len(a.Sum) != 3 || a.Slots != 1 {
		t.Errorf("an empty slot gives %+v", a)
	}
}

// What would break the guarantee is a bug of the caller, not an answer.
func TestAnswerRefuses(t *testing.T) {
	m, other := mustGaussian(t, 1, 5), mustGaussian(t, 2, 5)
	laplace := must(t)(NewLaplace(1, 5)) // differs in the law alone
	n := NewSeededNoise(1)
	refuse := func(what string, m Mechanism, sums ...Sum) {
		t.Helper()
		mustPanic(t, what, func() { n.Answer(m, sums) })
		if m.CheckSums(sums) == nil {
			t.Errorf("CheckSums lets %s pass", what)
		}
	}
	refuse("a sum clipped in another norm", laplace, filled(m, 1, 2, 1))
	refuse("a full sum for a batch", must(t)(m.Subsampled(1, 2)), filled(m, 1, 2, 1))
	refuse("a sum with a larger clip", m, filled(other, 1, 2, 1))
	refuse("a second sum with a larger clip", m, filled(m, 1, 2, 1), filled(other, 2, 2, 1))
	refuse("a sum that was never made", m, Sum{})
	refuse("sums of two dimensions", m, filled(m, 1, 2, 1), filled(m, 2, 3, 1))
	refuse("a second sum of fewer dimensions", m, filled(m, 1, 3, 1), filled(m, 2, 2, 1))
	refuse("a cohort that comes twice", m, filled(m, 1, 2, 1), filled(m, 2, 2, 1), filled(m, 1, 2, 1))
	var memory Memory
	dead := memory.NewSum(m, 1, 2)
	memory.Forget()
	refuse("a sum whose memory is used again", m, dead)
	for _, sums := range [][]Sum{nil, {filled(m, 1, 2, 1), filled(m, 2, 2, 1)}} {
		if err := m.CheckSums(sums); err != nil {
			t.Errorf("%d sums: %v", len(sums), err)
		}
	}
}

// A release holds at most MaxSlots records; cohorts that do not fit are left out.
func TestAnswerLeavesOutWhatDoesNotFit(t *testing.T) {
	m := Mechanism{noise: Laplace, clip: maxClip, sigma: 1 << 30}
	sums := make([]Sum, 3)
	for i, slots := range []int{MaxSlots - 5, 6, 5} {
		sums[i] = m.NewSum(Cohort(i), 1)
		sums[i].slots, sums[i].total[0] = slots, int64(slots)*maxClip
	}
	a := NewSeededNoise(1).Answer(m, sums)
	if a.Slots != MaxSlots || !slices.Equal(a.Cohorts, []Cohort{0, 2}) {
		t.Errorf("%d slots of cohorts %v", a.Slots, a.Cohorts)
	}
	if math.Abs(a.Sum[0]/(MaxSlots*maxClip)-1) > 1e-6 {
		t.Errorf("the sum is %v, it has overflowed", a.Sum[0])
	}
}

func TestSeededNoiseIsReproducible(t *testing.T) {
	m := mustGaussian(t, 1, 5)
	sums := []Sum{filled(m, 1, 4, 3)}
	a, b, c := NewSeededNoise(9), NewSeededNoise(9), NewSeededNoise(10)
	for range 10 {
		x, y, z := a.Answer(m, sums), b.Answer(m, sums), c.Answer(m, sums)
		if !reflect.DeepEqual(x, y) {
			t.Fatal("one seed gave two answers")
		}
		if reflect.DeepEqual(x, z) {
			t.Fatal("two seeds gave one answer")
		}
	}
}

// Live noise is new every time, also from a copy of its source, and has the
// right size.
func TestLiveNoise(t *testing.T) {
	const dim = 20_000
	m := mustGaussian(t, 1, 5)
	s := m.NewSum(1, dim)
	s.AddEmpty(make([]float64, dim))
	n := NewLiveNoise()
	n.Answer(m, []Sum{s})
	twin := *n
	x, y := n.Answer(m, []Sum{s}), twin.Answer(m, []Sum{s})
	if slices.Equal(x.Sum, y.Sum) {
		t.Fatal("two draws are equal")
	}
	var squares, product float64
	for j := range x.Sum {
		squares += (x.Sum[j]*x.Sum[j] + y.Sum[j]*y.Sum[j]) / 2
		product += x.Sum[j] * y.Sum[j]
	}
	// The mean square of 2 dim draws has relative standard error 1/sqrt(dim), the
	// correlation too. This source has no seed: 7 standard errors fail a correct
	// sampler once in 10^11 runs.
	if off := squares/(dim*25) - 1; math.Abs(off) > 7/math.Sqrt(dim) {
		t.Errorf("the variance is off by a relative %v", off)
	}
	if r := product / (dim * 25); math.Abs(r) > 7/math.Sqrt(dim) {
		t.Errorf("two answers have correlation %v", r)
	}
}

// A machine that was copied in the middle of its life, or resumed twice from one
// snapshot, draws other noise in each copy: no word that is read before an answer is
// asked for, and so before it is paid for, goes into it. With one word in common the
// first coordinate would be the same in both.
func TestClonedMachinesDrawOtherNoise(t *testing.T) {
	for _, law := range laws {
		m := must(t)(law.make(1, 5))
		sums := []Sum{filled(m, 1, 20, 10)}
		n := NewLiveNoise()
		n.Answer(m, sums)
		if n.words.left != 0 || n.words.block != (systemWords{}).block {
			t.Errorf("%s: %d bytes of words outlive the answer", law.noise, n.words.left)
		}
		words := *n.words
		clone := &LiveNoise{&words}
		a, b := n.Answer(m, sums), clone.Answer(m, sums)
		same := 0
		for j := range a.Sum {
			if a.Sum[j] == b.Sum[j] {
				same++
			}
		}
		if same > 0 { // by chance in one run of the test in 700,000
			t.Errorf("%s: %d of 20 coordinates have the same noise", law.noise, same)
		}
	}
}

// Nothing turns reproducible noise into live noise: no conversion, no field or
// method that would set a source, no constructor that takes one, no zero value that
// draws.
func TestSeededNoiseIsNotLive(t *testing.T) {
	seeded, live := reflect.TypeFor[SeededNoise](), reflect.TypeFor[LiveNoise]()
	if seeded.ConvertibleTo(live) || reflect.PointerTo(seeded).ConvertibleTo(reflect.PointerTo(live)) {
		t.Error("SeededNoise converts to LiveNoise")
	}
	for i := range live.NumField() {
		if live.Field(i).IsExported() {
			t.Errorf("field %s of LiveNoise could be replaced from outside", live.Field(i).Name)
		}
	}
	if methods := reflect.PointerTo(live); methods.NumMethod() != 2 || methods.Method(0).Name != "Answer" || methods.Method(1).Name != "Part" {
		t.Error("LiveNoise does more than answer and draw a part")
	}
	if reflect.TypeOf(NewLiveNoise).NumIn() != 0 {
		t.Error("NewLiveNoise takes something to draw from")
	}
	m := mustGaussian(t, 1, 5)
	mustPanic(t, "a LiveNoise that NewLiveNoise did not make", func() { new(LiveNoise).Answer(m, []Sum{filled(m, 1, 2, 1)}) })
}

// The package has no interface that both kinds of noise would fit, so that a door
// has to name the one it takes.
func TestNoInterfaceForNoise(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source files: %v", err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if i, ok := n.(*ast.InterfaceType); ok && slices.ContainsFunc(i.Methods.List, answers) {
				t.Errorf("%s has an interface with the method Answer", name)
			}
			return true
		})
	}
}

func answers(f *ast.Field) bool {
	return slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return n.Name == "Answer" })
}

func BenchmarkAnswer(b *testing.B) {
	for _, dim := range []int{30, 1000, 1 << 16} {
		for _, law := range laws {
			m := must(b)(law.make(1, 5))
			sums := []Sum{filled(m, 1, dim, 10)}
			n := NewLiveNoise()
			b.Run(fmt.Sprintf("%s/%d", law.noise, dim), func(b *testing.B) {
				for b.Loop() {
					n.Answer(m, sums)
				}
			})
		}
	}
}
