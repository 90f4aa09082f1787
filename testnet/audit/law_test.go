package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"p2pnode/privacy"
)

// The ratio from the densities of gonum, coordinate by coordinate and batch by
// batch.
func TestRatioAgainstDensities(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	vector := func() []float64 {
		return []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
	}
	for _, noise := range []privacy.Noise{privacy.Gaussian, privacy.Laplace} {
		for range 100 {
			worlds := &[2]world{}
			for b := range worlds {
				for range 1 + random.IntN(3) {
					worlds[b].sums = append(worlds[b].sums, vector())
				}
			}
			// The number of batches is the same in both worlds of an audit.
			n := min(len(worlds[0].sums), len(worlds[1].sums))
			worlds[0].sums, worlds[1].sums = worlds[0].sums[:n], worlds[1].sums[:n]
			l := law{noise: noise, scale: 0.5 + random.Float64()}
			y := vector()
			var likelihood [2]float64
			for b := range worlds {
				for _, sum := range worlds[b].sums {
					product := 1.0
					for j := range y {
						if noise == privacy.Laplace {
							product *= distuv.Laplace{Mu: sum[j], Scale: l.scale}.Prob(y[j])
						} else {
							product *= distuv.Normal{Mu: sum[j], Sigma: l.scale}.Prob(y[j])
						}
					}
					likelihood[b] += product
				}
			}
			want := math.Log(likelihood[1] / likelihood[0])
			if got := l.ratio(y, worlds); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("%s: ratio %v, want %v", noise, got, want)
			}
		}
	}
}

func TestRatioOutsideTheBound(t *testing.T) {
	l := law{noise: privacy.TruncatedLaplace, scale: 1, bound: 2}
	worlds := &[2]world{{sums: [][]float64{{-1}}}, {sums: [][]float64{{1}}}}
	for _, c := range []struct{ released, want float64 }{
		{0, 0}, {0.5, 1}, {2.5, math.Inf(1)}, {-2.5, math.Inf(-1)}, {9, 0},
	} {
		if got := l.ratio([]float64{c.released}, worlds); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("released %v: ratio %v, want %v", c.released, got, c.want)
		}
	}
	// A batch that makes the release possible is enough.
	worlds[0].sums = append(worlds[0].sums, []float64{0.5})
	worlds[1].sums = append(worlds[1].sums, []float64{1})
	if got, want := l.ratio([]float64{2.4}, worlds), math.Log(2*math.Exp(-1.4)/math.Exp(-1.9)); math.Abs(got-want) > 1e-12 {
		t.Errorf("ratio %v, want %v", got, want)
	}
}
