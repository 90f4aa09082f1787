package mobile

import (
	"context"
	"time"

	"p2pnode/learner"
	"p2pnode/node"
	"p2pnode/node/api"
)

// watchEvery is the time between two looks at a node that takes part in the network.
const watchEvery = 5 * time.Second

// openData makes the parts between the app and the directory: the queue, the personal
// model, the state at hand. NewNode calls it.
func (n *Node) openData() error {
	n.progress.ask = func() (api.Status, error) {
		return answer(n, func() (api.Status, error) { return n.node.Progress(n.ctx) })
	}
	n.queue = &queue{
		store: n.store, written: n.written, failure: n.unwritten, count: n.node.Stored,
		added: make(chan struct{}, 1), writing: make(chan struct{}, 1),
		limit: n.config.QueueLimit, most: mostExamples(&n.config, n.node.Task()),
	}
	n.models = newModels(n.node.Fitted, n.fitted)
	s, _, err := n.progress.get(n.ctx)
	if err == nil {
		err = n.models.glance()
	}
	if err != nil {
		return err
	}
	n.queue.stored = s.Records
	n.models.want()
	n.background("the queue", n.queue.run)
	n.background("the personal model", func(ctx context.Context) { n.models.run(ctx, n.unfitted) })
	n.background("the watch", n.watch)
	return nil
}

// store writes records for the queue. It cannot be cancelled: what was accepted is
// kept.
func (n *Node) store(records []learner.Record) error {
	return n.node.Add(context.WithoutCancel(n.ctx), records)
}

// unwritten tells the app that examples were not written. If nothing can be written any
// more, no release can be made either.
func (n *Node) unwritten(err error) {
	n.postError(err)
	if lasting(err) {
		n.driver.fail(err)
	}
}

// written tells the app that examples are on disk.
func (n *Node) written(stored, queued int) {
	n.events.post("stored", struct {
		Examples int `json:"examples"`
		Queued   int `json:"queued"`
	}{stored, queued})
	n.models.want()
}

// fitted tells the app that there is a newer personal model, and measures it.
func (n *Node) fitted(f node.Fitted) {
	n.comparison.Store(f.Comparison)
	n.events.post("model", struct {
		Examples int  `json:"examples"`
		Current  bool `json:"current"`
	}{f.Records, n.knows(f)})
}

// unfitted tells the app that a fit failed.
func (n *Node) unfitted(err error) {
	n.report("the personal model", err)
	n.postError(err)
}

// watch runs while the node takes part in the network. It tells the app about
// neighbours and releases, and asks for another model when a neighbour's has arrived.
func (n *Node) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before, _, _ := n.progress.get(ctx) // openData has asked for it already
	for {
		// While the node is away nothing changes by itself, and a look costs battery.
		there := func() bool { return before.Running || n.driver.state().State == stateRunning }
		if n.driver.await(ctx, there) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		s, _, err := n.progress.get(ctx)
		if err != nil {
			continue // the session has just ended
		}
		if s.Records != before.Records {
			n.queue.recount()
		}
		n.tellChanges(before, s)
		before = s
	}
}

func (n *Node) tellChanges(before, now api.Status) {
	type hood struct {
		Neighbours int `json:"neighbours"`
		Listening  int `json:"listening"`
		Heard      int `json:"heard"`
	}
	if h := (hood{now.Neighbours, now.Listening, now.Heard}); h != (hood{before.Neighbours, before.Listening, before.Heard}) {
		n.events.post("neighbours", h)
	}
	if now.Round != before.Round {
		n.events.post("released", struct {
			Round uint64  `json:"round"`
			Left  int     `json:"left"`
			Spent float64 `json:"spent"`
		}{now.Round, now.Privacy.Left, now.Privacy.Spent})
	}
	if now.Sums != nil && now.Sums.SumCounts != before.Sums.SumCounts {
		n.events.post("sums", now.Sums.SumCounts)
	}
	if now.Sums != nil && now.Sums.Known != before.Sums.Known || now.Heard != before.Heard || now.Traffic.Delivered != before.Traffic.Delivered {
		n.models.want()
	}
}
