package schemes

import (
	"math"
	"os"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/testnet/paper"
)

// small is a run of seconds of the given length.
func small(delta, steps int, update string) polarSetting {
	return polarSetting{delta: delta, update: update, clients: 10, records: 50, steps: steps}
}

func polarRun(t *testing.T, s polarSetting, seed uint64) paper.Numbers {
	t.Helper()
	n, err := s.run(seed)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// POLAR-SGD is about Delta times slower than gradient descent with the same steps:
// within 50 %, as a mean over three seeds.
func TestPolarIsAboutDeltaTimesSlower(t *testing.T) {
	for _, delta := range deltas {
		var mean float64
		for seed := range uint64(3) {
			slowdown := polarRun(t, small(delta, 500, minimum), seed+1)["slowdown"]
			mean += slowdown[len(slowdown)-1] / 3
		}
		if mean < float64(delta)/1.5 || mean > float64(delta)*1.5 {
			t.Errorf("Delta %d: %.3g times slower", delta, mean)
		}
	}
}

// All updates begin at the start and come closer to the optimum.
func TestPolarConverges(t *testing.T) {
	for _, update := range updates {
		got := polarRun(t, small(10, 500, update), 1)["excess"]
		if math.Abs(got[0]-polarStart) > 1e-9 || got[10] > polarStart/4 || got[50] > got[10]/5 {
			t.Errorf("%s: %.3g at the start, %.3g after 100 steps and %.3g after 500", update, got[0], got[10], got[50])
		}
	}
}

// An independent program's numbers, of 3 seeds as ours: a tenth of them is the spread
// at Delta 10, and the law of the weights is not said. Half as much or as little
// again; the whole size with P2PNODE_PAPERS set.
func TestPolarAgainstTheIndependentProgram(t *testing.T) {
	s := polarSetting{update: minimum, clients: 20, records: 500, steps: 500}
	if os.Getenv("P2PNODE_PAPERS") != "" {
		s.clients, s.records, s.steps = 100, 1000, 2000
	}
	for _, s.delta = range deltas {
		n := polarRun(t, s, 1)
		for i, k := range polarSteps {
			if k > s.steps {
				break
			}
			both := map[string][2]float64{"obfuscated": {n["excess"][k/s.delta], polarPublished[s.delta][i]}}
			if k <= 500 { // from there on that program's descent has a floor
				both[withoutObfuscation] = [2]float64{n["descent"][k], polarPublished[0][i]}
			}
			for name, c := range both {
				if c[0] > 1.5*c[1] || c[0] < c[1]/1.5 {
					t.Errorf("Delta %d, %s, step %d: %.3g, the independent program has %.3g", s.delta, name, k, c[0], c[1])
				}
			}
		}
	}
}

// The problem starts where it says, its gradient is that of its risk, and its optimum
// is where that vanishes.
func TestQuadratic(t *testing.T) {
	q, err := newQuadratic(5, 40, 3)
	if err != nil {
		t.Fatal(err)
	}
	best := q.optimum.RawVector().Data
	risk := func(w []float64) (sum float64) {
		for _, records := range q.clients {
			for _, r := range records {
				e := r.Y - floats.Dot(w, r.X)
				sum += e * e / 200
			}
		}
		return sum
	}
	w := []float64{3, -1, 0, 2, .5, -7, 1, 1, 4, 0}
	if got, want := q.excess(w), risk(w)-risk(best); math.Abs(got-want) > 1e-9 {
		t.Errorf("excess %v, by its records %v", got, want)
	}
	if got := q.excess(make([]float64, polarWidth)); math.Abs(got-polarStart) > 1e-9 {
		t.Errorf("starts at %v", got)
	}
	const h = 1e-5
	for k := range best {
		up, down := append([]float64(nil), best...), append([]float64(nil), best...)
		up[k] += h
		down[k] -= h
		if slope := (risk(up) - risk(down)) / (2 * h); math.Abs(slope) > 1e-6 {
			t.Errorf("coordinate %d: slope %v at the optimum", k, slope)
		}
	}
	for _, records := range q.clients {
		for _, r := range records {
			if math.Abs(r.Y) > 100 || r.Seq.HeldOut() || math.Abs(floats.Norm(r.X, 2)-1) > 1e-12 {
				t.Fatal("a record is held out or outside the task's ranges")
			}
		}
	}
}

// The descent is that of agents which hide nothing: one step a window and the weights
// all the same.
func TestDescentIsWhatUnobfuscatedAgentsDo(t *testing.T) {
	s := small(1, 30, minimum)
	q, err := newQuadratic(s.clients, s.records, 4)
	if err != nil {
		t.Fatal(err)
	}
	plain := s.task()
	plain.Polar.Obfuscation, plain.Polar.Bound, plain.Polar.Additive = "multiplicative", plain.Polar.Sum, 0
	descent := q.descent(s.steps)
	excess, err := s.simulate(plain, q, 4)
	if err != nil {
		t.Fatal(err)
	}
	for k := range descent {
		if math.Abs(excess[k]/descent[k]-1) > 1e-6 {
			t.Errorf("after %d steps %v, descent %v", k, excess[k], descent[k])
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

// Rows claim no epsilon and are not said to be private; nothing is said of what is not
// done.
func TestPolarReport(t *testing.T) {
	p, err := Polar().Plan(paper.Options{Seed: 1, Seeds: 1, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	if empty, err := p.Report(paper.Done{}); err != nil || len(empty.Rows) != 0 {
		t.Errorf("%v: rows of nothing: %+v", err, empty)
	}
	s := polarSettings(true)[0]
	n := polarRun(t, s, 1)
	r, err := p.Report(paper.Done{cellKey(s.key(), 1): n})
	if err != nil || len(r.Rows) != 5 {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, row := range r.Rows {
		if row.Valid || row.Epsilon != nil {
			t.Errorf("said to be private: %+v", row)
		}
	}
	if got := *r.Rows[1].Error; got != n["excess"][10] {
		t.Errorf("%v after 100 iterations, want %v", got, n["excess"][10])
	}
}

// Clients hear servers and nobody else.
func TestStarOfServers(t *testing.T) {
	for i, edges := range starOfServers(3) {
		want := polarServers
		if i < polarServers {
			want += 3 - 1
		}
		if len(edges) != want {
			t.Errorf("agent %d has %d edges, want %d", i, len(edges), want)
		}
		for _, e := range edges {
			if i >= polarServers && e.Peer >= learner.ID("0000005") {
				t.Errorf("client %d hears %s", i, e.Peer)
			}
		}
	}
}
