package node

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/sync/errgroup"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/logs"
	"p2pnode/node/summing"
	"p2pnode/privacy"
	"p2pnode/storage"
	"p2pnode/sums"
)

func (n *Node) resultsDir() string { return filepath.Join(n.dir, datadir.ResultsDir) }

func (n *Node) committeeDir() string { return filepath.Join(n.dir, datadir.CommitteeDir) }

// newDesk makes a session's desk for private sums; it returns nil if the task has none.
func (n *Node) newDesk(s *session) (*summing.Desk, error) {
	if n.sums == nil {
		return nil, nil
	}
	key, err := datadir.SigningKey(n.files.Key)
	if err != nil {
		return nil, err
	}
	find := func(ctx context.Context, who peer.ID) { s.discovery.Find(ctx, who) }
	reason := func(who peer.ID, err error) string { return s.unanswered(who, err, n) }
	return summing.NewDesk(n.sums.plan.Config(summing.Config{Identity: key, Results: n.resultsDir(), Logger: logs.For(n.log, logs.Sums), Find: find, Reason: reason})), nil
}

// sum takes part in the task's private sums until ctx ends or all are over.
func (n *Node) sum(ctx context.Context, d *summing.Desk) error {
	if d == nil {
		return nil
	}
	parts, ctx := errgroup.WithContext(ctx)
	for _, w := range n.sums.walks {
		parts.Go(func() error { return n.walk(ctx, d, w) })
	}
	err := parts.Wait()
	switch {
	case errors.Is(err, storage.ErrRolledBack):
		return foreignSum(fmt.Errorf("%w: a committee certified that a contribution of this node is in a private sum, and its directory does not know it", ErrRolledBack))
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil
	}
	return err
}

// walk takes part in the sums of one recipe, one after the other. The results of earlier
// sums are only served.
func (n *Node) walk(ctx context.Context, d *summing.Desk, w *walk) error {
	var members sync.WaitGroup
	defer members.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	serve := func(s *sums.Sum) {
		o := n.sums.plan.Membership(n.committeeDir(), n.sums.opens(w))
		members.Go(func() { d.Serving(ctx, s, o) })
	}
	if err := n.serveKept(d, w, serve); err != nil {
		return err
	}
	for {
		s, err := n.sums.next(w)
		if err != nil || s == nil {
			<-ctx.Done() // a member goes on serving the last sums
			return err
		}
		if n.sums.member {
			serve(s)
		}
		o, err := d.Contribute(ctx, s, n.contributionTo(s, w))
		if err != nil {
			return err
		}
		if err := n.sums.take(w, s, &o); err != nil {
			return err
		}
		if o.Result == nil {
			n.diary.Tell(api.Event{
				Kind: api.EventWarning, Text: "a private sum ended without a result: the committee erased its keys before it had one; what was paid for it stays spent",
				Sum: n.sumEvent(w, s, api.SumDead),
			})
			continue
		}
		n.fits.outdated()
		here := n.sumEvent(w, s, api.SumHere)
		here.Contributors, here.Listed = int(o.Result.Result.Entries), o.Listed
		text := "the result of a private sum is here"
		if here.Contributors == 0 {
			text = "a private sum is over, and nobody contributed"
		}
		n.diary.Tell(api.Event{Kind: api.EventResult, Text: text, Sum: here})
	}
}

func (n *Node) sumEvent(w *walk, s *sums.Sum, state api.SumState) *api.SumEvent {
	return &api.SumEvent{ID: hex.EncodeToString(s.ID[:]), Kind: n.sums.plan.Kind(w.recipe), Recipe: w.recipe + 1, Epoch: s.Epoch, Round: s.Round, State: state}
}

// serveKept serves the results of earlier sums that this node keeps. A member that was
// stopped before it erased its keys for a sum continues with that sum.
func (n *Node) serveKept(d *summing.Desk, w *walk, goOn func(*sums.Sum)) error {
	for epoch := uint64(1); epoch <= w.Epoch && epoch <= uint64(n.sums.plan.Epochs()); epoch++ {
		for round := range uint64(n.sums.plan.Recipe(w.recipe).Rounds()) {
			s, err := n.sums.plan.Sum(w.recipe, epoch, round+1)
			if err != nil {
				return err
			}
			o, err := d.Serve(s, n.ledger)
			if err != nil {
				return err
			}
			if o != nil && n.sums.member && summing.Holds(n.committeeDir(), s.ID) {
				goOn(s)
			}
		}
	}
	return nil
}

// contributionTo returns what this node adds to a sum: the vector of the records of the oldest
// cohorts that can pay, as many as the sum takes, if a budget is enough for all rounds of the recipe. Those that came after the
// first round of an epoch wait for the next one, as a record is in the sums of one epoch:
// what it is worth is in all rounds together.
func (n *Node) contributionTo(s *sums.Sum, w *walk) summing.Contribution {
	at, opens := n.sums.at(w), n.sums.opens(w)
	recipe := n.sums.plan.Recipe(w.recipe)
	return summing.Contribution{
		Ledger: n.ledger,
		Opens:  opens,
		Adding: &n.adding,
		Cohorts: func() ([]privacy.Cohort, error) {
			if !slices.Contains(n.sums.paid, w.recipe) {
				return nil, nil
			}
			counts, err := n.records.count()
			if err != nil {
				return nil, err
			}
			began, err := n.began(s, w)
			if err != nil {
				return nil, err
			}
			// A record that pays is in the sum: cohorts for which there is no room wait for the next
			// epoch. Those of earlier versions may be larger than a sum.
			retired, room := n.ledger.Retired(), n.files.Task.Sums.Records
			var list []privacy.Cohort
			for _, c := range slices.Sorted(maps.Keys(counts.Slots)) {
				slots, epoch := counts.Slots[c], n.ledger.Epoch(c)
				free := c > retired && (epoch == 0 || epoch == s.Epoch) && (s.Round == 1 || slices.Contains(began, c))
				if free && slots > 0 && (slots <= room || len(list) == 0) {
					list = append(list, c)
					room -= slots
				}
			}
			return list, nil
		},
		Vector: func(paid []privacy.Cohort) ([]float64, int, error) {
			rows, err := n.records.all()
			if err != nil {
				return nil, 0, err
			}
			c := n.contribution(recipe, &rows, paid, at)
			n.diary.Tell(api.Event{Kind: api.EventSum, Text: "contribution to a private sum paid for", Sum: n.sumEvent(w, s, api.SumOpen)})
			if c.Vector == nil {
				c.Vector = make([]float64, s.Dimension)
			}
			return c.Vector, c.Slots, nil
		},
	}
}

// began returns the cohorts that paid for the first round of a sum's epoch.
func (n *Node) began(s *sums.Sum, w *walk) ([]privacy.Cohort, error) {
	first, err := n.sums.plan.Sum(w.recipe, s.Epoch, 1)
	if err != nil {
		return nil, err
	}
	return n.paid()[storage.SumID(first.ID)], nil
}
