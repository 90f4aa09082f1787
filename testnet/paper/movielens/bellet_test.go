package movielens

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// value is L_i, written out.
func (a *belletAgent) value(theta []float64) float64 {
	sum := a.lambda * floats.Dot(theta, theta)
	for j, x := range a.x {
		d := a.y[j] - floats.Dot(x, theta)
		sum += a.scale * d * d
	}
	return sum
}

func smallBellet(sum bool) *bellet {
	d := made(5, 15)
	s := splitOf(d, 9)
	return newBellet(d, &s, 9, reading{name: "test", sum: sum, updates: []int{5}})
}

func TestLocalModelIsTheMinimum(t *testing.T) {
	for _, sum := range []bool{true, false} {
		a := &smallBellet(sum).agents[7]
		theta := a.local()
		least := a.value(theta)
		for k := range theta {
			for _, step := range []float64{-1e-3, 1e-3} {
				moved := slices.Clone(theta)
				moved[k] += step
				if a.value(moved) <= least {
					t.Fatalf("sum %v: coordinate %d can be better", sum, k)
				}
			}
		}
		gradient := make([]float64, rank)
		a.gradient(gradient, theta, math.Inf(1), 2)
		floats.AddScaled(gradient, 2*a.lambda, theta)
		if floats.Norm(gradient, math.Inf(1)) > 1e-9 {
			t.Errorf("sum %v: the gradient at the minimum is %v", sum, gradient)
		}
	}
}

// Property: clipped, the gradient of a single rating is no longer than the clip in
// the norm it is clipped in, and points the same way.
func TestClip(t *testing.T) {
	a := smallBellet(true).agents[3]
	theta := make([]float64, rank)
	for k := range theta {
		theta[k] = float64(k - 9)
	}
	for _, norm := range []float64{1, 2} {
		for j := range a.x {
			one := belletAgent{x: a.x[j : j+1], y: a.y[j : j+1], scale: 1}
			whole, clipped := make([]float64, rank), make([]float64, rank)
			one.gradient(whole, theta, math.Inf(1), norm)
			one.gradient(clipped, theta, 0.5, norm)
			if got, want := floats.Norm(clipped, norm), min(0.5, floats.Norm(whole, norm)); math.Abs(got-want) > 1e-12 {
				t.Fatalf("norm %g: length %g, want %g", norm, got, want)
			}
			if floats.Dot(whole, clipped) < 0 {
				t.Fatal("clipping turned the gradient")
			}
		}
	}
}

// Without noise the updates end where the gradient (3) of the joint objective is 0.
func TestDescentEndsAtTheOptimum(t *testing.T) {
	b := smallBellet(false)
	models := make([][]float64, len(b.agents))
	for i := range models {
		models[i] = make([]float64, rank)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		for i := range models {
			b.update(models, i, 0, r)
		}
	}
	for i, own := range models {
		a, gradient := &b.agents[i], make([]float64, rank)
		a.gradient(gradient, own, math.Inf(1), 2)
		for k := range own {
			g := own[k] + belletMu*a.confidence*(gradient[k]+2*a.lambda*own[k])
			for _, j := range b.neighbours[i] {
				g -= models[j][k] / float64(len(b.neighbours[i]))
			}
			if math.Abs(g) > 1e-3 {
				t.Fatalf("agent %d is %g from its optimum", i, g)
			}
		}
	}
}

// What the noise costs grows as epsilon falls, and follows from the seed.
func TestNoise(t *testing.T) {
	b := smallBellet(true)
	b.quiet, b.updates = []int{5}, []int{5}
	errorAt := func(eps float64) float64 {
		return floats.Sum(b.descend(eps, rand.New(rand.NewPCG(1, 1)))[0]) / users
	}
	if e := []float64{errorAt(0), errorAt(1), errorAt(0.01)}; !slices.IsSorted(e) || e[2] < 1.05*e[0] {
		t.Errorf("errors %v", e)
	}
	if errorAt(1) != errorAt(1) {
		t.Error("the same seed gives other numbers")
	}
}

func TestNearest(t *testing.T) {
	list := made(6, 15).ratings
	joined := nearest(list, 10)
	vectors := make([][]float64, users)
	for u := range vectors {
		vectors[u] = make([]float64, movies)
	}
	for _, r := range list {
		vectors[r.user][r.movie] = r.stars
	}
	cosine := func(u, v int) float64 {
		return floats.Dot(vectors[u], vectors[v]) / floats.Norm(vectors[u], 2) / floats.Norm(vectors[v], 2)
	}
	for _, u := range []int{0, 17, users - 1} {
		var all []float64
		for v := range users {
			if v != u {
				all = append(all, cosine(u, v))
			}
		}
		slices.Sort(all)
		tenth := all[len(all)-10]
		nearer := 0
		for _, v := range joined[u] {
			if !slices.Contains(joined[v], u) {
				t.Errorf("%d is joined with %d and not the other way", u, v)
			}
			if cosine(u, v) >= tenth-1e-12 {
				nearer++
			}
		}
		if nearer < 10 {
			t.Errorf("%d is joined with %d of the ten nearest", u, nearer)
		}
	}
}
