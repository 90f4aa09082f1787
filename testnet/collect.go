package testnet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"p2pnode/node/api"
)

// Collection describes the nodes that [Collect] watches.
type Collection struct {
	Nodes    []*Elsewhere
	Seed     uint64          // seed of the intervals
	Progress func(Progress)  // called each time after the nodes were asked
	Missed   func(MissedOne) // called once for each node that is left out
}

// MissedOne is a node that is left out of a table, with the reason.
type MissedOne struct {
	Address string `json:"address"`
	Why     string `json:"why"`
}

// Times of a collection.
const (
	askEvery   = time.Second
	askTimeout = 20 * time.Second
	// lostAfter is how long a node that has answered may be away, for example to be
	// restarted.
	lostAfter = time.Minute
	// fitAtMost is how long a node may take to fit what it knows at the end.
	fitAtMost = time.Minute
	askAtOnce = 32
)

// collecting is a collection under way.
type collecting struct {
	*Collection
	nodes []*collected
	start time.Time
}

// collected is a node with its answers.
type collected struct {
	*Elsewhere
	status   api.Status
	answered time.Time
	err      error
	out      string // why it is left out
}

// Collect watches nodes that run elsewhere until all have used their budgets, or until
// ctx ends. It makes one table of their own reports: how the personal model and the
// lone one of each node predict the records that the node holds out.
func Collect(ctx context.Context, c Collection) (*Result, error) {
	w := &collecting{Collection: &c, start: time.Now()}
	for _, n := range c.Nodes {
		w.nodes = append(w.nodes, &collected{Elsewhere: n})
	}
	if err := w.watch(ctx); err != nil {
		return nil, err
	}
	complete := ctx.Err() == nil
	w.each(context.WithoutCancel(ctx), measure)
	w.leaveOut(func(n *collected) string {
		switch {
		case n.err != nil:
			return n.err.Error()
		case n.status.Experiment && n.status.Personal == nil:
			return "it holds no records out, so there is nothing to measure it on"
		}
		return w.unfit(n)
	})
	r, err := w.result()
	if err == nil {
		r.Complete = complete
	}
	return r, err
}

// watch asks all nodes until none has anything left to release.
func (w *collecting) watch(ctx context.Context) error {
	for {
		w.each(ctx, progress)
		if ctx.Err() != nil {
			return nil
		}
		w.leaveOut(w.unfit)
		in := w.in()
		if len(in) == 0 {
			return w.nobody()
		}
		p := progressOf(in)
		if w.Progress != nil {
			w.Progress(p)
		}
		if p.Done == p.Nodes || pause(ctx, askEvery) != nil {
			return nil
		}
	}
}

// unfit returns why a node cannot be in the table, or "" if it can.
func (w *collecting) unfit(n *collected) string {
	switch {
	case n.err != nil && (n.answered.IsZero() || time.Since(n.answered) > lostAfter):
		return n.err.Error()
	case n.err != nil: // it may come back
		return ""
	case !n.status.Experiment:
		return "its configuration does not say experiment = true, so its errors stay on its machine"
	}
	if first := w.in()[0]; first.status.Network != "" && n.status.Network != first.status.Network {
		return "its task is another one than that of " + first.Address
	}
	return ""
}

// in lists the nodes that are not left out.
func (w *collecting) in() (in []*collected) {
	for _, n := range w.nodes {
		if n.out == "" {
			in = append(in, n)
		}
	}
	return in
}

func (w *collecting) leaveOut(why func(*collected) string) {
	for _, n := range w.in() {
		if n.out = why(n); n.out != "" && w.Missed != nil {
			w.Missed(MissedOne{n.Address, n.out})
		}
	}
}

func (w *collecting) nobody() error {
	return fmt.Errorf("testnet: none of the %d nodes can be in the table; %s: %s", len(w.nodes), w.nodes[0].Address, w.nodes[0].out)
}

// each asks the nodes that are not left out, several at once.
func (w *collecting) each(ctx context.Context, ask func(context.Context, *collected) (api.Status, error)) {
	var asking errgroup.Group
	asking.SetLimit(askAtOnce)
	for _, n := range w.in() {
		asking.Go(func() error {
			s, err := ask(ctx, n)
			if n.err = err; err == nil {
				n.status, n.answered = s, time.Now()
			}
			return nil
		})
	}
	_ = asking.Wait() // each node keeps its error
}

func progress(ctx context.Context, n *collected) (api.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	s, err := n.node.Progress(ctx)
	if err == nil && n.peer != "" && s.Peer != n.peer.String() {
		return s, errors.New("it says that it is another peer")
	}
	return s, err
}

// measure waits for the fit of everything that a node knows. If that takes too long, it
// takes the node's best model so far.
func measure(ctx context.Context, n *collected) (s api.Status, err error) {
	for deadline := time.Now().Add(fitAtMost); ; {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		s, err = n.node.Status(asking)
		cancel()
		if err != nil || !s.Experiment || s.Fit != nil && s.Fit.Current || time.Now().After(deadline) {
			return s, err
		}
		if err := pause(ctx, lookEvery); err != nil {
			return s, err
		}
	}
}

func progressOf(in []*collected) Progress {
	p := Progress{Nodes: len(in), Method: methodOf(in)}
	for _, n := range in {
		s := &n.status
		if s.Done {
			p.Done++
		}
		if s.Listening > 0 {
			p.Linked++
		}
		p.Releases += float64(s.Privacy.Releases) / float64(len(in))
	}
	return p
}
