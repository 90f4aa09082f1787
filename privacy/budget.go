package privacy

import "p2pnode/privacy/accountant"

// Budget is the guarantee a record gets over its whole life: (Epsilon, Delta)
// differential privacy, adjacency replace-one. Epsilon is in nats.
type Budget struct{ Epsilon, Delta float64 }

// Validate returns an error that names the field unless 1e-9 <= Epsilon <= 1e6 and
// 1e-300 <= Delta <= 0.5.
func (b Budget) Validate() error { return accountant.CheckBudget(b.Epsilon, b.Delta) }

// Mu returns the largest mu for which mu-GDP implies the budget, rounded down; 0
// for an invalid budget.
func (b Budget) Mu() float64 {
	mu, _ := accountant.GaussianMu(b.Epsilon, b.Delta)
	return mu
}

// ForRecords returns what the budget of one record means, under the Gaussian
// filter, for k >= 1 records of one person on the device taken together: the
// same Delta and a larger Epsilon. By the triangle inequality k records move the
// releases by at most k times as much, so mu-GDP becomes k mu-GDP (Dong, Roth,
// Su 2022, theorem 2.14), in one cohort or in several. The discreteness of the
// noise, which an [Account] charges for one record, is left out: below 1e-8 at a
// hundred coordinates. An invalid budget gives Epsilon = +Inf.
//
// Other accountings keep a budget without being mu-GDP. Under a plan of
// truncated noise, many records of one person reach past its bound and are
// certain to be seen; whatever the accounting, the package comment has a bound.
func (b Budget) ForRecords(k int) Budget {
	if k <= 1 && b.Validate() == nil {
		return b
	}
	_, mu := accountant.GaussianMu(b.Epsilon, b.Delta)
	return Budget{accountant.GaussianEpsilon(b.Delta, float64(k)*mu), b.Delta}
}
