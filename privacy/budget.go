package privacy

import "fmt"

// Budget is the guarantee a record gets over its whole life: (Epsilon, Delta)
// differential privacy, adjacency replace-one. Epsilon is in nats.
type Budget struct{ Epsilon, Delta float64 }

// What float64 arithmetic can answer for, far beyond what has a meaning: the
// margin of muBracket grows with 1/epsilon and holds for delta up to a half, the
// proof at charge needs epsilon small beside 2^28, and below 1e-300 deltas lose
// their digits.
const (
	minEpsilon, maxEpsilon = 1e-9, 1e6
	minDelta, maxDelta     = 1e-300, 0.5
)

// Validate returns an error that names the field when the budget is not
// 1e-9 <= Epsilon <= 1e6 and 1e-300 <= Delta <= 0.5.
func (b Budget) Validate() error {
	if !(b.Epsilon >= minEpsilon && b.Epsilon <= maxEpsilon) { // NaN too
		return fmt.Errorf("privacy: epsilon is %v, choose one in [%g, %g]", b.Epsilon, minEpsilon, maxEpsilon)
	}
	if !(b.Delta >= minDelta && b.Delta <= maxDelta) {
		return fmt.Errorf("privacy: delta is %v, choose one in [%g, %g]", b.Delta, minDelta, maxDelta)
	}
	return nil
}

// ForRecords returns what the budget of one record means for k >= 1 records of
// one person on the device taken together: the same Delta and a larger Epsilon.
// By the triangle inequality k records move the releases by at most k times as
// much, so mu-GDP becomes k mu-GDP (Dong, Roth, Su 2022, theorem 2.14), in one
// cohort or in several. The discreteness of the noise, which an [Account]
// charges for one record, is left out: below 1e-8 at a hundred coordinates.
// An invalid budget gives Epsilon = +Inf.
func (b Budget) ForRecords(k int) Budget {
	if k <= 1 && b.Validate() == nil {
		return b
	}
	_, mu := muBracket(b)
	return Budget{GaussianEpsilon(b.Delta, float64(k)*mu), b.Delta}
}
