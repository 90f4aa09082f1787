package graph

import (
	"math"
	"math/rand/v2"
	"testing"

	"p2pnode/learner"
)

// objective is J of [learned], all of it.
func objective(g learner.Graph, z, w [][]float64) float64 {
	var j float64
	for i := range w {
		for k := range i {
			j += z[i][k]*w[i][k] + w[i][k]*w[i][k]
		}
		j -= float64(g.Degree) * math.Log(degree(w, i)+1)
	}
	return j
}

func degree(w [][]float64, i int) (d float64) {
	for _, x := range w[i] {
		d += x
	}
	return d
}

// descend is the slow twin: projected gradient descent on the whole of J.
func descend(g learner.Graph, z [][]float64) [][]float64 {
	n := len(z)
	w := square(n)
	step := 1 / (2 + 2*float64(n*g.Degree)) // below the inverse curvature
	for range 200_000 {
		slope := make([]float64, n)
		for i := range w {
			slope[i] = float64(g.Degree) / (degree(w, i) + 1)
		}
		for i := range w {
			for k := range i {
				next := max(0, w[i][k]-step*(z[i][k]+2*w[i][k]-slope[i]-slope[k]))
				w[i][k], w[k][i] = next, next
			}
		}
	}
	return w
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

// Steps of random pairs reach the minimum that descent on the whole objective
// reaches, each lowering it, and the same weights: J is strictly convex.
func TestPairStepsReachTheMinimum(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 5))
		const n = 7
		g := learner.Graph{Rule: "learned", Degree: 1 + r.IntN(4), Gamma: 0.2}
		ends, z, w := make([]End, n), square(n), square(n)
		for i := range ends {
			ends[i] = randomEnd(r, 3)
			for k := range i {
				z[i][k] = (1 - similarity(g.Kernel, ends[i], ends[k])) / g.Gamma
			}
		}
		last := objective(g, z, w)
		for range 3000 {
			i, k := r.IntN(n), r.IntN(n)
			if i == k {
				continue
			}
			ends[i].Degree, ends[k].Degree = degree(w, i), degree(w, k)
			w[i][k] = Weight(g, ends[i], ends[k], w[i][k])
			w[k][i] = w[i][k]
			j := objective(g, z, w)
			if j > last+1e-6 { // weights are rounded
				t.Fatalf("seed %d: a step raised J from %v to %v", seed, last, j)
			}
			last = j
		}
		slow := descend(g, z)
		if least := objective(g, z, slow); math.Abs(last-least) > 1e-6 {
			t.Errorf("seed %d: J = %v by pairs, %v at once", seed, last, least)
		}
		zeros := 0
		for i := range w {
			for k := range i {
				if math.Abs(w[i][k]-slow[i][k]) > 1e-4 {
					t.Errorf("seed %d: W[%d][%d] = %v by pairs, %v at once", seed, i, k, w[i][k], slow[i][k])
				}
				if w[i][k] == 0 {
					zeros++
				}
			}
		}
		if zeros == 0 || zeros == n*(n-1)/2 {
			t.Errorf("seed %d: %d of %d weights are 0", seed, zeros, n*(n-1)/2)
		}
	}
}
