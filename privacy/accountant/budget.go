package accountant

import "fmt"

// What float64 arithmetic can answer for, far beyond what has a meaning: the
// margin of GaussianMu grows with 1/epsilon and holds for delta up to a half, the
// charge for discrete noise needs epsilon small beside 2^28, and below 1e-300
// deltas lose their digits.
const (
	minEpsilon, maxEpsilon = 1e-9, 1e6
	minDelta, maxDelta     = 1e-300, 0.5
)

// CheckBudget returns an error that names the number unless 1e-9 <= epsilon <= 1e6 and
// 1e-300 <= delta <= 0.5.
func CheckBudget(epsilon, delta float64) error {
	if !(epsilon >= minEpsilon && epsilon <= maxEpsilon) { // NaN too
		return fmt.Errorf("privacy: epsilon is %v, choose one in [%g, %g]", epsilon, minEpsilon, maxEpsilon)
	}
	if !(delta >= minDelta && delta <= maxDelta) {
		return fmt.Errorf("privacy: delta is %v, choose one in [%g, %g]", delta, minDelta, maxDelta)
	}
	return nil
}
