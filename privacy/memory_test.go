package privacy

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// Sums and answers in used memory are those in new memory.
func TestMemoryChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 20))
	var memory Memory
	var got Answer
	for seed := range uint64(200) {
		m, clip, _ := randomMechanism(t, rng)
		dim := 1 + rng.IntN(20)
		memory.Forget()
		var fresh, used []Sum
		for c := range 1 + rng.IntN(3) {
			a, b := m.NewSum(Cohort(c), dim), memory.NewSum(m, Cohort(c), dim)
			for range rng.IntN(5) {
				g := randomGradient(rng, dim, clip)
				a.Add(g)
				b.Add(g)
				a.AddEmpty(g)
				b.AddEmpty(g)
			}
			fresh, used = append(fresh, a), append(used, b)
		}
		want := NewSeededNoise(seed).Answer(m, fresh)
		NewSeededNoise(seed).AnswerInto(&got, m, used)
		if !reflect.DeepEqual(got.Sum, want.Sum) || got.Slots != want.Slots || !reflect.DeepEqual(got.Cohorts, want.Cohorts) {
			t.Fatalf("%+v: got %v, want %v", m, got, want)
		}
	}
}

// A sum that was paid for, or a copy of it, must not turn into another one whose
// clip is larger: it dies with its memory.
func TestForgottenSumsAreDead(t *testing.T) {
	m := must(t)(NewGaussian(1, 1))
	large := must(t)(NewGaussian(100, 1))
	var memory Memory
	sum := memory.NewSum(m, 1, 2)
	sum.Add([]float64{1, 0})
	paid := sum
	memory.Forget()
	other := memory.NewSum(large, 1, 2)
	other.Add([]float64{0, 100})
	for name, use := range map[string]func(){
		"Add":      func() { sum.Add([]float64{1, 0}) },
		"AddEmpty": func() { sum.AddEmpty([]float64{1, 0}) },
		"Answer":   func() { NewLiveNoise().Answer(m, []Sum{paid}) },
		"seeded":   func() { NewSeededNoise(1).Answer(m, []Sum{paid}) },
	} {
		if !panics(use) {
			t.Errorf("%s took a sum whose memory was used again", name)
		}
	}
	NewLiveNoise().Answer(large, []Sum{other}) // lives
}

// A copy of a memory knows nothing of the sums that live in the original, and of
// their deaths.
func TestACopiedMemoryMakesNoSums(t *testing.T) {
	small, large := must(t)(NewGaussian(1, 1)), must(t)(NewGaussian(100, 1))
	var memory Memory
	paid := memory.NewSum(small, 1, 1)
	paid.Add([]float64{1})
	want := paid.total[0]
	other := memory
	other.Forget()
	if !panics(func() { s := other.NewSum(large, 1, 1); s.Add([]float64{100}) }) {
		t.Error("a copy of a memory makes sums")
	}
	if paid.total[0] != want || !paid.alive() {
		t.Errorf("a paid sum is %d now, was %d", paid.total[0], want)
	}
}

// A memory refuses what a sum in memory of its own does.
func TestAMemoryMakesNoSumOfAWholeVector(t *testing.T) {
	m := must(t)(must(t)(NewGaussian(1, 1)).Bounded(1, 1))
	mustPanic(t, "a sum of records by a bounded mechanism", func() { new(Memory).NewSum(m, 1, 1) })
}

// Two sums of one release have memory of their own.
func TestLivingSumsAreApart(t *testing.T) {
	m := must(t)(NewUnprotected(10))
	var memory Memory
	for range 3 {
		memory.Forget()
		a, b := memory.NewSum(m, 1, 1), memory.NewSum(m, 2, 1)
		a.Add([]float64{1})
		b.Add([]float64{4})
		a.Add([]float64{1})
		if a.total[0]*2 != b.total[0] {
			t.Fatalf("sums %d and %d", a.total[0], b.total[0])
		}
	}
}

// After the first, releases in one memory allocate nothing.
func TestMemoryAllocatesOnce(t *testing.T) {
	m := must(t)(NewGaussian(1, 1))
	noise, g := NewSeededNoise(1), []float64{3, 4, 0.1}
	var memory Memory
	var a Answer
	var sums []Sum
	release := func() {
		memory.Forget()
		sums = append(sums[:0], memory.NewSum(m, 1, len(g)))
		sums[0].Add(g)
		noise.AnswerInto(&a, m, sums)
	}
	release()
	if n := testing.AllocsPerRun(100, release); n != 0 {
		t.Errorf("%v allocations a release", n)
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return
}
