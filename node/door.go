package node

import (
	"errors"
	"fmt"
	"sync/atomic"

	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// door is the only way from records to anything public. Its pure half (sums, noise, the
// filter) is package privacy; this is the durable half. It pays first, and then draws the
// noise. The loop commits the agent's message before it publishes it.
type door struct {
	ledger  *storage.Ledger
	consent bool // the owner consents to releases without a guarantee
	limit   int  // the most of these releases; 0: no limit

	released, refused atomic.Uint64 // how many queries were answered, and for how many no budget was left
}

func newDoor(l *storage.Ledger, c *datadir.Config) *door {
	return &door{ledger: l, consent: !c.Protected(), limit: c.Releases}
}

// release pays for the query, durably, and answers it. An answer without cohorts means
// that no budget is left. After an error nothing may be released any more, because it is
// unknown whether the debit reached the disk.
func (d *door) release(q *learner.Query) (privacy.Answer, error) {
	a, err := d.answer(q)
	switch {
	case err != nil:
	case a.Exhausted():
		d.refused.Add(1)
	default:
		d.released.Add(1)
	}
	return a, err
}

func (d *door) answer(q *learner.Query) (privacy.Answer, error) {
	if !q.Mechanism.Protected() {
		return d.releaseUnprotected(q)
	}
	a, err := d.ledger.Release(q.Round, q.Mechanism, q.Sums)
	if err != nil {
		return privacy.Answer{}, fmt.Errorf("node: pay for round %d: %w", q.Round, err)
	}
	return a, nil
}

var errNoConsent = errors.New("node: unprotected release not allowed by the configuration")

// releaseUnprotected releases without noise and without a budget. It requires the owner's
// consent in the configuration, and the ledger keeps a note of it for ever.
func (d *door) releaseUnprotected(q *learner.Query) (privacy.Answer, error) {
	if !d.consent {
		return privacy.Answer{}, errNoConsent
	}
	if d.limit > 0 && d.ledger.Unprotected() >= d.limit {
		return privacy.Answer{}, nil
	}
	a, err := d.ledger.ReleaseUnprotected(q.Round, q.Mechanism, q.Sums)
	if err != nil {
		return privacy.Answer{}, fmt.Errorf("node: mark the unprotected round %d: %w", q.Round, err)
	}
	return a, nil
}
