package testnet

import (
	"testing"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// propagating is the synthetic problem with its task changed to model propagation:
// a clip and a ridge at which one release is worth most.
func propagating(seed uint64) (*Dataset, error) {
	d, err := Linear(seed, 60)
	if err != nil {
		return nil, err
	}
	d.Task.Learner = "propagation"
	d.Task.Mu, d.Task.Clip = 0.5, 0.35
	d.Task.Propagation = learner.Propagation{Ridge: 0.03, Tolerance: 1e-4}
	d.Task.Release.Releases, d.Task.Release.MaxReleases = 1, 1
	return d, nil
}

// One private release of each person's local model, smoothed over the graph, is
// worth having: the personal models around it beat the tuned lone models. The
// seeds are fixed, so the numbers are too.
func TestPropagationGainsOverAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it asks what learning gains, of two long simulations")
	}
	for _, c := range []struct{ epsilon, least float64 }{{1, 0.05}, {3, 0.2}} {
		r := mustRun(t, t.Context(), Config{
			Source: propagating, Budget: privacy.Budget{Epsilon: c.epsilon, Delta: 1e-6},
			Seed: 1, Simulate: true, NoCurve: true,
		})
		alone, private := mean(r.Rounds[0].trial(Alone).Errors), r.Rounds[0].trial(Private)
		if gain := (alone - mean(private.Errors)) / alone; gain < c.least {
			t.Errorf("epsilon %v: gain %.3f over the error %.4f alone, want at least %v", c.epsilon, gain, alone, c.least)
		} else {
			t.Logf("epsilon %v: error %.4f alone, %.4f private, gain %.3f", c.epsilon, alone, mean(private.Errors), gain)
		}
		for i, spent := range private.Spent {
			if spent < 0.999 || spent > 1 {
				t.Errorf("person %d has spent %v of her budget", i+1, spent)
			}
		}
		if private.Unfinished != 0 || private.Delivered > private.Expected {
			t.Errorf("%d unfinished, %d of %d delivered", private.Unfinished, private.Delivered, private.Expected)
		}
	}
}
