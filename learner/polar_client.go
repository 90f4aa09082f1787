package learner

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// newPolarClient returns a client of learner polar: it answers the servers' models
// with obfuscated gradients and says nothing of its own accord.
func newPolarClient(c Config) (Agent, error) {
	p := &polarClient{
		task: c.Task, loss: c.Task.loss(), self: c.Self, policy: c.Policy, made: c.Made,
		random: rand.New(c.Masks), servers: make([]serverSeen, len(c.Task.Polar.Servers)),
		model: make([]float64, c.Task.Dimension()), deadline: Never,
	}
	return p, p.resume(c.Resume)
}

// polarClient is a client of learner polar.
type polarClient struct {
	task   *Task
	loss   loss
	self   ID
	policy privacy.Policy
	made   int
	random *rand.Rand // of the obfuscation

	training training
	servers  []serverSeen // as in the task
	first    Heard        // the model of the newest step that came first
	deadline time.Duration

	round uint64    // of the last release; the steps are the servers'
	model []float64 // of the last gradient sent: public
	asked *question // at the door; nil: none

	window  uint64                 // that the weights are for
	weights [][]float64            // a row per step
	offsets map[uint64][][]float64 // by step, until the last server got its own
}

// serverSeen is what a client knows of a server.
type serverSeen struct {
	live     bool
	heard    Heard  // newest; Round is its step, 0: none
	answered uint64 // newest step that this server needs no gradient for any more
}

// question is what a query will answer.
type question struct {
	step      uint64
	at        []float64 // where the gradient is asked for
	to        []int     // which servers get it
	mechanism privacy.Mechanism
}

// resume counts every model heard before as answered: a gradient is never released
// twice for one step.
func (p *polarClient) resume(s *State) error {
	if s == nil {
		return nil
	}
	p.round = s.Round
	copy(p.model, s.Model)
	for _, h := range s.Heard {
		j := slices.Index(p.task.Polar.Servers, string(h.Peer))
		if j < 0 || len(h.Model) != len(p.model) {
			return fmt.Errorf("learner: the saved model of %s does not fit the task", h.Peer)
		}
		h.Model = slices.Clone(h.Model)
		p.servers[j].heard = h
	}
	p.renewFirst()
	for j := range p.servers {
		p.servers[j].answered = p.answeredSoFar(j)
	}
	return nil
}

// answeredSoFar is the newest step server j can have had an answer for.
func (p *polarClient) answeredSoFar(j int) uint64 {
	if p.task.Polar.Update == "basic" {
		return p.servers[j].heard.Round
	}
	return p.first.Round
}

// Neighbours implements [Agent]: it looks only at which servers are live.
func (p *polarClient) Neighbours(now time.Duration, edges []Edge) Output {
	for j := range p.servers {
		p.servers[j].live = slices.ContainsFunc(edges, func(e Edge) bool {
			return e.Live && string(e.Peer) == p.task.Polar.Servers[j]
		})
	}
	return p.output(now)
}

// Records implements [Agent].
func (p *polarClient) Records(add []Record, drop []Seq) error {
	return p.training.change(p.task, add, drop)
}

// Receive implements [Agent]: a client listens to the servers' models only.
func (p *polarClient) Receive(now time.Duration, m Message) (Output, error) {
	j := slices.Index(p.task.Polar.Servers, string(m.From))
	switch {
	case j < 0:
		return p.output(now), ErrStranger
	case m.Kind != KindModel || !checkVector(&m, len(p.model)):
		return p.output(now), ErrShape
	case m.Round <= p.servers[j].heard.Round:
		return p.output(now), ErrStale
	}
	p.servers[j].heard = Heard{Peer: m.From, Weight: 1, Round: m.Round, Model: m.Real}
	if p.renewFirst() {
		// A server waits Seconds for the gradient; half of that is for the way.
		p.deadline = now + seconds(p.task.Rounds.Seconds/2)
	}
	return p.output(now), nil
}

// renewFirst reports whether a server has begun a later step than all before.
func (p *polarClient) renewFirst() bool {
	before := p.first.Round
	for j := range p.servers {
		if h := &p.servers[j].heard; h.Round > p.first.Round && p.believes(h.Round) {
			p.first = *h
		}
	}
	return p.first.Round > before
}

// believes reports whether a server can have come to that step: one window further than
// more than few servers at most, because a window ends when all of them agree.
func (p *polarClient) believes(step uint64) bool {
	said := make([]uint64, len(p.servers))
	for j := range p.servers {
		said[j] = p.servers[j].heard.Round
	}
	slices.SortFunc(said, func(a, b uint64) int { return cmp.Compare(b, a) })
	polar := &p.task.Polar
	return polar.window(step) <= polar.window(max(1, rank(said, few(len(said))+1)))+1
}

// Tick implements [Agent].
func (p *polarClient) Tick(now time.Duration) Output { return p.output(now) }

