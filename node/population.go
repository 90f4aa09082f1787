package node

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// known returns the population as this device sees it with these records: what its own
// records added is taken out where it can be. It returns nil if no sum was opened yet.
func (n *Node) known(rows *ownRows) (*learner.Known, error) {
	if n.sums == nil {
		return nil, nil
	}
	p, sources, err := n.sums.read()
	if p == nil || err != nil {
		return nil, err
	}
	paid := n.paid()
	own := make([]learner.Contribution, len(sources))
	for i, from := range sources {
		for _, o := range from.epochs {
			if o.listed && from.recipe.Separable() {
				add(&own[i], n.contribution(from.recipe, rows, paid[o.sum], nil))
			}
		}
	}
	k, err := p.Contributor(own...)
	if err != nil {
		return nil, fmt.Errorf("node: what private sums told: %w", err)
	}
	return k, nil
}

// paid returns the cohorts that paid for each sum.
func (n *Node) paid() map[storage.SumID][]privacy.Cohort {
	paid := make(map[storage.SumID][]privacy.Cohort)
	for _, c := range n.ledger.Contributions() {
		paid[c.Sum] = c.Cohorts
	}
	return paid
}

// contribution returns what the records of these cohorts add to a sum at a public model.
// It uses their training slots in order of arrival, at most as many as the sum takes.
func (n *Node) contribution(s *learner.Summing, rows *ownRows, cohorts []privacy.Cohort, at []float64) learner.Contribution {
	var records []learner.Record
	for r := range rows.slots() {
		if len(records) < n.files.Task.Sums.Records && !r.Seq.HeldOut() && slices.Contains(cohorts, r.Cohort) {
			records = append(records, r)
		}
	}
	if len(records) == 0 {
		return learner.Contribution{}
	}
	return s.Contribution(records, at)
}

func add(to *learner.Contribution, c learner.Contribution) {
	if c.Vector == nil {
		return
	}
	if to.Vector == nil {
		to.Vector = make([]float64, len(c.Vector))
	}
	floats.Add(to.Vector, c.Vector)
	to.Slots += c.Slots
}
