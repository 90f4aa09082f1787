package population

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// drawnCounts are noisy counts of keys, of which few are popular.
func drawnCounts(keys int, sd float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	noisy := make([]float64, keys)
	for i := range noisy {
		noisy[i] = math.Floor(20*r.ExpFloat64()*r.ExpFloat64()) + sd*r.NormFloat64()
	}
	return noisy
}

// The prior of many keys takes bounded memory, and has the bits of one whose likelihoods are all kept.
func TestManyCountsTakeBoundedMemory(t *testing.T) {
	const keys, sd, steps = 60_000, 5, 2
	noisy := drawnCounts(keys, sd)
	c := &counts{sd: sd, grid: countGrid(fewPeople)}
	if all := keys * len(c.grid); all < 2*mostKept {
		t.Fatalf("%d likelihoods are too few for this test", all)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.learn(noisy, steps)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 8*mostKept+1<<20 {
		t.Errorf("the prior took %d MiB", bytes>>20)
	}

	k := len(c.grid)
	likelihoods, prior := make([]float64, keys*k), make([]float64, k)
	for i, x := range noisy {
		l := likelihoods[i*k : (i+1)*k]
		for j, point := range c.grid {
			off := (min(x, c.grid[k-1]) - point) / sd
			l[j] = math.Exp(-min(off*off, mostSquares)/2) + leastLikelihood
		}
	}
	floats.AddConst(1/float64(k), prior)
	for range steps {
		next := make([]float64, k)
		for i := range noisy {
			l := likelihoods[i*k : (i+1)*k]
			floats.AddScaled(next, 1/floats.Dot(l, prior), l)
		}
		floats.Mul(next, prior)
		floats.ScaleTo(prior, 1/float64(keys), next)
	}
	if !slices.Equal(c.prior, prior) {
		t.Errorf("the prior is %v, want %v", c.prior, prior)
	}
}

// BenchmarkCounts learns the prior of some keys, and of as many as a catalogue may have.
func BenchmarkCounts(b *testing.B) {
	for _, keys := range []int{10_000, 1 << 17, 1 << 20} {
		noisy := drawnCounts(keys, 5)
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newCounts(noisy, 5, fewPeople)
			}
		})
	}
}
