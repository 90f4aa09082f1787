package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// Under Laplace laws the distance is one in the l1 norm, which is up to sqrt(p) times
// that in l2: a record that moves all coordinates alike moves the vector so far, of
// both learners that release some.
func TestWholeVectorsAreChargedInTheNormOfTheNoise(t *testing.T) {
	records := func(y float64) []Record {
		return []Record{{Seq: 1, X: []float64{1 / math.Sqrt(3), 1 / math.Sqrt(3), 1 / math.Sqrt(3)}, Y: y}}
	}
	check := func(name string, norm, apart float64, m privacy.Mechanism) {
		if covered := m.Distance(); apart > covered || apart < covered*(1-1e-3) {
			t.Errorf("%s, l%v: %v apart, the mechanism is for %v", name, norm, apart, covered)
		}
	}
	for law, norm := range map[privacy.Noise]float64{privacy.Gaussian: 2, privacy.Laplace: 1} {
		task := privateTask("squared", "graph-homomorphic")
		task.Lambda, task.Rounds.Step = 0, 0.01
		w := newTwoWorlds(t, 1, task, privatePolicy(task, law, ""), [2][]Record{records(100), records(-100)})
		w.spread = 0.1 // nothing leaves the ball
		for range 3 {
			apart, m := w.turn()
			check("diffusion", norm, apart, m)
		}

		task = kmTask("douglas-rachford", "squared")
		task.Lambda = 0
		var ask [2]*Query
		var released [2][]float64
		for i, y := range []float64{100, -100} {
			a := must(New(Config{Self: "a", Task: task, Policy: privatePolicy(task, law, ""), WakeMean: 1, Schedule: source()})).(*km)
			if err := a.Records(records(y), nil); err != nil {
				t.Fatal(err)
			}
			a.Neighbours(0, []Edge{{Peer: "b", Weight: 1, Live: true}})
			ask[i] = a.Tick(a.next).Ask
			released[i] = task.proxLoss(a.training.turn(task), task.Clip, a.published)
		}
		check("km", norm, floats.Distance(released[0], released[1], norm), ask[0].Mechanism)
	}
}

// The noise level told: that of the step's state and of v; in the state that of the
// neighbours, of phi and of the share of v that is combined.
func TestNoiseLevelOfWholeVectors(t *testing.T) {
	for noise, share := range map[string]float64{"transmit-only": 0, "graph-homomorphic": -0.25} { // a_kk c
		task := privateTask("logistic", noise)
		task.Lambda = 1
		records := testExamples(rand.New(rand.NewPCG(14, 1)), 5, 3, "logistic")
		a := must(New(Config{Self: "a", Task: task, Policy: privatePolicy(task, "", ""), WakeMean: 1, Schedule: source()})).(*diffusion)
		if err := a.Records(records, nil); err != nil {
			t.Fatal(err)
		}
		a.Neighbours(0, []Edge{{Peer: "b", Weight: 1, Live: true}})
		now := a.next
		a.Tick(now)
		shrink, state := 1-2*task.Rounds.Step*1./5, 0.0
		for round := range uint64(3) {
			fresh := a.asked.Mechanism.NoiseStd() / 5
			a.Released(now, privacy.Answer{Sum: []float64{1, 2, 3}, Slots: 5, Cohorts: []privacy.Cohort{0}})
			phi := shrink * state
			wantClose(t, noise, []float64{a.publishedStd}, []float64{math.Hypot(phi, fresh)}, 1e-12)
			for _, m := range []Message{modelOf("b", round+1, 3, 1, 1, 1), ack("b", round+1, min(1, float64(round)))} { // weight 1/4
				if _, err := a.Receive(now, m); err != nil {
					t.Fatal(err)
				}
			}
			state = math.Sqrt(0.25*0.25 + 0.75*0.75*phi*phi + share*share*fresh*fresh)
		}
	}
}