// output asks for the next gradient that is due, one at a time.
func (p *polarClient) output(now time.Duration) Output {
	if p.asked != nil || !p.training.active() || !p.listened() {
		return Output{Next: Never}
	}
	q := p.next(now)
	if q == nil {
		return Output{Next: p.waiting(now)}
	}
	var ok bool
	if q.mechanism, ok = p.policy.Next(p.made); !ok {
		return Output{Next: Never}
	}
	p.asked = q
	return Output{Next: Never, Ask: &Query{
		Round: p.round + 1, Mechanism: q.mechanism,
		Sums: p.training.sums(p.loss, q.mechanism, q.at),
	}}
}

func (p *polarClient) listened() bool {
	return slices.ContainsFunc(p.servers, func(s serverSeen) bool { return s.live })
}

// next returns the question for the newest step not answered, nil if there is none
// yet.
func (p *polarClient) next(now time.Duration) *question {
	if p.task.Polar.Update == "basic" {
		for j := range p.servers {
			s := &p.servers[j]
			past := p.task.Polar.window(s.heard.Round) < p.window // its weights are gone
			if s.heard.Round > s.answered && !past && p.wanted(s.heard.Round) && p.believes(s.heard.Round) {
				return &question{step: s.heard.Round, at: s.heard.Model, to: []int{j}}
			}
		}
		return nil
	}
	step := p.first.Round
	if step <= p.servers[0].answered || !p.wanted(step) || p.waiting(now) != Never {
		return nil
	}
	q := &question{step: step, at: p.first.Model}
	for j := range p.servers {
		q.to = append(q.to, j)
	}
	if p.task.Polar.Update == "client-averaged" {
		q.at = p.mean(step)
	}
	return q
}

// wanted reports whether the run has that step; the model after the last is the
// result.
func (p *polarClient) wanted(step uint64) bool {
	count := p.task.Rounds.Count
	return count == 0 || step <= uint64(count)
}

// waiting returns until when the client waits for more models of the newest step,
// Never if it does not.
func (p *polarClient) waiting(now time.Duration) time.Duration {
	step := p.first.Round
	if p.task.Polar.Update != "client-averaged" || step <= p.servers[0].answered || now >= p.deadline || !p.wanted(step) {
		return Never
	}
	if slices.ContainsFunc(p.servers, func(s serverSeen) bool { return s.live && s.heard.Round < step }) {
		return p.deadline
	}
	return Never
}

// mean is that of the models heard of a step.
func (p *polarClient) mean(step uint64) []float64 {
	mean, n := make([]float64, len(p.model)), 0.0
	for j := range p.servers {
		if h := &p.servers[j].heard; h.Round == step {
			floats.Add(mean, h.Model)
			n++
		}
	}
	floats.Scale(1/n, mean)
	return mean
}

// Released implements [Agent]: the gradient of the local objective, noise from the
// door included, with the public regulariser, obfuscated for each server. NoiseStd
// stays 0: to tell it would tell |W|.
func (p *polarClient) Released(now time.Duration, a privacy.Answer) Output {
	q := p.asked
	if q == nil {
		return p.output(now)
	}
	p.asked = nil
	p.training.retire(a.Cohorts)
	for _, j := range q.to {
		p.servers[j].answered = q.step
	}
	if a.Exhausted() {
		return p.output(now)
	}
	m := max(1, a.Slots)
	gradient := make([]float64, len(p.model))
	floats.AddScaled(gradient, 1/float64(m), a.Sum)
	floats.AddScaled(gradient, 2*p.task.regularisation(m), q.at)
	p.made++
	p.round++
	copy(p.model, q.at)
	send := p.obfuscate(q, gradient)
	out := p.output(now)
	out.Send = send
	return out
}

// obfuscate makes the messages g^{J,h} = W[J,h] g + d^{J,h} of one step.
func (p *polarClient) obfuscate(q *question, gradient []float64) []Message {
	constants := &p.task.Polar
	if w := constants.window(q.step); w != p.window {
		p.window, p.weights, p.offsets = w, constants.weights(p.random), map[uint64][][]float64{}
	}
	if p.offsets[q.step] == nil {
		p.offsets[q.step] = constants.offsets(p.random, len(gradient))
	}
	row, offsets := p.weights[(q.step-1)%uint64(constants.Delta)], p.offsets[q.step]
	var send []Message
	for _, j := range q.to {
		v := make([]float64, len(gradient))
		floats.AddScaledTo(v, offsets[j], row[j], gradient)
		send = append(send, Message{From: p.self, To: ID(constants.Servers[j]), Kind: KindGradient, Round: q.step, Real: v})
	}
	if !slices.ContainsFunc(p.servers, func(s serverSeen) bool { return s.answered < q.step }) {
		delete(p.offsets, q.step)
	}
	return send
}

// State implements [Agent].
func (p *polarClient) State() State {
	s := State{Round: p.round, Model: slices.Clone(p.model)}
	for j := range p.servers {
		if h := p.servers[j].heard; h.Round > 0 {
			h.Model = slices.Clone(h.Model)
			s.Heard = append(s.Heard, h)
		}
	}
	slices.SortFunc(s.Heard, func(a, b Heard) int { return cmp.Compare(a.Peer, b.Peer) })
	return s
}
