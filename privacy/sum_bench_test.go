package privacy

import (
	"math/rand/v2"
	"testing"
)

// What one record costs: a gradient of 50 coordinates, inside the clip and over it.
func BenchmarkSumAdd(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	g := make([]float64, 50)
	for j := range g {
		g[j] = rng.NormFloat64()
	}
	for name, clip := range map[string]float64{"inside": 100, "clipped": 1} {
		b.Run(name, func(b *testing.B) {
			m, err := NewUnprotected(clip)
			if err != nil {
				b.Fatal(err)
			}
			sum := m.NewSum(1, len(g))
			for b.Loop() {
				sum.slots = 0
				sum.Add(g)
			}
		})
	}
}
