package learner_test

import (
	"testing"
)

// Vlaski and Sayed, eq. 3-4 without noise: agents over messages are the dense
// iteration, whatever the law of the noise would be, and without losses every
// edge counts in every round.
func TestDiffusionIsTheDenseIteration(t *testing.T) {
	for _, noise := range []string{"iid", "transmit-only", "graph-homomorphic"} {
		for _, loss := range []string{"squared", "logistic"} {
			for name, edges := range graphs(12) {
				task := roundsTask("diffusion", loss)
				task.Diffusion.Noise = noise
				n := newNetwork(task, edges)
				r := run(t, n.config(t))
				if d := apart(models(r), n.diffuse(task.Rounds.Count)); d > 1e-9 {
					t.Errorf("%s, %s, %s: %g from the dense iteration", noise, loss, name, d)
				}
				for i, s := range r.States {
					if s.Round != uint64(task.Rounds.Count) || s.Dropped+s.Asymmetric > 0 {
						t.Errorf("%s, %s: agent %d ended in round %d with %d edges dropped, %d asymmetric", loss, name, i, s.Round, s.Dropped, s.Asymmetric)
					}
				}
			}
		}
	}
}

// DP-dKM, algorithm 1 corrected, without noise: the same for the three operators.
func TestKMIsTheDenseIteration(t *testing.T) {
	for _, operator := range []string{"gradient", "proximal", "douglas-rachford"} {
		for _, loss := range []string{"squared", "logistic"} {
			for name, edges := range graphs(12) {
				task := roundsTask("km", loss)
				task.KM.Operator = operator
				task.Rounds.Count = 12
				if operator != "gradient" {
					task.KM.L1, task.KM.L2 = 0.05, 0.02
				}
				n := newNetwork(task, edges)
				r := run(t, n.config(t))
				if d := apart(models(r), n.iterate(task.Rounds.Count)); d > 1e-6 {
					t.Errorf("%s, %s, %s: %g from the dense iteration", operator, loss, name, d)
				}
			}
		}
	}
}

// Every deterministic scheme reaches its own fixed point, one linear system for
// the squared loss.
func TestFixedPointOfTheLinearSystem(t *testing.T) {
	for _, name := range []string{"diffusion", "km"} {
		for graph, edges := range graphs(12) {
			task := roundsTask(name, "squared")
			task.Rounds.Count = 400
			n := newNetwork(task, edges)
			if d := apart(models(run(t, n.config(t))), n.solve(t)); d > 1e-6 {
				t.Errorf("%s, %s: %g from the fixed point", name, graph, d)
			}
		}
	}
}
