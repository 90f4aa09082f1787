package learner

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// newPolarServer returns a parameter server of learner polar. It holds no data and
// ignores records. Its clients are those neighbours that are not servers.
func newPolarServer(c Config) (Agent, error) {
	p := &polarServer{
		task: c.Task, self: c.Self, masks: c.Masks,
		residues: newResidues(c.Task.Polar.Box, len(c.Task.Polar.Servers)),
		model:    make([]float64, c.Task.Dimension()),
	}
	for _, s := range c.Task.Polar.Servers {
		if ID(s) != c.Self {
			p.others = append(p.others, otherServer{id: ID(s)})
		}
	}
	if s := c.Resume; s != nil {
		if s.Round > lastRound { // see [Task.Stranded]
			return nil, fmt.Errorf("learner: a server's rounds count the steps of all servers, and round %d lies beyond the last", s.Round)
		}
		p.step = s.Round
		copy(p.model, s.Model)
	}
	return p, nil
}

// polarServer is a parameter server of learner polar. It takes a step when it has heard
// from all clients it waits for, or at the deadline; it does not wait for a client that
// missed the deadline until that client sends again.
type polarServer struct {
	task     *Task
	self     ID
	masks    rand.Source
	residues residues

	others  []otherServer // in the order of the task
	clients []polarPeer   // sorted by ID

	step     uint64    // of the newest model broadcast, 0 before the first
	model    []float64 // as broadcast
	agreeing *masking  // the consensus after that step; nil: none
	ahead    *Message  // newest model of a server that finished a consensus which this one did not
	silent   int       // number of steps in a row without a gradient
	deadline time.Duration
}

// polarPeer is a client.
type polarPeer struct {
	id        ID
	live      bool
	late      bool                 // it missed the last deadline
	gradients map[uint64][]float64 // by step
}

// maxAhead is how many steps ahead of its own a server keeps gradients for: without
// waiting for all, clients follow the fastest server.
const maxAhead = 16

// maxSilence is how many times a server doubles its deadline while no client answers.
// It continues at all because its last model may have been lost.
const maxSilence = 6

func (p *polarServer) client(id ID) (*polarPeer, bool) {
	i, found := slices.BinarySearchFunc(p.clients, id, func(c polarPeer, id ID) int { return cmp.Compare(c.id, id) })
	if !found {
		return nil, false
	}
	return &p.clients[i], true
}

// Neighbours implements [Agent]. The first live client starts the server, one deadline
// later so that others can join.
func (p *polarServer) Neighbours(now time.Duration, edges []Edge) Output {
	deserted := !p.attended()
	var fresh []polarPeer
	for _, e := range edges {
		if _, server := p.other(e.Peer); server || e.Peer == p.self {
			continue
		}
		c := polarPeer{id: e.Peer, gradients: map[uint64][]float64{}}
		if old, known := p.client(e.Peer); known {
			c = *old
		}
		c.live = e.Live
		fresh = append(fresh, c)
	}
	slices.SortStableFunc(fresh, func(a, b polarPeer) int { return cmp.Compare(a.id, b.id) })
	p.clients = slices.CompactFunc(fresh, func(a, b polarPeer) bool { return a.id == b.id })
	if deserted && p.attended() && p.agreeing == nil {
		p.deadline = p.after(now)
	}
	return p.output(p.advance(now))
}

func (p *polarServer) after(now time.Duration) time.Duration {
	return now + seconds(p.task.Rounds.Seconds)
}

// attended reports whether any client is live.
func (p *polarServer) attended() bool {
	return slices.ContainsFunc(p.clients, func(c polarPeer) bool { return c.live })
}

// Records implements [Agent]. A server holds no data and ignores records.
func (p *polarServer) Records([]Record, []Seq) error { return nil }

// Receive implements [Agent].
func (p *polarServer) Receive(now time.Duration, m Message) (Output, error) {
	err := ErrStranger
	if o, server := p.other(m.From); server {
		err = p.hearServer(now, o, m)
	} else if c, client := p.client(m.From); client {
		err = p.hearClient(c, m)
	}
	if err != nil {
		return p.output(nil), err
	}
	return p.output(p.advance(now)), nil
}

func (p *polarServer) hearClient(c *polarPeer, m Message) error {
	switch {
	case m.Kind != KindGradient || !checkVector(&m, len(p.model)):
		return ErrShape
	case c.gradients[m.Round] != nil || m.Round > p.step+maxAhead || m.Round+maxAhead < p.step:
		return ErrStale
	}
	if m.Round <= p.step {
		c.late = false // the client is there, though it was late
	}
	if m.Round > p.step || m.Round == p.step && p.agreeing == nil {
		c.gradients[m.Round] = m.Real
	}
	return nil
}

