package node

import (
	"context"
	"fmt"
	"time"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/storage"
)

// retainEvery is how often a running node looks for records that have become too old.
const retainEvery = time.Hour

// limits returns the limits of the configuration at a time.
func (n *Node) limits(now time.Time) storage.Limits {
	l := storage.Limits{Records: n.live.Load().KeepRecords}
	if days := n.live.Load().KeepDays; days > 0 {
		l.Since = now.Add(-time.Duration(days * 24 * float64(time.Hour)))
	}
	return l
}

// retain deletes the records that are beyond the owner's limits at this time. Models that
// know of them are used until the next one is fitted. The caller holds n.storing.
func (n *Node) retain(now time.Time) error {
	limits := n.limits(now)
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
	return n.retain(time.Now())
}

// retaining deletes records that have become too old, until ctx ends.
func (n *Node) retaining(ctx context.Context) error {
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := n.retainNow(); err != nil {
			return err
		}
	}
}
