package tabular

import (
	"fmt"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// pace is how long and how far the nodes learn.
type pace struct {
	rounds int     // releases of each node
	drift  float64 // how far the noise may move the nodes' mean model, see [learner.Task.StepWithin]
}

// paceWithin is for files that nobody has looked at. Where nodes differ so much that
// others cannot help, so little noise does no harm; without noise, more rounds only
// take longer.
func paceWithin(budget privacy.Budget) pace {
	if budget == (privacy.Budget{}) {
		return pace{rounds: 512}
	}
	return pace{rounds: 64, drift: learner.UsualDrift}
}

// in returns the pace with another number of rounds. The step follows from that number,
// so that the models move equally far, as far as the largest step allows.
func (p pace) in(rounds int) pace {
	p.rounds = rounds
	return p
}

// automatic is the setting for nodes with this mean number of training records: one
// shared model that all nodes move in rounds (learner diffusion), and a personal one
// for each around it, with the usual value of every key. How long to learn follows from
// public numbers, so it depends on no record and costs no privacy.
func (c *coding) automatic(nodes int, records float64, budget privacy.Budget, pace pace) (setting, error) {
	t := *c.task()
	t.Release = learner.Release{
		Epsilon: budget.Epsilon, Delta: budget.Delta, Releases: pace.rounds,
		MaxEpsilon: max(100, budget.Epsilon), MaxDelta: 0.5, MaxReleases: pace.rounds,
		WakeSeconds: 60, MinWake: 1,
	}
	t.Rounds.Count, t.CohortSize = pace.rounds, 1<<20
	t.Rounds.Step = t.LongestStep()
	s := setting{task: &t, releases: pace.rounds, budget: budget}
	if budget == (privacy.Budget{}) {
		t.Release.Epsilon, t.Release.Delta = 1, 1e-6 // the task needs them, but they are not used
	} else if _, err := s.policy(); err != nil {
		return s, err
	} else {
		t.Rounds.Step = t.StepWithin(learner.Expected{Nodes: nodes, Records: records}, pace.drift)
	}
	if err := t.Validate(); err != nil {
		return s, fmt.Errorf("tabular: no task can be made of %s: %w", t.Name, err)
	}
	return s, nil
}
