package accountant

import "fmt"

// LargestLaplaceStep is the largest a for which steps releases of [Laplace](a)
// are (epsilon, delta)-DP together, rounded down by a relative 1e-5 at most: the
// noise of a vector of l1 sensitivity D has scale D/a. It is an error when
// [CheckBudget] or the number of steps, 1 to 2^20, is.
func LargestLaplaceStep(epsilon, delta float64, steps int) (float64, error) {
	return largestStep(epsilon, delta, steps, func(a float64) bool {
		loss, err := Compose(delta, Group{Laplace(a), steps})
		return err == nil && loss.Epsilon(delta) <= epsilon
	})
}

// LargestPureStep is LargestLaplaceStep for [Pure], to about twelve digits.
func LargestPureStep(epsilon, delta float64, steps int) (float64, error) {
	return largestStep(epsilon, delta, steps, func(epsilon0 float64) bool {
		return PureEpsilon(epsilon0, steps, delta) <= epsilon
	})
}

// largestStep is the largest step of the given property, to nine digits. Basic
// composition has a share of epsilon for each; with a single step, delta buys
// less than 2, for delta is 1/2 at most.
func largestStep(epsilon, delta float64, steps int, affordable func(float64) bool) (float64, error) {
	if err := CheckBudget(epsilon, delta); err != nil {
		return 0, fmt.Errorf("accountant: calibrating: %w", err)
	}
	if steps < 1 || steps > maxSteps {
		return 0, fmt.Errorf("accountant: %d steps, choose 1 to %d", steps, maxSteps)
	}
	low, high := epsilon/float64(steps), epsilon+2
	for high > low*(1+1e-9) {
		if mid := low + (high-low)/2; affordable(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low, nil
}
