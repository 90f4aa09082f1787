package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Crowd says how many agents to make up, and of what size: for measuring what the
// simulator carries.
type Crowd struct {
	Agents     int // at least 2
	Dimension  int // of every model: so many features, at least 1
	Neighbours int // of each agent, at least 2
	Records    int // of each agent, all for training
	Private    bool
	Seed       uint64
}

// task is a linear regression with the learner "personal". The constant coordinate
// is left out, and nothing is ever clipped without privacy.
func (c Crowd) task() *learner.Task {
	t := learner.Linear()
	t.Name, t.Loss, t.Target.Min, t.Target.Max = "crowd", "squared", -5, 5
	t.Constant, t.Features = 0, nil
	for k := range c.Dimension {
		t.Features = append(t.Features, learner.Feature{Name: fmt.Sprintf("x%d", k+1), Kind: "number", Min: -1, Max: 1})
	}
	t.Graph = learner.Graph{Rule: "random", Degree: c.Neighbours}
	return t
}

// Config is a simulation of the crowd that goes on for as long as anybody has
// budget: wakes every second in the mean, and latencies of a tenth of one.
func (c Crowd) Config() (Config, error) {
	config, _, err := c.ConfigAndPlain()
	return config, err
}

// ConfigAndPlain is Config, and the same crowd for a loop that reads the same features.
func (c Crowd) ConfigAndPlain() (Config, *Plain, error) {
	t := c.task()
	list, features, err := c.participants(t)
	if err != nil {
		return Config{}, nil, err
	}
	return Config{
		Task: t, Participants: list, Seed: c.Seed,
		WakeMean: time.Second, Latency: 100 * time.Millisecond, Until: learner.Never / 2,
	}, c.plain(t, list, features), nil
}

// participants makes up the agents on a random graph: the records of agent i follow
// from the seed and i alone. Those of all agents lie in one block of memory, and so do
// their features.
func (c Crowd) participants(t *learner.Task) (list []Participant, features []float64, err error) {
	design := privacy.Design{Noise: privacy.Unprotected, Clip: t.GradientBound()}
	if c.Private {
		design = privacy.Design{
			Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Dimension: c.Dimension, Clip: t.Clip, Releases: 1 << 12,
		}
	}
	policy, err := design.Policy()
	if err != nil {
		return nil, nil, err
	}
	edges := RandomGraph(c.Agents, c.Neighbours, c.Seed)
	list = make([]Participant, c.Agents)
	records := inLargePages(make([]learner.Record, c.Agents*c.Records))
	features = inLargePages(make([]float64, c.Agents*c.Records*c.Dimension))
	for i := range list {
		own := records[i*c.Records : (i+1)*c.Records]
		c.fill(i, own, features[i*c.Records*c.Dimension:])
		list[i] = Participant{ID: Name(i), Edges: edges[i], Records: own, Policy: policy}
	}
	return list, features, nil
}

// fill makes the records of agent i: a linear model of its own on unit vectors, with
// a little noise.
func (c Crowd) fill(i int, records []learner.Record, features []float64) {
	r := rand.New(rand.NewPCG(c.Seed, uint64(i)))
	slope := r.NormFloat64()
	var seq learner.Seq
	for k := range records {
		seq++
		if seq.HeldOut() {
			seq++
		}
		x := features[k*c.Dimension : (k+1)*c.Dimension : (k+1)*c.Dimension]
		var square float64
		for j := range x {
			x[j] = r.Float64() - 0.5
			square += x[j] * x[j]
		}
		for j := range x {
			x[j] /= math.Sqrt(square)
		}
		records[k] = learner.Record{Seq: seq, X: x, Y: slope*x[0] + x[c.Dimension-1] + 0.1*r.NormFloat64()}
	}
}
