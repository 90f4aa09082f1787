package tabular

import (
	"fmt"
	"math"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// The constants of learning, the same for every file. They were chosen on
// validation parts of the training records of School, and on MovieLens and made-up
// files on single folds of the kind that the documentation reports; how long to learn follows from public numbers, so that
// no record decides it and it costs no privacy.
const (
	constant  = 0.5 // the coordinate of the intercept
	degree    = 20  // neighbours
	clipShare = 0.2 // of the steepest slope of a record's loss that is not unusual
	// bearable is how much of the records' pull the noise may be before the way is
	// shortened for it.
	bearable = 0.25
)

// pace is how long the nodes learn.
type pace struct {
	rounds int // releases of each node
	// noise is the length that the noise in the nodes' mean model may have, in units
	// of a usual model's; beyond it more steps cost more than they bring.
	noise float64
}

// paceWithin is for files nobody has looked at. Where the nodes differ so much that
// others cannot help, so little noise does no harm either; without any, more rounds
// only take longer.
func paceWithin(budget privacy.Budget) pace {
	if budget == (privacy.Budget{}) {
		return pace{rounds: 512}
	}
	return pace{rounds: 64, noise: 0.2}
}

// in is the pace with another number of rounds. The step follows from it, so that the
// way is as long as far as the largest step allows.
func (p pace) in(rounds int) pace {
	p.rounds = rounds
	return p
}

// lossConstants depend on the loss only.
type lossConstants struct {
	smoothness float64 // of the loss in the score
	slope      float64 // of a usual record
	length     float64 // of a usual model
}

func constantsOf(loss string) lossConstants {
	switch loss {
	case "logistic":
		return lossConstants{smoothness: 0.25, slope: 1, length: 4}
	case "multinomial":
		return lossConstants{smoothness: 0.5, slope: math.Sqrt2, length: 2}
	}
	return lossConstants{smoothness: 2, slope: 2, length: 1}
}

// defaults is a task without features, of one shared model that all nodes move in
// rounds (learner diffusion) and a personal one for each around it. Its step is the
// largest that is sure to descend. Lambda is small, as the personal fit has a penalty of
// its own. The eta of that is only a guess: twice what [learner.FitPersonal] takes
// for plausible of features as long as a usual row's.
func defaults(loss string, rounds int) *learner.Task {
	k := constantsOf(loss)
	return &learner.Task{
		Name: "table", Learner: "diffusion", Loss: loss, Constant: constant,
		Mu: 1, Lambda: 0.001, Clip: clipShare * k.slope, ConfidenceAt: 1, Radius: 30, CohortSize: 1 << 20,
		Graph:     learner.Graph{Rule: "random", Degree: degree},
		Local:     learner.Local{Eta: k.smoothness / 16, EtaConstant: k.smoothness / 160, Kappa: 1},
		Rounds:    learner.Rounds{Count: rounds, Seconds: 10, Step: 2 / (k.smoothness * (1 + constant*constant))},
		Diffusion: learner.Diffusion{Noise: "iid"},
		Release: learner.Release{
			Epsilon: 1, Delta: 1e-6, Releases: rounds, MaxEpsilon: 100, MaxDelta: 0.5, MaxReleases: rounds,
			WakeSeconds: 60, MinWake: 1,
		},
	}
}

// automatic is the setting for nodes with a mean number of training records. Its
// step is the default, or less where the noise of so many would be too long: the
// nodes' mean model takes in
//
//	step sqrt(rounds p / nodes) std / records
//
// of it, with std that of one coordinate of one release, beside at most step rounds
// clip of what the records say.
func (c *coding) automatic(nodes int, records float64, budget privacy.Budget, pace pace) (setting, error) {
	t := defaults(c.target.loss(), pace.rounds)
	of := c.task()
	t.Name, t.Features, t.UsualNorm, t.Target = of.Name, of.Features, of.UsualNorm, of.Target
	// The constants are for targets within 1 of their center.
	unit := c.target.unit()
	t.Clip *= unit
	t.Radius *= unit
	s := setting{task: t, releases: pace.rounds, budget: budget}
	if err := t.Validate(); err != nil {
		return s, fmt.Errorf("tabular: no task can be made of %s: %w", t.Name, err)
	}
	if budget == (privacy.Budget{}) {
		return s, nil
	}
	policy, err := s.policy()
	if err != nil {
		return s, err
	}
	m, _ := policy.Next(0)
	noise := m.NoiseStd() / records * math.Sqrt(float64(pace.rounds*t.Dimension())/float64(nodes))
	// What the records can pull at most, against which the noise must not be large:
	// else the others' model would be little else, however short the way.
	drowned := noise / (float64(pace.rounds) * t.Clip)
	length := pace.noise * constantsOf(t.Loss).length * unit * min(1, bearable/drowned)
	t.Rounds.Step = min(t.Rounds.Step, length/noise)
	return s, nil
}
