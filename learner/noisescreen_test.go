package learner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// noisy are the models of n neighbours around one that all have in common, with noise of
// the standard deviation 0.2, each at a distance of apart from it before.
func noisy(r *rand.Rand, n, p int, apart float64) *neighbourhood {
	var edges []Edge
	for i := range n {
		edges = append(edges, Edge{Peer: ID(fmt.Sprintf("%02d", i)), Weight: 1, Live: true})
	}
	h := &neighbourhood{self: "self"}
	h.set(edges)
	for i := range h.edges {
		m := gaussian(r, p, 0.2)
		m[i%p] += apart
		h.latest[i].round, h.latest[i].noiseStd, h.latest[i].model = 1, 0.2, m
	}
	return h
}

func gaussian(r *rand.Rand, p int, std float64) []float64 {
	v := make([]float64, p)
	for k := range v {
		v[k] = std * r.NormFloat64()
	}
	return v
}

func leftOut(h *neighbourhood) (list []int) {
	for i := range h.edges {
		if h.screened.leftOut(i) {
			list = append(list, i)
		}
	}
	return list
}

// Of honest neighbours noise has few left out, whatever the number of weights.
func TestTheScreenKeepsTheHonest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for p, most := range map[int]float64{2: 0.3, 20: 0.11, 300: 0.001} {
		const times, n = 200, 20
		out := 0
		for range times {
			h := noisy(r, n, p, 0)
			h.screen(h.latest, gaussian(r, p, 0.2), 0.2, 0.2)
			out += len(leftOut(h))
		}
		if share := float64(out) / (times * n); share > most {
			t.Errorf("%d weights: %.3f are left out", p, share)
		}
	}
}

// Where people differ by more than the noise, most stay.
func TestTheScreenIsOfNoUseWithoutMuchNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	h := noisy(r, 20, 20, 10)
	if h.screen(h.latest, gaussian(r, 20, 0.2), 0.2, 0.2); len(leftOut(h)) > 0 {
		t.Errorf("%v are left out", leftOut(h))
	}
	for i := range h.edges {
		h.latest[i].noiseStd = 0
	}
	if h.screen(h.latest, make([]float64, 20), 0, 0); len(leftOut(h)) > 0 {
		t.Errorf("without noise %v are left out", leftOut(h))
	}
}

// Liars that are far away, or agree, are left out, also when they are the first to speak.
func TestTheScreenLeavesOutWhatNoiseDoesNotMake(t *testing.T) {
	const p = 20
	far := make([]float64, p)
	far[3] = 10
	r := rand.New(rand.NewPCG(5, 6))
	near := gaussian(r, p, 0.2)
	nearly := append([]float64{near[0] + 0.01}, near[1:]...)
	for name, models := range map[string][][]float64{"far": {far}, "agreed": {near, nearly}} {
		for _, first := range []bool{false, true} {
			h := noisy(r, 20, p, 0)
			for i := range h.edges {
				switch {
				case i < len(models):
					h.latest[i].model = models[i]
				case first:
					h.latest[i].round, h.latest[i].model = 0, nil
				}
			}
			own := gaussian(r, p, 0.2)
			if h.screen(h.latest, own, 0.2, 0.2); len(leftOut(h)) < len(models) || leftOut(h)[len(models)-1] != len(models)-1 {
				t.Errorf("%s, the first to speak %v: %v are left out", name, first, leftOut(h))
			}
			mean, std, heard := h.mean(make([]float64, p), own, 0.2, math.Inf(1))
			if heard == first || squaredDistance(mean, own, 100) > 2 || std > 0.2 {
				t.Errorf("%s, the first to speak %v: heard %v, the mean is %v", name, first, heard, mean)
			}
		}
	}
	few := noisy(r, enoughToJudge-1, p, 0)
	few.latest[0].model = far
	if few.screen(few.latest, gaussian(r, p, 0.2), 0.2, 0.2); len(leftOut(few)) > 0 {
		t.Errorf("of few neighbours %v are left out", leftOut(few))
	}
}

// A liar that adds noise of its own to a small shift is found after some rounds. By then
// hardly more honest neighbours are left out than by one round's noise, and a neighbour
// that leaves is forgotten.
func TestTheScreenRemembersALieThatIsRepeated(t *testing.T) {
	const p, n, rounds, times = 20, 20, 40, 20
	r := rand.New(rand.NewPCG(7, 8))
	found, late, honest := 0, 0, 0
	for range times {
		h := noisy(r, n, p, 0)
		for round := range rounds {
			for i := range h.latest {
				m := gaussian(r, p, 0.2)
				if i == 0 { // 0.6 from the others, who are 1.3 from each other
					m[3] += 0.6
				}
				h.latest[i].model, h.latest[i].round = m, uint64(round+1)
			}
			h.screen(h.latest, gaussian(r, p, 0.2), 0.2, 0.2)
			switch out := leftOut(h); {
			case round == 0 && h.screened.leftOut(0):
				found++
			case round == rounds-1:
				if h.screened.leftOut(0) {
					late++
				}
				honest += len(out)
			}
		}
		h.set(h.edges[1:])
		h.screen(h.latest, gaussian(r, p, 0.2), 0.2, 0.2)
		if len(h.screened.past) != n-1 {
			t.Fatalf("remembers %d of %d neighbours", len(h.screened.past), n-1)
		}
	}
	if found > times/2 || late < times {
		t.Errorf("of %d liars %d are left out in the first round, and %d in the last", times, found, late)
	}
	if share := float64(honest-late) / (times * (n - 1)); share > 0.15 {
		t.Errorf("%.3f of the honest are left out", share)
	}
}

// The mean difference is that of new models only: to hear a model once is to count it
// once.
func TestTheScreenCountsAModelOnce(t *testing.T) {
	h := noisy(rand.New(rand.NewPCG(9, 10)), 20, 20, 0)
	for range 3 {
		h.screen(h.latest, make([]float64, 20), 0.2, 0.2)
	}
	if p := h.screened.past["00"]; p.squares != 1 || squaredDistance(p.sum, h.latest[0].model, 1) != 0 {
		t.Errorf("%+v of one model", p)
	}
}
