package testnet

import (
	"fmt"
	"time"

	"p2pnode/node/api"
	"p2pnode/privacy"
)

// result makes the table of the nodes that are not left out.
func (w *collecting) result() (*Result, error) {
	in := w.in()
	if len(in) == 0 {
		return nil, w.nobody()
	}
	first := &in[0].status
	r := &Result{
		Data: "other machines", Task: first.Task, Measure: first.Personal.Measure, Driver: "measured by each node on what it holds out", Seed: w.Seed,
		Budget: leastProtected(in), Seconds: time.Since(w.start).Seconds(), Asked: len(w.nodes),
	}
	for _, n := range w.nodes {
		if n.out != "" {
			r.Missed = append(r.Missed, MissedOne{n.Address, n.out})
		}
	}
	round := Round{Seed: w.Seed}
	alone, with := Trial{Method: Alone}, Trial{Method: methodOf(in), Seconds: r.Seconds}
	for i, n := range in {
		s := &n.status
		p := Participant{Number: i + 1, Train: s.Records - s.HeldOut, Test: s.HeldOut, Base: s.Personal.Base}
		if s.Personal.LogLoss != nil {
			p.BaseLogLoss = s.Personal.LogLoss.Base
		}
		round.People = append(round.People, p)
		with.add(s, len(in))
		if s.Personal.MajorityOnly {
			with.Majority++
		}
	}
	alone.compare(in, func(c *api.Comparison) float64 { return c.Alone }, func(t *api.Three) float64 { return t.Alone })
	with.compare(in, func(c *api.Comparison) float64 { return c.Personal }, func(t *api.Three) float64 { return t.Personal })
	round.Trials = []Trial{alone, with}
	r.Rounds = []Round{round}
	return r, nil
}

// methodOf is how the nodes learn. If one of them promises nothing, the method is the
// one without privacy.
func methodOf(in []*collected) Method {
	for _, n := range in {
		if n.status.Privacy.Unbounded {
			return Open
		}
	}
	if in[0].status.Privacy.SumsOnly {
		return Private
	}
	return Broadcast
}

// leastProtected is the largest budget of any node.
func leastProtected(in []*collected) (b privacy.Budget) {
	for _, n := range in {
		b.Epsilon, b.Delta = max(b.Epsilon, n.status.Privacy.Epsilon), max(b.Delta, n.status.Privacy.Delta)
	}
	return b
}

// add counts what a node sent since its start, and what it spent.
func (t *Trial) add(s *api.Status, nodes int) {
	expected, delivered := s.Traffic.Expected, s.Traffic.Delivered
	if t.Method == Private && s.Sums != nil {
		expected, delivered = uint64(s.Sums.Paid), uint64(s.Sums.Listed)
	}
	t.Expected, t.Delivered = t.Expected+expected, t.Delivered+delivered
	t.Messages += float64(expected) / float64(nodes)
	t.Bytes += float64(s.Traffic.BytesOut) / float64(nodes)
	if t.Method != Open {
		t.Spent = append(t.Spent, s.Privacy.Spent)
	}
	if !s.Done {
		t.Unfinished++
	}
}

// compare takes the errors of one of the models that each node compared.
func (t *Trial) compare(in []*collected, of func(*api.Comparison) float64, ofThree func(*api.Three) float64) {
	var area []float64
	for _, n := range in {
		c := n.status.Personal
		t.Errors = append(t.Errors, of(c))
		if c.LogLoss != nil {
			t.LogLosses = append(t.LogLosses, ofThree(c.LogLoss))
		}
		if c.AUC != nil {
			area = append(area, ofThree(c.AUC))
		}
	}
	if len(t.LogLosses) < len(in) {
		t.LogLosses = nil // not of everybody
	}
	t.AUC = meanOrNil(area)
}

// missedNote says how many nodes are not in the table, and why.
func (r *Result) missedNote() string {
	if len(r.Missed) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d nodes are left out:", len(r.Missed), r.Asked)
	for _, m := range r.Missed {
		text += fmt.Sprintf("\n  %s: %s", m.Address, m.Why)
	}
	return text
}
