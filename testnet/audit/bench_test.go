package audit

import (
	"math/rand/v2"
	"testing"

	"p2pnode/privacy"
)

// One game of two releases of 20 coordinates.
func BenchmarkGame(b *testing.B) {
	p, err := newPath("personal", privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-3}, Dimension: 20, Clip: clip, Releases: 2}, slots)
	if err != nil {
		b.Fatal(err)
	}
	worlds := p.worlds(axisCanary(20))
	random := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.score(worlds, 1, random); err != nil {
			b.Fatal(err)
		}
	}
}
