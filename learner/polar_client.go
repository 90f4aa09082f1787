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

// newPolarClient returns a client of learner polar: it answers the servers' models with
// obfuscated gradients, and sends nothing else.
func newPolarClient(c Config) (Agent, error) {
	p := &polarClient{
		task: c.Task, loss: c.Task.loss(), self: c.Self, policy: c.Policy, made: c.Made,
		random: rand.New(c.Masks), servers: make([]serverSeen, len(c.Task.Polar.Servers)),
		model: make([]float64, c.Task.Dimension()), deadline: Never, training: training{spent: c.Spent},
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
	random *rand.Rand // source of the obfuscation

	training training
	servers  []serverSeen // in the order of the task
	first    Heard        // the first model received of the newest step
	deadline time.Duration

	round uint64    // number of the last release; the steps are counted by the servers
	model []float64 // the model of the last gradient sent, which is public
	asked *question // waiting for the door; nil: none

	window  uint64                 // the window that the weights are for
	weights [][]float64            // one row for each step
	offsets map[uint64][][]float64 // by step; deleted when the last server got its offset
}

// serverSeen is what a client knows of a server.
type serverSeen struct {
	live     bool
	heard    Heard  // the newest model; Round is its step, 0: none
	answered uint64 // the newest step for which this server needs no more gradients
}

// question says what the answer to a query is for.
type question struct {
	step      uint64
	at        []float64 // the model at which the gradient is asked for
	to        []int     // the servers that get it
	mechanism privacy.Mechanism
}

// resume counts every model heard before the restart as answered, so that no gradient
// is released twice for one step.
func (p *polarClient) resume(s *State) error {
	if s == nil {
		return nil
	}
	p.round = s.Round
	copy(p.model, s.Model)
	for _, h := range s.Heard {
		j := slices.Index(p.task.Polar.Servers, string(h.Peer))
		m := h.message()
		if j < 0 || !checkVector(m, len(p.model)) || !deviation(m.NoiseStd) {
			return fmt.Errorf("learner: the saved model of %s does not fit the task", h.Peer)
		}
		h.Model = m.Real
		p.servers[j].heard = h
	}
	p.renewFirst()
	for j := range p.servers {
		p.servers[j].answered = p.answeredSoFar(j)
	}
	return nil
}

// answeredSoFar is the newest step for which server j may have had an answer.
func (p *polarClient) answeredSoFar(j int) uint64 {
	if p.task.Polar.Update == "basic" {
		return p.servers[j].heard.Round
	}
	return p.first.Round
}

// Neighbours implements [Agent]. It only looks at which servers are live.
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

// Receive implements [Agent]. A client accepts only the servers' models.
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
		// A server waits Seconds for the gradient; half of that is left for its way.
		p.deadline = now + seconds(p.task.Rounds.Seconds/2)
	}
	return p.output(now), nil
}

// renewFirst reports whether a server has begun a later step than all before, and if so
// makes its model the first.
func (p *polarClient) renewFirst() bool {
	before := p.first.Round
	for j := range p.servers {
		if h := &p.servers[j].heard; h.Round > p.first.Round && p.believes(h.Round) {
			p.first = *h
		}
	}
	return p.first.Round > before
}

// believes reports whether a server can have come to that step: at most one window
// further than more than maxFaulty servers, because a window ends only when all servers
// agree.
func (p *polarClient) believes(step uint64) bool {
	said := make([]uint64, len(p.servers))
	for j := range p.servers {
		said[j] = p.servers[j].heard.Round
	}
	slices.SortFunc(said, func(a, b uint64) int { return cmp.Compare(b, a) })
	polar := &p.task.Polar
	return polar.window(step) <= polar.window(max(1, rank(said, maxFaulty(len(said))+1)))+1
}

// Tick implements [Agent].
func (p *polarClient) Tick(now time.Duration) Output { return p.output(now) }

// output asks for the next gradient that is due, one at a time.
func (p *polarClient) output(now time.Duration) Output {
	if p.asked != nil || !p.training.active(p.task) || !p.listened() {
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
	sums := p.training.sums(p.loss, q.mechanism, q.at)
	p.training.ask(sums)
	return Output{Next: Never, Ask: &Query{Round: p.round + 1, Mechanism: q.mechanism, Sums: sums}}
}

func (p *polarClient) listened() bool {
	return slices.ContainsFunc(p.servers, func(s serverSeen) bool { return s.live })
}

// next returns the question for the newest step without an answer, or nil if there is
// none yet.
func (p *polarClient) next(now time.Duration) *question {
	if p.task.Polar.Update == "basic" {
		for j := range p.servers {
			s := &p.servers[j]
			past := p.task.Polar.window(s.heard.Round) < p.window // the weights of past windows are deleted
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

// wanted reports whether the run has that step. The model after the last step is the
// result, and wants no gradient.
func (p *polarClient) wanted(step uint64) bool {
	count := p.task.Rounds.Count
	return count == 0 || step <= uint64(count)
}

// waiting returns the time until which the client waits for more models of the newest
// step, or Never if it does not wait.
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

// mean is the mean of the models heard of a step.
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

// Released implements [Agent]. It obfuscates, for each server, the gradient of the
// local objective: the door's answer with its noise, plus the public regulariser.
// NoiseStd stays 0, because it would tell |W|.
func (p *polarClient) Released(now time.Duration, a privacy.Answer) Output {
	q := p.asked
	if q == nil {
		return p.output(now)
	}
	p.asked = nil
	p.training.answered(a.Cohorts)
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