// hearModel notices that another server has finished a consensus that this one missed
// by a loss or an absence. The first model after a consensus is the one that all
// servers agreed on, so it is taken at once. A later model is that server's own, and is
// taken at the deadline if no agreed one arrives. Without this server the others can
// finish one consensus at most, for which this one had already sent its part. A server
// that claims more is not believed.
func (p *polarServer) hearModel(now time.Duration, m Message) error {
	window, agreed := p.task.Polar.window(m.Round), (m.Round-1)%uint64(p.task.Polar.Delta) == 0
	own := p.task.Polar.window(max(1, p.step))
	switch {
	case !checkVector(&m, len(p.model)):
		return ErrShape
	case window <= own || window > own+1 || p.ahead != nil && !agreed && m.Round <= p.ahead.Round:
		return ErrStale
	}
	p.ahead = &m
	if agreed {
		p.deadline = now
	}
	return nil
}

// Tick implements [Agent].
func (p *polarServer) Tick(now time.Duration) Output {
	return p.output(p.advance(now))
}

// output sets the timer, except when the run is over or no client is live.
func (p *polarServer) output(send []Message) Output {
	if p.over() || p.agreeing == nil && p.ahead == nil && !p.attended() {
		return Output{Send: send, Next: Never}
	}
	return Output{Send: send, Next: p.deadline}
}

// over reports whether the result was broadcast.
func (p *polarServer) over() bool {
	count := p.task.Rounds.Count
	return count > 0 && p.step > uint64(count)
}

// advance makes all steps that the received messages and the clock allow.
func (p *polarServer) advance(now time.Duration) []Message {
	var send []Message
	for !p.over() {
		late := now >= p.deadline
		var more []Message
		switch {
		case late && p.ahead != nil:
			more = p.publish(now, p.ahead.Round, p.ahead.Real)
		case p.agreeing != nil:
			more = p.agree(now, late)
		case p.step == 0 && late && p.attended():
			more = p.publish(now, 1, p.model)
		case p.step > 0 && (p.complete() || late && p.attended()):
			more = p.descend(now)
		}
		if len(more) == 0 {
			return send
		}
		send = append(send, more...)
	}
	return send
}

// publish makes model that of a step, and forgets older gradients.
func (p *polarServer) publish(now time.Duration, step uint64, model []float64) []Message {
	p.step, p.model, p.agreeing, p.ahead = step, slices.Clone(model), nil, nil
	p.deadline = now + seconds(p.task.Rounds.Seconds)<<min(p.silent, maxSilence)
	for i := range p.clients {
		for s := range p.clients[i].gradients {
			if s < step {
				delete(p.clients[i].gradients, s)
			}
		}
	}
	return []Message{{From: p.self, Kind: KindModel, Round: step, Real: p.model}}
}

// complete reports whether all clients that the server waits for were heard. If it
// waits for none, a gradient for a later step shows that none will come for this one.
func (p *polarServer) complete() bool {
	heard := false
	for i := range p.clients {
		c := &p.clients[i]
		heard = heard || len(c.gradients) > 0
		if c.gradients[p.step] == nil && c.live && !c.late {
			return false
		}
	}
	return heard
}

// descend takes the step x^J <- Proj_X(x^J - a_k sum_h g^{J,h}) with the gradients that
// came, and begins the consensus after the last step of a window. A server that was
// away skips the rest of a window that the others have finished.
func (p *polarServer) descend(now time.Duration) []Message {
	constants := &p.task.Polar
	window := constants.window(p.step)
	rate := p.task.Rounds.Step / math.Pow(float64(window), constants.Decay)
	next, ended := slices.Clone(p.model), p.step%uint64(constants.Delta) == 0
	missed := true
	for i := range p.clients {
		c := &p.clients[i]
		g := c.gradients[p.step]
		c.late = g == nil
		if g != nil {
			floats.AddScaled(next, -rate, g)
		}
		missed = missed && len(c.gradients) == 0
	}
	for k := range next {
		next[k] = min(max(next[k], -constants.Box), constants.Box)
	}
	p.silent++
	if !missed {
		p.silent = 0
	}
	if missed && slices.ContainsFunc(p.others, func(o otherServer) bool { return o.mask.Round == window }) {
		p.step, ended = window*uint64(constants.Delta), true
	}
	if !ended {
		return p.publish(now, p.step+1, next)
	}
	p.agreeing = &masking{round: window, input: p.residues.encode(next)}
	return p.mask(now, p.newestAttempt())
}

// Released implements [Agent]. A server never asks for a release.
func (p *polarServer) Released(time.Duration, privacy.Answer) Output {
	return p.output(nil)
}

// State implements [Agent]. It has the newest model broadcast, and no masks. A server
// killed during a consensus goes on without its last step. If the others finished the
// consensus before, one of them broadcasts the result and the server takes that. Only
// if this is lost too can two of its states both be in a sum.
func (p *polarServer) State() State {
	return State{Round: p.step, Model: slices.Clone(p.model)}
}
