package linear

import (
	"math"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// joint is the objective Q of the paper, with the mean loss of raw features, in a form
// for the agents of the product. Their step follows from a public bound on the
// features, 1, while the paper's follows from the data. So features are measured in a
// unit in which the steepest person's data has the curvature the bound allows: with x'
// = s x and theta = s theta' it is Q(theta) = s^2 Q'(theta') for mu' = mu/s^2, lambda'
// = lambda s^2, and everybody takes the step of the paper for the largest spectral norm
// of anybody. Nothing is private here.
type joint struct {
	*problem
	task    *learner.Task
	unit    float64 // 1/s
	records [][]learner.Record
	longest float64 // norm of any x'
}

// unit is the length of raw features that the agents take as 1. It bounds the curvature
// of everyone's data or, if it must be public, follows from the ranges of the features.
func (d *problem) unit(public bool) float64 {
	if public {
		return math.Sqrt(float64(d.p))
	}
	var largest float64
	for i := range d.people {
		largest = max(largest, d.people[i].train.spectrum())
	}
	return math.Sqrt(largest)
}

// pose measures features in the given unit.
func (d *problem) pose(mu, unit float64) *joint {
	j := &joint{problem: d, task: task(d.p), unit: unit}
	j.task.Mu, j.task.Lambda, j.task.Radius = mu*unit*unit, 1/(unit*unit), 1e9
	for i := range d.people {
		j.records = append(j.records, d.people[i].train.records(func([]float64) float64 { return 1 / unit }))
		for _, r := range j.records[i] {
			j.longest = max(j.longest, floats.Norm(r.X, 2))
		}
	}
	return j
}

// scaled returns models times a factor.
func scaled(models [][]float64, factor float64) [][]float64 {
	out := make([][]float64, len(models))
	for i := range models {
		out[i] = floats.ScaleTo(make([]float64, len(models[i])), factor, models[i])
	}
	return out
}

// objective returns Q of models of raw features, in raw units.
func (j *joint) objective(models [][]float64) (float64, error) {
	q, err := learner.Q(j.task, j.records, sim.Weights(j.edges), scaled(models, j.unit))
	return q / (j.unit * j.unit), err
}

// minimiser returns the minimiser of Q as models of raw features.
func (j *joint) minimiser() ([][]float64, error) {
	best, err := learner.MinimiseQ(j.task, j.records, sim.Weights(j.edges))
	return scaled(best, 1/j.unit), err
}

// descend lets the agents of the product minimise Q from the given models, or from zero
// (nil), with rounds times as many updates as there are agents. It returns the models
// for raw features. It calls see, if not nil, about four times a round.
func (j *joint) descend(start [][]float64, rounds int, seed uint64, see func(p point, models [][]float64)) ([][]float64, error) {
	clip, err := privacy.NewUnprotected(j.longest)
	if err != nil {
		return nil, err
	}
	policy := privacy.Policy{Schedule: privacy.NewSchedule(privacy.Step{Mechanism: clip, Count: 1})}
	c := sim.Config{Task: j.task, Seed: seed, WakeMean: time.Second, Until: time.Duration(rounds) * time.Second, Every: time.Second / 4}
	start = scaled(start, j.unit)
	for i := range j.people {
		p := sim.Participant{ID: sim.Name(i), Records: j.records[i], Edges: j.edges[i], Policy: policy}
		if len(start) > 0 {
			p.Start = &learner.State{Round: 1, Model: start[i]}
			for _, e := range j.edges[i] {
				p.Start.Heard = append(p.Start.Heard, learner.Heard{Peer: e.Peer, Weight: e.Weight, Round: 1, Model: start[sim.Number(e.Peer)]})
			}
		}
		c.Participants = append(c.Participants, p)
	}
	if see != nil {
		c.Sample = func(_ time.Duration, states []learner.State) {
			see(j.progress(len(start) > 0, states), scaled(modelsOf(states), 1/j.unit))
		}
	}
	r, err := sim.Run(c)
	if err != nil {
		return nil, err
	}
	return scaled(modelsOf(r.States), 1/j.unit), nil
}

// progress counts updates and sent models: one to each neighbour at every update, and
// at the start if there is one.
func (j *joint) progress(started bool, states []learner.State) point {
	var p point
	for i, s := range states {
		round := float64(s.Round)
		p.vectors += round * float64(len(j.edges[i]))
		p.broadcasts += round
		if started {
			round--
		}
		p.iterations += round
	}
	return p
}

func modelsOf(states []learner.State) [][]float64 {
	models := make([][]float64, len(states))
	for i := range states {
		models[i] = states[i].Model
	}
	return models
}
