package node

import (
	"context"
	"runtime"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/netedge"
	"p2pnode/peering"
)

// fitTimeout is how long the status of a running node waits for a fit, unless the last
// one took longer; then it waits for shortTimeout.
const (
	fitTimeout   = 100 * time.Millisecond
	shortTimeout = 10 * time.Millisecond
)

// Status tells the owner how the node is doing. A running node does not wait long: it
// returns the agent's state after its last event and the result of the last fit, while
// the next fit continues. A node that is not running waits for the fit, because closing
// the node would end it.
func (n *Node) Status(ctx context.Context) (api.Status, error) {
	s, err := n.Progress(ctx)
	if err != nil {
		return api.Status{}, err
	}
	wait, cancel := ctx, context.CancelFunc(func() {})
	if s.Running {
		timeout := fitTimeout
		if n.fits.lastTook() > timeout {
			timeout = shortTimeout
		}
		wait, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	f, err := n.Fitted(wait)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && !f.At.IsZero() {
		s.Personal, s.Fit = f.Comparison, &api.Fit{Age: time.Since(f.At).Seconds(), Records: f.Records, Current: f.Current}
	}
	return s, err
}

// Progress returns Status without Personal. It fits no model, so it is cheap enough to be
// called often.
func (n *Node) Progress(context.Context) (api.Status, error) {
	state, err := n.state()
	if err != nil {
		return api.Status{}, err
	}
	cohorts, err := n.cohorts()
	if err != nil {
		return api.Status{}, err
	}
	counts, err := n.records.count()
	if err != nil {
		return api.Status{}, err
	}
	total := n.meter.Traffic.GetBandwidthTotals()
	s := api.Status{
		Peer:       n.self.String(),
		Task:       n.files.Task.Name,
		Network:    n.network,
		Learner:    n.files.Task.Learner,
		Addrs:      []string{},
		Paused:     n.Paused(),
		Experiment: n.files.Config.Experiment,
		Goroutines: runtime.NumGoroutine(),
		Records:    counts.Records,
		HeldOut:    counts.HeldOut,
		SetAside:   counts.Aside,
		Cells:      n.files.Task.Tally(counts.Noted),
		Heard:      len(state.Heard),
		Round:      max(state.Round, n.ledger.Round()), // the agent may be told a moment later of a release that is paid for
		Done:       n.done(cohorts),
		Private:    n.private.Describe(n.self),
		Rounds:     n.rounds(state),
		Privacy:    n.summary(cohorts),
		Traffic:    api.Traffic{BytesIn: total.TotalIn, BytesOut: total.TotalOut},
	}
	if c := n.live.Load(); c.KeepRecords > 0 || c.KeepDays > 0 {
		s.Keep = &api.Keep{Records: c.KeepRecords, Days: c.KeepDays}
	}
	if s.Sums, err = n.describeSums(true); err != nil {
		return api.Status{}, err
	}
	s.Contradicted, s.ForeignSum, s.Restored = n.ledger.Contradicted(), n.ledger.ForeignSum(), n.ledger.Retired() > 0
	return s, n.describeSession(&s)
}

// rounds describes the rounds in which this node broadcasts models; nil if there are
// none. A client of polar broadcasts none; its releases are counted instead.
func (n *Node) rounds(state learner.State) *api.Rounds {
	t, self := n.files.Task, gossip.ID(n.self)
	model := t.Messages(self)[learner.KindModel]
	if !t.InRounds() || model.From != nil && !model.From(self) {
		return nil
	}
	return &api.Rounds{
		Last: t.Rounds.Count, Ended: model.Last > 0 && state.Round >= model.Last,
		Dropped: state.Dropped, Asymmetric: state.Asymmetric,
	}
}

// describeSession adds what only a running node knows. For a node that is not running it
// adds how many neighbours the node will return to.
func (n *Node) describeSession(s *api.Status) error {
	n.intake.Lock()
	defer n.intake.Unlock()
	if n.session == nil {
		edges, err := n.store.Edges()
		s.Neighbours = len(edges)
		return err
	}
	s.Running = true
	s.Addrs, s.Unopened = netedge.FullAddrs(n.session.host), n.session.unopened
	s.Connected, s.Connections = len(n.session.host.Network().Peers()), len(n.session.host.Network().Conns())
	list := n.session.hood.neighbours()
	if !n.files.Task.Silent() {
		s.Waits = n.session.hood.waits(list)
	}
	for _, e := range list {
		s.Neighbours++
		if e.live {
			s.Listening++
		}
	}
	n.session.hood.look(func(m *peering.Neighbourhood) { s.Candidates, s.EdgeChanges = m.Candidates(), m.Turnover() })
	c := n.session.gossip.Stats()
	s.Traffic.Published, s.Traffic.Expected, s.Traffic.Delivered = c.Published, c.Expected, c.Delivered
	s.Traffic.Rejected, s.Traffic.Ignored = c.Rejected, c.Ignored
	s.Traffic.Sent, s.Traffic.Taken = c.DirectSent, c.DirectTaken
	return nil
}

// Peers lists the neighbours.
func (n *Node) Peers(context.Context) ([]api.Peer, error) {
	state, err := n.state()
	if err != nil {
		return nil, err
	}
	rounds := make(map[learner.ID]uint64, len(state.Heard))
	for _, h := range state.Heard {
		rounds[h.Peer] = h.Round
	}
	n.intake.Lock()
	defer n.intake.Unlock()
	out := []api.Peer{}
	if n.session == nil {
		edges, err := n.store.Edges()
		for _, e := range edges {
			out = append(out, api.Peer{
				ID: e.Peer, Weight: e.Weight, Known: e.Known, Why: whyWeight(&n.files.Task.Graph, e.Known),
				Since: e.Since, Round: rounds[learner.ID(e.Peer)],
			})
		}
		return out, err
	}
	for _, e := range n.session.hood.neighbours() {
		id, err := peer.Decode(string(e.Peer))
		if err != nil {
			return nil, err
		}
		out = append(out, api.Peer{
			ID: string(e.Peer), Weight: e.Weight, Known: e.Known, Why: whyWeight(&n.files.Task.Graph, e.Known),
			Since: e.since, Round: rounds[e.Peer],
			Connected: n.session.hood.connected(id), Listening: e.live,
		})
	}
	return out, nil
}
