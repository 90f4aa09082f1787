package testnet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// How long a private sum takes contributions after the committee is complete: a fixed
// time, a time for each person, which is a multiple of what two cores take, and, if
// phones go offline, a multiple of the time in which they go offline and come back.
const (
	closesAfter  = 6 * time.Second
	closesEach   = 25 * time.Millisecond
	closesSpells = 4
)

// closes is how long a private sum of this many people takes contributions.
func (c *Config) closes(people int) time.Duration {
	d := closesAfter + time.Duration(people)*closesEach
	if p := c.Daemons; p != nil && p.Phones > 0 && p.Online < 1 {
		d += closesSpells * (p.Spell + p.away())
	}
	return d
}

// members is the size of the committee.
func (c *Config) members(t *learner.Task) int {
	if c.Rehearse {
		return len(t.Sums.Committee)
	}
	return committee
}

// appoint prepares a fleet whose people make private sums: it draws the identities of a
// committee and returns their IDs. The committee's nodes come first; they have no
// records. A sum opens once the whole committee is running, so its first node is
// started last, when everyone has contributions to make.
func (f *fleet) appoint(members int) (ids []string, err error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, fmt.Errorf("testnet: make a directory for the nodes: %w", err)
	}
	for i := range members {
		file := filepath.Join(f.dir, fmt.Sprintf("member-%d.key", i+1))
		id, err := datadir.NewIdentity(file)
		if err != nil {
			return nil, err
		}
		f.identities, ids = append(f.identities, file), append(ids, id.String())
	}
	return ids, nil
}

// staged returns the data set with the task for the nodes of a trial: its own task, or
// one that lets them make private sums with this committee.
func (c *Config) staged(d *Dataset, m Method, committee []string) *Dataset {
	switch {
	case c.Rehearse:
		staged := *d
		staged.Task = rehearsed(d.Task, committee, c.closes(len(d.People)))
		return &staged
	case m == Private:
		return d.summing(c.Budget, committee, c.closes(len(d.People)))
	}
	return d
}

// complete starts the committee's first node, and makes all others connect to it.
func (f *fleet) complete(ctx context.Context, running *errgroup.Group) error {
	if err := f.launchFirst(ctx, running, 0); err != nil {
		return err
	}
	at := f.first[len(f.first)-1]
	return f.each(func(i int, n participant) error {
		if i == 0 {
			return nil
		}
		_, err := n.AddPeer(ctx, at)
		return err
	})
}

// sum lets the nodes make the task's private sums, then measures. It stops waiting when
// ctx ends, or when nothing happens any more; life is the nodes' own context.
func (w *watch) sum(ctx, life context.Context, running *errgroup.Group) error {
	f := w.fleet
	n := len(f.people.People)
	p := Progress{Nodes: n, Started: n}
	if err := f.feed(life); err != nil {
		return err
	}
	err := w.until(ctx, life, linkStuck, func(all []api.Status) (got int, done bool) {
		p.Linked = 0
		for _, s := range all {
			if s.Connections > 0 {
				p.Linked++
			}
		}
		w.report(p)
		return p.Linked, p.Linked == n
	})
	if err != nil {
		return err
	}
	f.meter.linked()
	if ctx.Err() == nil {
		if err := f.complete(life, running); err != nil {
			return err
		}
	}
	stall := max(f.stallTimeout, 2*time.Duration(f.people.Task.Sums.CloseSeconds*float64(time.Second)))
	err = w.until(ctx, life, stall, func(all []api.Status) (got int, done bool) {
		got, done = p.summed(all)
		w.report(p)
		return got, done
	})
	if err != nil {
		return err
	}
	if !f.people.Task.Silent() { // the rest of the budget is for releases
		p.Sums, p.Goal = 0, f.config.Releases
		if err := w.learn(ctx, life, &p); err != nil {
			return err
		}
	}
	w.trial.Unfinished = n - p.Done
	return w.measureSum(life)
}

// until looks at the nodes until they are done, or have made no progress for the time
// stall, or ctx ends.
func (w *watch) until(ctx, life context.Context, stall time.Duration, look func([]api.Status) (got int, done bool)) error {
	for moved, most := time.Now(), -1; ctx.Err() == nil && time.Since(moved) < stall; {
		all, err := w.look(life)
		if err != nil {
			return err
		}
		got, done := look(all)
		if done {
			return nil
		}
		if got > most {
			most, moved = got, time.Now()
		}
		if err := w.pause(life); err != nil {
			return err
		}
	}
	return nil
}

// summed notes how far the nodes are with the task's sums, one sum after the other.
func (p *Progress) summed(all []api.Status) (got int, done bool) {
	p.Sums, p.Sum, p.Paid, p.Known, p.Done = all[0].Sums.All, 0, 0, 0, 0
	for _, s := range all {
		p.Sum = max(p.Sum, min(s.Sums.Paid, s.Sums.All))
		got += s.Sums.Paid + s.Sums.Known
	}
	for _, s := range all {
		if s.Sums.Paid >= p.Sum {
			p.Paid++
		}
		if s.Sums.Known >= p.Sum {
			p.Known++
		}
		if s.Sums.Known == s.Sums.All {
			p.Done++
		}
	}
	return got, p.Done == p.Nodes
}

// measureSum measures what people gain from the sums, and what they would have gained
// as newcomers. The latter is known to a node of the committee, which has added
// nothing.
func (w *watch) measureSum(ctx context.Context) error {
	f, t := w.fleet, w.trial
	all, err := f.progress(ctx)
	if err != nil {
		return err
	}
	var paid int
	var bytes int64
	for _, s := range all {
		t.Expected += uint64(s.Sums.Paid + s.Sums.All)
		t.Delivered += uint64(s.Sums.Listed + s.Sums.Known)
		t.Spent = append(t.Spent, s.Privacy.Spent)
		paid, bytes = paid+s.Sums.Paid, bytes+s.Traffic.BytesOut
	}
	t.Messages, t.Bytes = float64(paid)/float64(len(all)), float64(bytes)/float64(len(all))
	scores, err := f.scores(ctx)
	if err != nil {
		return err
	}
	t.take(f.people, scores)
	m, err := f.nodes[len(f.identities)-1].Personal(ctx)
	if err != nil || m.Known == nil {
		return err
	}
	t.Newcomers, err = newcomersErrors(ctx, f.people, m.Known)
	return err
}
