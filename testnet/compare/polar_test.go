package compare

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// POLAR-SGD is about Delta times slower than gradient descent with the same steps:
// within 50 %, as a mean over three seeds.
func TestPolarIsAboutDeltaTimesSlower(t *testing.T) {
	for _, delta := range []int{10, 20, 50} {
		rows := measured(t, 3, polarTrial(delta, 500))
		if got := rows[1].Mean; rows[1].Measure != "slowdown" || got < float64(delta)/1.5 || got > float64(delta)*1.5 {
			t.Errorf("Delta %d: %.3g times slower", delta, got)
		}
		if rows[0].Valid == "yes" || rows[0].Epsilon != 0 {
			t.Errorf("Delta %d is said to be private: %+v", delta, rows[0])
		}
	}
}

func TestPolarConverges(t *testing.T) {
	few, many := measured(t, 2, polarTrial(10, 100)), measured(t, 2, polarTrial(10, 1000))
	if few[0].Mean > polarStart/4 || many[0].Mean > few[0].Mean/10 {
		t.Errorf("%.3g left after 100 steps and %.3g after 1000, of %v", few[0].Mean, many[0].Mean, polarStart)
	}
}

// The toy starts where it says, its gradient is that of its risk, and its optimum is
// where that vanishes.
func TestSquaredProblem(t *testing.T) {
	p := newSquaredProblem(3)
	zero := make([]float64, polarWidth)
	if got := p.excess(zero); math.Abs(got-polarStart) > 1e-9 {
		t.Errorf("starts at %v", got)
	}
	if got := floats.Norm(p.gradient(p.optimum), 2); got > 1e-9 {
		t.Errorf("the gradient at the optimum is %g long", got)
	}
	const h = 1e-5
	for k, want := range p.gradient(zero) {
		up, down := append([]float64(nil), zero...), append([]float64(nil), zero...)
		up[k], down[k] = h, -h
		if got := (p.risk(up) - p.risk(down)) / (2 * h); math.Abs(got-want) > 1e-6 {
			t.Errorf("coordinate %d: slope %v, gradient %v", k, got, want)
		}
	}
	for _, records := range p.clients {
		for _, r := range records {
			if math.Abs(r.Y) > 100 {
				t.Errorf("a target is outside the task's range")
			}
		}
	}
}

func TestStepsTo(t *testing.T) {
	descent := []float64{8, 4, 1}
	for _, c := range []struct{ excess, want float64 }{{8, 0}, {4, 1}, {2, 1.5}, {1, 2}, {0.5, 2}} {
		if got := stepsTo(c.excess, descent); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v steps, want %v", c.excess, got, c.want)
		}
	}
}
