package privacy

import (
	"math"

	"p2pnode/privacy/accountant"
)

// Excess is the probability that a record's releases, once the whole budget is spent,
// tell more about it than epsilon allows: P[privacy loss > Budget.Epsilon]. It differs
// from delta, which weighs each such case by how much more it tells and is therefore
// smaller: for (1, 1e-6) and Gaussian noise delta is 1e-6 and Excess is 2e-5.
//
//   - Gaussian filter: that of the noise itself, [accountant.GaussianExcess]; at most
//     twice as much if others steer how far the record moves later releases.
//   - Pure filter: 0.
//   - Renyi filter: the bound E[e^{(order-1) L}] = e^{(order-1) D} leaves, by Markov's
//     inequality: e^{(order-1)(D - epsilon)}, D the divergence that may be spent.
//   - Plan: the bound that follows from the composed loss, see [accountant.Excess], and
//     from what is charged for truncation.
//
// The discreteness of the noise is left out. An invalid policy is an error.
func (p Policy) Excess() (float64, error) {
	b := p.Terms.Budget
	switch p.Terms.Accounting {
	case PureFilter:
		return 0, p.Terms.validate()
	case RenyiFilter:
		most, err := p.Terms.limit()
		return math.Exp(min(0, (p.Terms.Order-1)*(most-b.Epsilon))), err
	case CommittedPlan:
		loss, left, err := p.Schedule.loss(b, p.Terms.Dimension)
		if err != nil || loss == nil {
			return 1, err
		}
		return accountant.Excess(b.Epsilon, func(epsilon float64) float64 {
			return loss.Delta(epsilon-(b.Epsilon-left.Epsilon)) + b.Delta - left.Delta
		}), nil
	}
	_, mu := accountant.GaussianMu(b.Epsilon, b.Delta)
	return accountant.GaussianExcess(b.Epsilon, mu), p.Terms.validate()
}
