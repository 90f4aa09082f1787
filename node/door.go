package node

import (
	"fmt"
	"slices"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// door is the only way from records to anything public. Its pure half (sums,
// noise, the filter) is package privacy; this is the durable half. It opens in
// two steps: pay, then draw the noise. What the agent makes of the answer is
// committed by the loop before it is published.
type door struct {
	ledger *storage.Ledger
	noise  *privacy.LiveNoise
	limit  int // releases of an unprotected node; 0 is no limit
}

// release pays for the query, durably, and answers it. An answer without
// cohorts means that no budget is left. After an error nothing may be released
// any more: whether the debit reached the disk is not known.
func (d *door) release(q *learner.Query) (privacy.Answer, error) {
	if !q.Mechanism.Protected() {
		return d.releaseUnprotected(q)
	}
	cohorts := make([]privacy.Cohort, len(q.Sums))
	for i := range q.Sums {
		cohorts[i] = q.Sums[i].Cohort()
	}
	paid, err := d.ledger.Pay(q.Round, q.Mechanism, cohorts)
	if err != nil {
		return privacy.Answer{}, fmt.Errorf("node: pay for round %d: %w", q.Round, err)
	}
	sums := slices.Clone(q.Sums)
	sums = slices.DeleteFunc(sums, func(s privacy.Sum) bool { return !slices.Contains(paid, s.Cohort()) })
	return d.noise.Answer(q.Mechanism, sums), nil
}

// releaseUnprotected is the second door: no noise and no budget. A daemon
// reaches it only with the operator's consent in its configuration, and the
// ledger remembers it for ever.
func (d *door) releaseUnprotected(q *learner.Query) (privacy.Answer, error) {
	if d.limit > 0 && d.ledger.Round() >= uint64(d.limit) {
		return privacy.Answer{}, nil
	}
	if err := d.ledger.PayUnprotected(q.Round); err != nil {
		return privacy.Answer{}, fmt.Errorf("node: mark the unprotected round %d: %w", q.Round, err)
	}
	return d.noise.Answer(q.Mechanism, q.Sums), nil
}
