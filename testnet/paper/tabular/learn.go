package tabular

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// node has the records it learns from and those it is measured on.
type node struct {
	name        string
	train, test []learner.Record
}

// newNode gives the training records, which it takes over, the arrival numbers of
// a device that holds none of them out: what the node is measured on is kept apart
// already. All are of one cohort.
func newNode(name string, train, test []learner.Record) node {
	seq := learner.Seq(0)
	for i := range train {
		if seq++; seq.HeldOut() {
			seq++
		}
		train[i].Seq, train[i].Cohort = seq, 1
	}
	return node{name: name, train: train, test: test}
}

// setting is one way for the nodes to learn together.
type setting struct {
	task     *learner.Task
	releases int
	budget   privacy.Budget // the zero value: without privacy
	lone     learner.Local  // of the lone model; the zero value: as the task's
}

// seedOf is the seed of graph, clocks and noise of a cell.
func seedOf(key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return h.Sum64()
}

// policy is what the budget allows.
func (s setting) policy() (privacy.Policy, error) {
	d := privacy.Design{Budget: s.budget, Releases: s.releases}
	if s.budget == (privacy.Budget{}) {
		d.Noise = privacy.Unprotected
	}
	return s.task.Design(d).Policy()
}

// outcome is the loss of each node's models on its test records: the mean squared
// error, or the share of wrong classes.
type outcome struct {
	with, alone []float64 // the personal model, and the tuned one of a node without neighbours
	shared      []float64 // the node's own shared model, as released
}

// Virtual time. Only ratios matter to what is learned.
const (
	wakeMean = time.Second
	latency  = 5 * time.Millisecond
)

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
		Until: time.Duration(100*s.releases+100) * wakeMean, // far beyond any release
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
	lone := *s.task
	lone.Local = s.lone
	for i := range nodes {
		prior := learner.Prior(states[i])
		p := learner.FitPersonal(s.task, nodes[i].train, prior)
		o.with = append(o.with, s.loss(p.Theta, nodes[i].test))
		if s.lone != (learner.Local{}) {
			p.Alone = learner.FitPersonal(&lone, nodes[i].train, make([]float64, len(prior))).Alone
		}
		o.alone = append(o.alone, s.loss(p.Alone, nodes[i].test))
		o.shared = append(o.shared, s.loss(states[i].Model, nodes[i].test))
	}
	return o
}

func (s setting) loss(theta []float64, test []learner.Record) float64 {
	e := s.task.Error(theta, test)
	if s.task.Classifies() {
		return e
	}
	return math.Pow(e, 2)
}
