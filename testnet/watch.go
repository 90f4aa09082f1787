package testnet

import (
	"context"
	"time"

	"p2pnode/node/api"
)

// watch follows a fleet until it has learned, and fills in its trial.
type watch struct {
	fleet  *fleet
	trial  *Trial
	curve  bool // wants points of the learning curve
	report func(Progress)
}

// Times of the watch.
const (
	lookEvery = 500 * time.Millisecond
	// lookPerNode is added for each node, so that looking at hundreds takes a small part of
	// the processors.
	lookPerNode = 3 * time.Millisecond
	// linkStill is how long edges must stand still before the nodes get their
	// records: no more of them come or go than one for each nodesPerChange nodes.
	// Better neighbours go on replacing the first ones for a while.
	linkStill      = 3 * time.Second
	nodesPerChange = 20
	// mostSatisfied is the share of nodes with all neighbours they want that is
	// enough: in a large network the last few seek long, and go on seeking.
	mostSatisfied = 0.95
	// linkStuck is how long the graph may not grow, but so long for each node of a
	// large network.
	linkStuck        = 10 * time.Second
	linkStuckPerNode = 50 * time.Millisecond
	// giveUp is how long no node may release anything before the trial ends
	// without the rest: so long, and so many times the mean time between wakes.
	giveUp      = 30 * time.Second
	giveUpWakes = 20
	// lastSlot is more than the time from a release to its public slot, and
	// settleAtMost how long the last messages may take to arrive.
	lastSlot     = 500 * time.Millisecond
	settleAtMost = 5 * time.Second
)

// run waits until the nodes have found each other, gives them their records,
// waits until everybody has used her budget and the last messages have
// arrived, then measures. It stops waiting when ctx ends; life is the nodes'
// own context.
func (w *watch) run(ctx, life context.Context) error {
	p := Progress{Nodes: len(w.fleet.nodes), Started: len(w.fleet.nodes), Goal: w.fleet.config.Releases}
	if err := w.link(ctx, life, &p); err != nil {
		return err
	}
	w.fleet.meter.linked()
	if err := w.fleet.feed(life); err != nil {
		return err
	}
	if err := w.learn(ctx, life, &p); err != nil {
		return err
	}
	if ctx.Err() == nil {
		if err := w.settle(life); err != nil {
			return err
		}
	}
	w.trial.Unfinished = p.Nodes - p.Done
	// Before the errors: a daemon counts since its start, and ends to be measured.
	if err := w.count(life); err != nil {
		return err
	}
	scores, err := w.fleet.scores(life)
	if err != nil {
		return err
	}
	w.trial.take(w.fleet.people, scores)
	if w.curve && w.trial.due(p.Releases, p.Goal) {
		w.trial.addPoint(p.Releases, w.trial.Errors)
	}
	return nil
}

// look asks every node how far it is, and the process what they take.
func (w *watch) look(ctx context.Context) ([]api.Status, error) {
	all, err := w.fleet.progress(ctx)
	if err == nil {
		w.fleet.meter.look(all)
	}
	return all, err
}

// pause waits until the next look is due.
func (w *watch) pause(ctx context.Context) error {
	return pause(ctx, lookEvery+time.Duration(len(w.fleet.nodes))*lookPerNode)
}

// link returns when nearly all nodes have the neighbours they want, or the graph has
// stopped growing and all have some, and then edges stand still; when the graph has not
// grown for long; or when ctx ends.
func (w *watch) link(ctx, life context.Context, p *Progress) error {
	stuck := max(linkStuck, time.Duration(p.Nodes)*linkStuckPerNode)
	wanted := min(w.fleet.people.Task.Graph.Degree, p.Nodes-1)
	most, grown := 0, time.Now()
	changes, changed := uint64(0), time.Now()
	for ctx.Err() == nil {
		all, err := w.look(life)
		if err != nil {
			return err
		}
		var sum, satisfied int
		var now uint64
		p.Linked = 0
		for _, s := range all {
			sum += s.Listening
			now += s.EdgeChanges
			if s.Listening > 0 {
				p.Linked++
			}
			if s.Listening >= wanted {
				satisfied++
			}
		}
		if sum > most {
			most, grown = sum, time.Now()
		}
		if now > changes+uint64(p.Nodes/nodesPerChange) {
			changes, changed = now, time.Now()
		}
		growing := float64(satisfied) < mostSatisfied*float64(p.Nodes) && time.Since(grown) < linkStill
		linked := p.Linked == p.Nodes && !growing
		p.Settling = linked
		w.report(*p)
		if linked && time.Since(changed) >= linkStill || time.Since(grown) >= stuck {
			return nil
		}
		if err := w.pause(life); err != nil {
			return err
		}
	}
	return nil
}

// learn returns when everybody has used her budget, when nothing happens any
// more, or when ctx ends.
func (w *watch) learn(ctx, life context.Context, p *Progress) error {
	moved, before := time.Now(), uint64(0)
	for {
		all, err := w.look(life)
		if err != nil {
			return err
		}
		// A node whose budget is used goes on through rounds for its neighbours, without a release.
		var rounds uint64
		releases := 0
		p.Done = 0
		for _, s := range all {
			rounds += s.Round
			releases += s.Privacy.Releases
			if s.Done {
				p.Done++
			}
		}
		p.Releases = float64(releases) / float64(p.Nodes)
		if rounds > before {
			moved, before = time.Now(), rounds
		}
		w.report(*p)
		if p.Done == p.Nodes || ctx.Err() != nil || time.Since(moved) > w.fleet.stallTimeout {
			return nil
		}
		if w.curve && w.trial.due(p.Releases, p.Goal) {
			scores, err := w.fleet.scores(life)
			if err != nil {
				return err
			}
			w.trial.addPoint(p.Releases, errorsOf(scores))
		}
		if err := w.pause(life); err != nil {
			return err
		}
	}
}

// settle waits for the last messages.
func (w *watch) settle(life context.Context) error {
	if err := pause(life, lastSlot); err != nil {
		return err
	}
	for deadline := time.Now().Add(settleAtMost); time.Now().Before(deadline); {
		if err := w.count(life); err != nil || w.trial.Delivered >= w.trial.Expected {
			return err
		}
		if err := w.pause(life); err != nil {
			return err
		}
	}
	return nil
}

// count reads all nodes' traffic and spending.
func (w *watch) count(ctx context.Context) error {
	all, err := w.fleet.progress(ctx)
	if err != nil {
		return err
	}
	t, n := w.trial, float64(len(all))
	t.Expected, t.Delivered, t.Bytes, t.Spent = 0, 0, 0, nil
	for _, s := range all {
		t.Expected += s.Traffic.Expected
		t.Delivered += s.Traffic.Delivered
		t.Bytes += float64(s.Traffic.BytesOut) / n
		if t.Method != Open {
			t.Spent = append(t.Spent, s.Privacy.Spent)
		}
	}
	t.Messages = float64(t.Expected) / n
	return nil
}
