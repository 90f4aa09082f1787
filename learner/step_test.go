package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// Eq. 4 is a gradient step on the block with the block's Lipschitz constant:
// T_i - [grad Q]_i / L_i with L_i = D_i (1 + mu c_i L_i^loc).
func TestEquation4IsABlockGradientStep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		own, neighbours, gradient := normals(r, 5), normals(r, 5), normals(r, 5)
		mu, c, curvature, degree := r.ExpFloat64(), r.Float64(), r.ExpFloat64(), r.ExpFloat64()
		want := make([]float64, 5)
		for k := range want {
			block := degree*(own[k]+mu*c*gradient[k]) - degree*neighbours[k] // eq. 3
			want[k] = own[k] - block/(degree*(1+mu*c*curvature))
		}
		kept := append([]float64(nil), own...)
		wantClose(t, "step", step(make([]float64, 5), own, neighbours, gradient, mixing(mu, c, curvature), mu, c), want, 1e-12)
		wantClose(t, "the old model", own, kept, 0)
	}
}

// Proposition 1 of the paper: with the block's own constant no step raises Q.
func TestStepsNeverRaiseQ(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, loss := range lossNames {
		task := plainTask(loss, 3)
		p := task.Dimension()
		weights := [][]float64{{0, 1, 0.5}, {1, 0, 0}, {0.5, 0, 0}}
		records := [][]Record{draw(r, task, normals(r, p), 4, 1), draw(r, task, normals(r, p), 9, 1), draw(r, task, normals(r, p), 60, 1)}
		models := [][]float64{normals(r, p), normals(r, p), normals(r, p)}
		before, err := Q(task, records, weights, models)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			i := r.IntN(3)
			m := len(records[i])
			gradient, one := make([]float64, p), make([]float64, p)
			for _, rec := range records[i] {
				task.loss().gradient(one, models[i], rec.X, rec.Y)
				floats.AddScaled(gradient, 1/float64(m), one)
			}
			floats.AddScaled(gradient, 2*task.regularisation(m), models[i])
			neighbours := make([]float64, p)
			for j, w := range weights[i] {
				floats.AddScaled(neighbours, w/floats.Sum(weights[i]), models[j])
			}
			c := task.confidence(m)
			models[i] = step(models[i], models[i], neighbours, gradient, mixing(task.Mu, c, task.curvature(m)), task.Mu, c)
			after, _ := Q(task, records, weights, models)
			if after > before+1e-12 {
				t.Fatalf("%s: Q rose from %v to %v", loss, before, after)
			}
			before = after
		}
	}
}

func TestProjectIsTheNearestPointOfTheBall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		v := normals(r, 4)
		p := append([]float64(nil), v...)
		project(p, 1.5)
		if floats.Norm(p, 2) > 1.5*(1+1e-15) {
			t.Errorf("norm %v outside the ball", floats.Norm(p, 2))
		}
		if floats.Norm(v, 2) <= 1.5 {
			wantClose(t, "a point inside", p, v, 0)
			continue
		}
		for range 20 {
			other := normals(r, 4)
			floats.Scale(1.5*r.Float64()/floats.Norm(other, 2), other)
			if floats.Distance(v, other, 2) < floats.Distance(v, p, 2) {
				t.Error("another point of the ball is nearer")
			}
		}
	}
}

func TestConfidenceIsCappedAtOne(t *testing.T) {
	task := &Task{ConfidenceAt: 40}
	for m, want := range map[int]float64{10: 0.25, 40: 1, 4000: 1} {
		if got := task.confidence(m); got != want {
			t.Errorf("confidence(%d) = %v, want %v", m, got, want)
		}
	}
	if alpha := mixing(2, 0.5, 3); math.Abs(alpha-0.25) > 1e-15 {
		t.Errorf("alpha = %v, want 1/4", alpha)
	}
}

// Radii and models whose squares overflow are projected too.
func TestProjectAtTheEndsOfFloat64(t *testing.T) {
	for _, c := range []struct{ radius, size float64 }{{1e200, 1e201}, {1e-200, 1e-199}, {1e-200, 1e200}} {
		v := []float64{c.size, -c.size}
		project(v, c.radius)
		if norm := floats.Norm(v, 2); !(norm <= c.radius*(1+1e-15)) {
			t.Errorf("the norm is %v, want %v", norm, c.radius)
		}
	}
}
