package testnet

import (
	"context"
	"sync/atomic"
	"time"

	"p2pnode/node"
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
	// linkStill is how long the number of links must stand still before the nodes
	// get their records, and linkAtMost how long that may take.
	linkStill  = 1500 * time.Millisecond
	linkAtMost = 30 * time.Second
	// giveUp is how long no node may release anything before the trial ends
	// without the rest.
	giveUp = 30 * time.Second
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
	p := Progress{Nodes: len(w.fleet.nodes), Goal: w.fleet.config.Releases}
	if err := w.link(ctx, life, &p); err != nil {
		return err
	}
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
	var err error
	if w.trial.Errors, err = w.fleet.errors(life); err != nil {
		return err
	}
	if w.curve && w.trial.due(p.Releases, p.Goal) {
		w.trial.addPoint(p.Releases, w.trial.Errors)
	}
	return w.count(life)
}

// link returns when every node has a neighbour and the graph has stopped
// growing, when it takes too long, or when ctx ends.
func (w *watch) link(ctx, life context.Context, p *Progress) error {
	most := 0
	start := time.Now()
	grown := start
	for ctx.Err() == nil && time.Since(start) < linkAtMost {
		linked, links, err := w.fleet.links(life)
		if err != nil {
			return err
		}
		p.Linked = linked
		w.report(*p)
		if links > most {
			most, grown = links, time.Now()
		}
		if linked == p.Nodes && time.Since(grown) >= linkStill {
			return nil
		}
		if err := pause(life, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

// learn returns when everybody has used her budget, when nothing happens any
// more, or when ctx ends.
func (w *watch) learn(ctx, life context.Context, p *Progress) error {
	moved := time.Now()
	for {
		done, releases, err := w.fleet.progress(life)
		if err != nil {
			return err
		}
		if releases > p.Releases {
			moved = time.Now()
		}
		p.Done, p.Releases = done, releases
		w.report(*p)
		if done == p.Nodes || ctx.Err() != nil || time.Since(moved) > giveUp {
			return nil
		}
		if w.curve && w.trial.due(releases, p.Goal) {
			errs, err := w.fleet.errors(life)
			if err != nil {
				return err
			}
			w.trial.addPoint(releases, errs)
		}
		if err := pause(life, lookEvery); err != nil {
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
		if err := pause(life, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

// count reads all nodes' traffic and spending.
func (w *watch) count(ctx context.Context) error {
	t, n := w.trial, float64(len(w.fleet.nodes))
	var expected, delivered, bytes atomic.Uint64
	spent := make([]float64, len(w.fleet.nodes))
	err := w.fleet.each(func(i int, n *node.Node) error {
		s, err := n.Progress(ctx)
		if err != nil {
			return err
		}
		expected.Add(s.Traffic.Expected)
		delivered.Add(s.Traffic.Delivered)
		bytes.Add(uint64(s.Traffic.BytesOut))
		spent[i] = s.Privacy.Spent
		return nil
	})
	t.Expected, t.Delivered = expected.Load(), delivered.Load()
	t.Messages, t.Bytes = float64(t.Expected)/n, float64(bytes.Load())/n
	if t.Method == Private {
		t.Spent = spent
	}
	return err
}
