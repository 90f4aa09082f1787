package node

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// Import reads records from CSV with a header row and stores them, all or
// none. A file with bad lines is not imported and gives ErrBadLines with the
// report, unless skipBad leaves those lines out.
func (n *Node) Import(ctx context.Context, r io.Reader, skipBad bool) (ImportReport, error) {
	records, report, err := readCSV(r, n.files.task)
	if err != nil {
		return report, err
	}
	if report.Bad > 0 && !skipBad {
		return report, ErrBadLines
	}
	if len(records) > 0 {
		if err := n.Add(ctx, records); err != nil {
			return report, err
		}
	}
	report.Records = len(records)
	return report, nil
}

// Status tells the owner how the node is doing.
func (n *Node) Status(ctx context.Context) (Status, error) {
	s, err := n.Progress(ctx)
	if err != nil {
		return Status{}, err
	}
	s.Personal, err = n.compare(ctx)
	return s, err
}

// Progress is Status without Personal: it fits no model, so it is cheap enough
// to be asked for again and again.
func (n *Node) Progress(ctx context.Context) (Status, error) {
	state, err := n.state(ctx)
	if err != nil {
		return Status{}, err
	}
	cohorts, err := n.cohorts()
	if err != nil {
		return Status{}, err
	}
	live, _, err := n.own.records(n.store)
	if err != nil {
		return Status{}, err
	}
	total := n.traffic.GetBandwidthTotals()
	s := Status{
		Peer:    n.self.String(),
		Task:    n.files.task.Name,
		Network: n.network,
		Addrs:   []string{},
		Records: len(live),
		Heard:   len(state.Heard),
		Round:   state.Round,
		Done:    n.done(cohorts),
		Privacy: n.summary(cohorts),
		Traffic: Traffic{BytesIn: total.TotalIn, BytesOut: total.TotalOut},
	}
	for _, r := range live {
		if r.Seq.HeldOut() {
			s.HeldOut++
		}
	}
	return s, n.describeSession(&s)
}

// describeSession adds what only a running node knows, and of a node at rest
// how many neighbours it will return to.
func (n *Node) describeSession(s *Status) error {
	n.intake.Lock()
	defer n.intake.Unlock()
	if n.session == nil {
		edges, err := n.store.Edges()
		s.Neighbours = len(edges)
		return err
	}
	s.Running = true
	s.Addrs = fullAddrs(n.session.host)
	for _, e := range n.session.hood.edges() {
		s.Neighbours++
		if e.Live {
			s.Listening++
		}
	}
	c := n.session.gossip.Stats()
	s.Traffic.Published, s.Traffic.Expected, s.Traffic.Delivered = c.Published, c.Expected, c.Delivered
	s.Traffic.Rejected, s.Traffic.Ignored = c.Rejected, c.Ignored
	return nil
}

// Budget reads the ledger for the operator.
func (n *Node) Budget(context.Context) (Budget, error) {
	cohorts, err := n.cohorts()
	if err != nil {
		return Budget{}, err
	}
	c := n.files.config
	b := Budget{
		Epsilon: c.Epsilon, Delta: c.Delta, Releases: c.Releases,
		Unbounded: n.ledger.Unbounded() || !c.protected(),
		Cohorts:   cohorts,
		Person:    []PersonBudget{},
	}
	for _, k := range []int{1, 2, 5, 10} {
		b.Person = append(b.Person, PersonBudget{Records: k, Epsilon: c.budget().ForRecords(k).Epsilon})
	}
	return b, nil
}

// cohorts lists the cohorts that hold training records or have paid.
func (n *Node) cohorts() ([]CohortBudget, error) {
	live, deleted, err := n.own.records(n.store)
	if err != nil {
		return nil, err
	}
	slots := make(map[privacy.Cohort]int)
	for _, r := range slices.Concat(live, deleted) {
		if !r.Seq.HeldOut() {
			slots[r.Cohort]++
		}
	}
	spending := make(map[privacy.Cohort]storage.Spending)
	for _, s := range n.ledger.Spending() {
		spending[s.Cohort] = s
		slots[s.Cohort] += 0 // listed even when it holds nothing
	}
	out := make([]CohortBudget, 0, len(slots))
	for c, m := range slots {
		s := spending[c]
		out = append(out, CohortBudget{Cohort: c, Records: m, Releases: s.Releases, Spent: s.Share, Left: n.left(s)})
	}
	slices.SortFunc(out, func(a, b CohortBudget) int { return cmp.Compare(a.Cohort, b.Cohort) })
	return out, nil
}

// left is how many releases a cohort can still pay, at the configured noise,
// which was calibrated for exactly so many.
func (n *Node) left(s storage.Spending) int {
	c := n.files.config
	if !c.protected() {
		return max(0, c.Releases-int(min(n.ledger.Round(), math.MaxInt32)))
	}
	return int((1-s.Share)*float64(c.Releases) + 1e-6)
}

// done reports whether no cohort will be released any more. Without protection
// and without a limit there is always a next time.
func (n *Node) done(cohorts []CohortBudget) bool {
	c := n.files.config
	if !c.protected() && c.Releases == 0 {
		return false
	}
	return len(cohorts) > 0 && !slices.ContainsFunc(cohorts, func(c CohortBudget) bool { return c.Left > 0 && c.Records > 0 })
}

func (n *Node) summary(cohorts []CohortBudget) BudgetSummary {
	c := n.files.config
	s := BudgetSummary{Epsilon: c.Epsilon, Delta: c.Delta, Left: c.Releases, Unbounded: n.ledger.Unbounded() || !c.protected()}
	for _, k := range cohorts {
		if k.Spent >= s.Spent {
			s.Spent, s.Left = k.Spent, k.Left
		}
	}
	return s
}

// Peers lists the neighbours.
func (n *Node) Peers(ctx context.Context) ([]Peer, error) {
	state, err := n.state(ctx)
	if err != nil {
		return nil, err
	}
	rounds := make(map[learner.ID]uint64, len(state.Heard))
	for _, h := range state.Heard {
		rounds[h.Peer] = h.Round
	}
	n.intake.Lock()
	defer n.intake.Unlock()
	out := []Peer{}
	if n.session == nil {
		edges, err := n.store.Edges()
		for _, e := range edges {
			out = append(out, Peer{ID: e.Peer, Weight: e.Weight, Round: rounds[learner.ID(e.Peer)]})
		}
		return out, err
	}
	for _, e := range n.session.hood.edges() {
		id, err := peer.Decode(string(e.Peer))
		if err != nil {
			return nil, err
		}
		out = append(out, Peer{
			ID: string(e.Peer), Weight: e.Weight, Round: rounds[e.Peer],
			Connected: n.session.hood.connected(id), Listening: e.Live,
		})
	}
	return out, nil
}
