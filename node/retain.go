package node

import (
	"context"
	"fmt"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/storage"
)

const (
	// retainEvery is how often a running node looks for records that have become too old.
	retainEvery = time.Hour
	// ageEvery is how often it does so while records come, or wait for the clock. To look
	// takes long if many records do not say when they arrived.
	ageEvery = time.Minute
)

// limits returns the limits of the configuration that hold at a time. The caller holds
// n.storing.
func (n *Node) limits(now time.Time) (storage.Limits, error) {
	l := storage.Limits{Records: n.live.Load().KeepRecords}
	days, passed := n.live.Load().KeepDays, now.Sub(n.aged)
	if days == 0 || passed >= 0 && passed < ageEvery {
		return l, nil
	}
	n.aged = now
	byAge := storage.Limits{Since: now.Add(-time.Duration(days * 24 * float64(time.Hour))), Now: now}
	before := n.clock
	believed := n.clock.believes(now)
	if n.clock != before {
		if err := n.clock.save(n.store); err != nil {
			return l, err
		}
	}
	if !believed {
		return l, n.tellWaiting(byAge)
	}
	n.waiting = false
	l.Since, l.Now = byAge.Since, byAge.Now
	return l, nil
}

// tellWaiting tells the owner once that records are beyond the limits if the clock is
// right, and wait until it can be believed.
func (n *Node) tellWaiting(l storage.Limits) error {
	if n.waiting {
		return nil
	}
	due, err := n.store.Due(l, 0, n.oldest)
	if err != nil || !due {
		return err
	}
	n.waiting = true
	ahead := ""
	if since := n.clock.Believed; !since.IsZero() {
		ahead = fmt.Sprintf(", %s after it was last believed", api.Lasting(l.Now.Sub(since).Seconds()))
	}
	n.diary.Tell(api.Event{Kind: api.EventWarning, Text: fmt.Sprintf("the clock says %s%s: set it if it is wrong; records that are older than keep_days by it "+
		"are deleted when it has gone on for an hour", l.Now.Format("2006-01-02 15:04"), ahead)})
	return nil
}

// retain deletes the records that are beyond the owner's limits at this time. Models that
// know of them are used until the next one is fitted. The caller holds n.storing.
func (n *Node) retain(now time.Time) error {
	limits, err := n.limits(now)
	if err != nil {
		return fmt.Errorf("node: look for records that are kept no longer: %w", err)
	}
	if limits == (storage.Limits{}) {
		return nil
	}
	erased := 0
	for {
		some, err := n.expire(limits)
		if err != nil {
			n.records.forget() // it is unknown what was erased
			return fmt.Errorf("node: delete records that are kept no longer: %w", err)
		}
		if len(some) == 0 {
			break
		}
		erased += len(some)
		if s := n.current(); s != nil {
			if err := s.records(nil, some); err != nil {
				return err
			}
		}
	}
	if erased == 0 {
		return nil
	}
	n.fits.outdated()
	n.diary.Gather(api.Event{Kind: api.EventDeleted, Text: "deleted records that are kept no longer, as config.toml says", Records: erased})
	return n.store.Wipe()
}

// expire erases some of the records that are beyond the limits, and returns their
// numbers.
func (n *Node) expire(limits storage.Limits) ([]learner.Seq, error) {
	counts, err := n.records.count()
	if err != nil {
		return nil, err
	}
	c, oldest, err := n.store.Expire(limits, counts.Records, n.oldest)
	if err != nil {
		return nil, err
	}
	n.oldest = oldest
	n.records.expired(c)
	numbers := make([]learner.Seq, len(c.Erased))
	for i, r := range c.Erased {
		numbers[i] = r.Seq
	}
	return numbers, nil
}

// retainNow is retain for a caller that does not hold n.storing.
func (n *Node) retainNow() error {
	n.storing.Lock()
	defer n.storing.Unlock()
	n.aged = time.Time{}
	return n.retain(time.Now())
}

// retainAgain returns after how long to look again for records that have become too old. A
// clock that waits for its proof may be set right at any time, and must not be believed
// afterwards when it is wrong again.
func (n *Node) retainAgain() time.Duration {
	n.storing.Lock()
	defer n.storing.Unlock()
	if n.live.Load().KeepDays > 0 && !n.clock.Ahead.IsZero() {
		return ageEvery
	}
	return retainEvery
}

// retaining deletes records that have become too old, until ctx ends.
func (n *Node) retaining(ctx context.Context) error {
	for {
		select {
		case <-time.After(n.retainAgain()):
		case <-ctx.Done():
			return nil
		}
		if err := n.retainNow(); err != nil {
			return err
		}
	}
}
