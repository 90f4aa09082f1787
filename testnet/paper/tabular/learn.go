package tabular

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/sim"
)

// node has the records it learns from and those it is measured on.
type node struct {
	name        string
	train, test []learner.Record
}

// newNode numbers the training records, which it takes over, as a device does that
// holds none of them out: the test records are separate already. All are of one cohort.
func newNode(name string, train, test []learner.Record) node {
	for i := range train {
		train[i].Seq, train[i].Cohort = sim.TrainingSeq(i), 1
	}
	return node{name: name, train: train, test: test}
}

// setting is one way for the nodes to learn together.
type setting struct {
	task     *learner.Task
	releases int
	budget   privacy.Budget // the zero value: without privacy
	lone     learner.Local  // of the lone model; the zero value: as in the task
}

// seedOf is the seed of graph, clocks and noise of a cell.
func seedOf(key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return h.Sum64()
}

// policy is the policy that the budget allows.
func (s setting) policy() (privacy.Policy, error) {
	d := privacy.Design{Budget: s.budget, Releases: s.releases}
	if s.budget == (privacy.Budget{}) {
		d.Noise = privacy.Unprotected
	}
	return s.task.Design(d).Policy()
}

// outcome is how well each node's models predict its test records.
type outcome struct {
	with, alone, base marks // the personal model, the tuned one of a node without neighbours, and a constant
	shared            marks // the node's own shared model, as released
	newcomer          marks // the personal model of a node that added nothing to a private sum
	// majority is 1 or 0 for each node: whether its personal model predicted nothing
	// but what the constant predicts.
	majority []float64
}

// marks are the scores of one kind of model, node by node.
type marks struct {
	loss    []float64 // mean: squared error, or share of wrong classes
	losses  []float64 // of each record, node after node
	logLoss []float64 // NaN without one
	area    []float64 // under the curve, of the nodes that have one
}

func (m *marks) add(s learner.Score) {
	m.loss, m.logLoss = append(m.loss, s.Measure.Loss(s.Error)), append(m.logLoss, s.LogLoss)
	m.losses = append(m.losses, s.Losses...)
	if !math.IsNaN(s.AUC) {
		m.area = append(m.area, s.AUC)
	}
}

// into stores the marks that exist under the name of the model.
func (m *marks) into(n paper.Numbers, model string) {
	n[model] = m.loss
	if !slices.ContainsFunc(m.logLoss, math.IsNaN) {
		n[model+logLoss] = m.logLoss
	}
	if len(m.area) > 0 {
		n[model+area] = []float64{stat.Mean(m.area, nil)}
	}
}

// Suffixes of the names of a model's other marks in a cell.
const (
	losses  = " losses"
	logLoss = " log loss"
	area    = " AUC"
)

// numbers returns an outcome with the numbers of test records.
func (o *outcome) numbers(nodes []node) paper.Numbers {
	n := paper.Numbers{"tests": make([]float64, len(nodes)), "majority": o.majority}
	for i := range nodes {
		n["tests"][i] = float64(len(nodes[i].test))
	}
	o.with.into(n, "with")
	o.alone.into(n, "alone")
	o.base.into(n, "base")
	n["shared"] = o.shared.loss
	if o.newcomer.loss != nil {
		o.newcomer.into(n, "newcomer")
	}
	n["with"+losses], n["alone"+losses] = o.with.losses, o.alone.losses
	return n
}

// Virtual times. Only their ratios matter to what is learned.
const (
	wakeMean = time.Second
	latency  = 5 * time.Millisecond
)

// run computes the cell of a key: the nodes learn by releases or by a private sum.
func (s setting) run(nodes []node, sum bool, key string) (paper.Numbers, error) {
	learn := s.learn
	if sum {
		learn = s.sum
	}
	o, err := learn(nodes, seedOf(key))
	if err != nil {
		return nil, err
	}
	return o.numbers(nodes), nil
}

// learn lets the nodes make their releases on a random graph and measures the
// models that they end up with.
func (s setting) learn(nodes []node, seed uint64) (outcome, error) {
	policy, err := s.policy()
	if err != nil {
		return outcome{}, err
	}
	edges := sim.RandomGraph(len(nodes), min(s.task.Graph.Degree, len(nodes)-1), seed)
	config := sim.Config{
		Task: s.task, Seed: seed, WakeMean: wakeMean, Latency: latency,
		Until: time.Duration(100*s.releases+100) * wakeMean, // far later than any release
	}
	for i := range nodes {
		config.Participants = append(config.Participants, sim.Participant{
			ID: sim.Name(i), Records: nodes[i].train, Edges: edges[i], Policy: policy, Releases: s.releases,
		})
	}
	result, err := sim.Run(config)
	if err != nil {
		return outcome{}, err
	}
	for i, made := range result.Releases {
		if made != s.releases {
			return outcome{}, fmt.Errorf("tabular: node %s made %d of %d releases", nodes[i].name, made, s.releases)
		}
	}
	return s.measure(nodes, result.States), nil
}

// measure fits the personal models and measures all of them.
func (s setting) measure(nodes []node, states []learner.State) outcome {
	var o outcome
	for i := range nodes {
		p := learner.FitAmong(s.task, nodes[i].train, states[i])
		o.add(s, &nodes[i], p)
		o.shared.add(s.task.Score(states[i].Model, slices.Values(nodes[i].test)))
	}
	return o
}

// add measures the personal model of a node, and the lone one.
func (o *outcome) add(s setting, n *node, p learner.PersonalModel) {
	if s.lone != (learner.Local{}) {
		lone := *s.task
		lone.Local = s.lone
		p.Alone = learner.FitPersonal(&lone, n.train, make([]float64, s.task.Dimension())).Alone
	}
	with, base := s.task.Score(p.Theta, slices.Values(n.test)), s.task.ScoreConstant(slices.Values(n.train), slices.Values(n.test))
	o.with.add(with)
	o.base.add(base)
	o.alone.add(s.task.Score(p.Alone, slices.Values(n.test)))
	majority := 0.
	if with.SameClasses(base) {
		majority = 1
	}
	o.majority = append(o.majority, majority)
}
