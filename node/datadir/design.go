package datadir

import (
	"fmt"
	"math"
	"strings"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// Design returns what the configuration asks of the noise. If private sums debit the
// ledger too, the caller must still set how wide they are.
func (c *Config) Design(t *learner.Task) privacy.Design {
	design := privacy.Design{
		Budget:   privacy.Budget{Epsilon: c.Epsilon, Delta: c.Delta},
		Releases: max(1, c.Releases),
		Noise:    privacy.Noise(c.Noise), Accounting: privacy.Accounting(c.Accounting),
		Pace: privacy.Pace(c.Pace), Contraction: c.Contraction,
		Apart: t.Sums.Share(),
	}
	if t.Silent() {
		design.Apart = 1
	}
	if c.Batch > 0 {
		design.Batch, design.Slots = c.Batch, batchSlots
	}
	return t.Design(design)
}

// policy computes the noise of a node's releases and the terms of its ledger. It fails
// when the keys do not fit together.
func policy(d privacy.Design) (privacy.Policy, error) {
	p, err := d.Policy()
	if err != nil {
		return p, fmt.Errorf("config: keys \"noise\", \"accounting\", \"pace\" and \"releases\": %w", err)
	}
	return p, nil
}

// openAccounting chooses an accounting for the noise if it is left open.
func (c *Config) openAccounting(t *learner.Task) error {
	p, err := policy(c.Design(t))
	if err != nil {
		return err
	}
	c.Accounting = string(p.Terms.Accounting)
	return nil
}

// policyKey is the key under which the store keeps a settled design.
const policyKey = "policy"

// settled is a design with the policy that was computed for it. The store keeps it for
// two reasons: a plan must stay the same to the last bit, also under another version or
// on another machine; and computing one can take seconds.
type settled struct {
	Design privacy.Design
	Policy privacy.Policy
}

// settle returns s if it belongs to the design d, otherwise a newly computed policy.
func (s settled) settle(d privacy.Design) (settled, error) {
	if s.Design == d {
		return s, nil
	}
	p, err := policy(d)
	return settled{d, p}, err
}

// keptPolicy returns the policy that the store keeps, or the zero value if the store is
// new.
func keptPolicy(store *storage.Store) (kept settled, err error) {
	if err := store.MetaJSON(policyKey, &kept); err != nil {
		return kept, fmt.Errorf("node: read the terms of the budget: %w", err)
	}
	return kept, nil
}

// changes names the keys whose values differ from those with which the ledger was last
// opened, with both values.
func (s settled) changes(now privacy.Design) string {
	was := s.Design
	var list []string
	for _, k := range []struct {
		name     string
		was, now any
	}{
		{"epsilon", was.Budget.Epsilon, now.Budget.Epsilon}, {"delta", was.Budget.Delta, now.Budget.Delta},
		{"releases", was.Releases, now.Releases}, {"noise", was.Noise, now.Noise}, {"accounting", was.Accounting, now.Accounting},
		{"pace", was.Pace, now.Pace}, {"contraction", was.Contraction, now.Contraction}, {"batch", was.Batch, now.Batch},
		{"clip of the task", was.Clip, now.Clip}, {"share of private sums", was.Apart, now.Apart},
	} {
		if k.was != k.now {
			list = append(list, fmt.Sprintf("%s is %v and was %v", k.name, k.now, k.was))
		}
	}
	return strings.Join(list, ", ")
}

// keep stores the policy for the next opening.
func (s settled) keep(store *storage.Store) error {
	if err := store.PutMetaJSON(policyKey, s); err != nil {
		return fmt.Errorf("node: store the terms of the budget: %w", err)
	}
	return nil
}

// unprotectedPolicy returns the policy of a node whose owner has consented to having no
// guarantee.
func unprotectedPolicy(t *learner.Task) (privacy.Policy, error) {
	return t.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
}

// Guarantee returns the budget that the ledger keeps for each record. Under pure
// accounting the guarantee is stronger than the configuration asks.
func (c *Config) Guarantee() privacy.Budget {
	if c.Pure() {
		return privacy.Budget{Epsilon: c.Epsilon}
	}
	return privacy.Budget{Epsilon: c.Epsilon, Delta: c.Delta}
}

// Pure reports whether the accounting is the pure one, which keeps epsilon without
// exception, or will be because no other was chosen.
func (c *Config) Pure() bool {
	return c.Accounting == string(privacy.PureFilter) || c.Accounting == "" && privacy.Noise(c.Noise).Filter() == privacy.PureFilter
}

// Person returns the guarantee for somebody with k records. Under the Gaussian filter it
// is exact and leaves delta unchanged; otherwise it follows from the group privacy lemma
// (Vadhan 2017, "The Complexity of Differential Privacy", lemma 2.2).
func (c *Config) Person(k int) api.PersonBudget {
	one := c.Guarantee()
	several := privacy.Budget{Epsilon: float64(k) * one.Epsilon}
	if c.Accounting == string(privacy.GaussianFilter) {
		several = one.ForRecords(k)
	} else if one.Delta > 0 {
		several.Delta = min(1, one.Delta*math.Expm1(several.Epsilon)/math.Expm1(one.Epsilon))
	}
	return api.PersonBudget{
		Records: k, Epsilon: several.Epsilon, Delta: several.Delta,
		Belief: 1 / (1 + math.Exp(-several.Epsilon)), // even odds become odds of e^epsilon
	}
}

// NeedsPlan reports whether only a plan has a price for the noise, or for random batches
// of the records.
func (c *Config) NeedsPlan() bool {
	return privacy.Noise(c.Noise).Filter() == "" || c.Batch > 0
}
