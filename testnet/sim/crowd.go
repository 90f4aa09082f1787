package sim

import (
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
	t.Constant, t.Features = 0, learner.NumberFeatures(c.Dimension)
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
// from the seed and i alone.
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
	list = make([]Participant, c.Agents)
	for i, edges := range RandomGraph(c.Agents, c.Neighbours, c.Seed) {
		list[i] = Participant{ID: Name(i), Edges: edges, Policy: policy}
	}
	return list, LayRecords(list, c.Records, c.Dimension, c.fill), nil
}

// LayRecords gives each participant so many training records of so many features, for draw
// to fill in. The records of all lie in one block of memory, and so do their features,
// which it returns: a million participants need no more than that.
func LayRecords(list []Participant, count, width int, draw func(i int, own []learner.Record)) (features []float64) {
	records := inLargePages(make([]learner.Record, len(list)*count))
	features = inLargePages(make([]float64, len(list)*count*width))
	for i := range list {
		own := records[i*count : (i+1)*count : (i+1)*count]
		NewRecords(own, features[i*count*width:(i+1)*count*width])
		draw(i, own)
		list[i].Records = own
	}
	return features
}

// NewRecords numbers the records of one participant, so that all are for training, and
// gives them their parts of the features.
func NewRecords(own []learner.Record, features []float64) {
	width := len(features) / len(own)
	for k := range own {
		own[k] = learner.Record{Seq: TrainingSeq(k), X: features[k*width : (k+1)*width : (k+1)*width]}
	}
}

// TrainingSeq is the arrival number of a device's i-th record that is not held out, i
// from 0.
func TrainingSeq(i int) learner.Seq { return learner.Seq(i + i/(learner.Fold-1) + 1) }

// fill makes the records of agent i: a linear model of its own on unit vectors, with
// a little noise.
func (c Crowd) fill(i int, own []learner.Record) {
	r := rand.New(rand.NewPCG(c.Seed, uint64(i)))
	slope := r.NormFloat64()
	for k := range own {
		x := own[k].X
		var square float64
		for j := range x {
			x[j] = r.Float64() - 0.5
			square += x[j] * x[j]
		}
		for j := range x {
			x[j] /= math.Sqrt(square)
		}
		own[k].Y = slope*x[0] + x[c.Dimension-1] + 0.1*r.NormFloat64()
	}
}
