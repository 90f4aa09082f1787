package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"p2pnode/node/api"
	"p2pnode/storage"
)

// pausedKey is the key under which the database stores the reasons for which a node is
// paused. A command without a daemon opens the database anyway, and what is in it is
// durable.
const pausedKey = "paused"

// pauses holds the reasons for which the owner paused the node, and whether it takes part
// in the network. Its methods are safe for concurrent use.
type pauses struct {
	store *storage.Store

	mu      sync.Mutex
	reasons []api.Pause // oldest first; empty: the node may take part
	active  bool        // the node takes part
	runs    int         // how many calls of Run are running
	closed  bool        // no run may begin any more, and running ones end
	changed chan struct{}
}

func openPauses(s *storage.Store) (*pauses, error) {
	p := &pauses{store: s, changed: make(chan struct{})}
	if err := s.MetaJSON(pausedKey, &p.reasons); err != nil {
		return nil, fmt.Errorf("node: read why it is paused: %w", err)
	}
	return p, nil
}

// list returns the reasons.
func (p *pauses) list() []api.Pause {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]api.Pause{}, p.reasons...)
}

// add adds a reason, durably, and reports whether the reason is new.
func (p *pauses) add(reason string) (added bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(p.reasons, func(r api.Pause) bool { return r.Reason == reason }) {
		return false, nil
	}
	return true, p.set(append(slices.Clone(p.reasons), api.Pause{Reason: reason, Since: time.Now()}))
}

// remove removes a reason, or all of them if it is "", and returns how many it removed.
func (p *pauses) remove(reason string) (removed int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(p.reasons), func(r api.Pause) bool { return reason == "" || r.Reason == reason })
	if removed = len(p.reasons) - len(rest); removed == 0 {
		return 0, nil
	}
	return removed, p.set(rest)
}

// set stores the reasons. The caller holds p.mu.
func (p *pauses) set(reasons []api.Pause) error {
	if err := p.store.PutMetaJSON(pausedKey, reasons); err != nil {
		return fmt.Errorf("node: store why it is paused: %w", err)
	}
	p.reasons = reasons
	p.tell()
	return nil
}

// tell wakes everybody who waits for a change. The caller holds p.mu.
func (p *pauses) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until ok returns true, and returns true, or until ctx ends, and returns
// false. It calls ok with p.mu held.
func (p *pauses) await(ctx context.Context, ok func() bool) bool {
	for {
		p.mu.Lock()
		done, changed := ok(), p.changed
		p.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// paused reports whether the node must not take part. The caller holds p.mu.
func (p *pauses) paused() bool { return len(p.reasons) > 0 || p.closed }

// enter notes that a run begins, and reports whether it may. leave notes that it has
// ended.
func (p *pauses) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.runs++
	}
	return !p.closed
}

func (p *pauses) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs--
	p.tell()
}

// close ends all runs, forbids new ones, and waits until the running ones have ended.
func (p *pauses) close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.tell()
	p.mu.Unlock()
	if !p.await(ctx, func() bool { return p.runs == 0 }) {
		return fmt.Errorf("node: the node is still stopping: %w", ctx.Err())
	}
	return nil
}

// between calls takePart whenever there is no reason to pause, until ctx ends or takePart
// fails.
func (p *pauses) between(ctx context.Context, takePart func(context.Context) error) error {
	for {
		begins := false
		p.await(ctx, func() bool { begins = !p.paused(); p.active = begins; return begins || p.closed })
		if !begins {
			return nil
		}
		err := p.during(ctx, takePart)
		p.mu.Lock()
		p.active = false
		p.tell()
		p.mu.Unlock()
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// during calls takePart and ends it when there is a reason to pause or ctx ends.
func (p *pauses) during(ctx context.Context, takePart func(context.Context) error) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	watching.Go(func() {
		if p.await(ctx, p.paused) {
			end()
		}
	})
	return takePart(ctx)
}

// rested waits until the node does not take part any more, if there is a reason to pause.
// It returns an error if the node cannot go on serving its owner, because it could not
// store what it knew.
func (p *pauses) rested(ctx context.Context) error {
	if !p.await(ctx, func() bool { return !p.active || !p.paused() }) {
		return fmt.Errorf("node: the node is paused, and still stopping: %w", ctx.Err())
	}
	if err := p.store.Failure(); err != nil {
		return fmt.Errorf("node: the pause is stored, but the node ends: %w", err)
	}
	return nil
}
