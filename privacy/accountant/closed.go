package accountant

// The contract of the closed forms; each moves to the file of its subject.

// PureEpsilon is the exact epsilon at delta of k releases that are epsilon0-DP
// each (Kairouz, Oh, Viswanath 2015, theorem 3.3).
func PureEpsilon(epsilon0 float64, k int, delta float64) float64 { panic("contract") }

// ApproxPureEpsilon is the same for releases that are (epsilon0, delta0)-DP.
func ApproxPureEpsilon(epsilon0, delta0 float64, k int, delta float64) float64 { panic("contract") }

// KairouzBounds are the three bounds of Kairouz, Oh, Viswanath 2015, theorem 3.5,
// on the composition of epsilon_i-DP releases at the given slack: the accountant
// of Bellet et al. 2018, kept as a baseline.
type KairouzBounds struct{ Basic, Second, Third float64 }

// Min is the least of the three.
func (k KairouzBounds) Min() float64 { panic("contract") }

// Kairouz returns the bounds.
func Kairouz(epsilons []float64, slack float64) KairouzBounds { panic("contract") }

// ZCDPEpsilon is the epsilon at delta of rho-zCDP.
func ZCDPEpsilon(rho, delta float64) float64 { panic("contract") }

// GaussianRenyi is the Renyi divergence of the given order of [Gaussian].
func GaussianRenyi(order, mu float64) float64 { panic("contract") }

// LaplaceRenyi is that of [Laplace].
func LaplaceRenyi(order, a float64) float64 { panic("contract") }

// RenyiEpsilon is the epsilon at delta that a Renyi divergence of the given
// order implies.
func RenyiEpsilon(order, divergence, delta float64) float64 { panic("contract") }

// RenyiBudget is its inverse: the largest Renyi divergence of the given order
// that implies (epsilon, delta)-DP, rounded down; 0 or less when there is none.
func RenyiBudget(order, epsilon, delta float64) float64 { panic("contract") }

// TruncatedLaplaceFor is the truncated Laplace mechanism of (epsilon, delta)-DP
// for a scalar of the given sensitivity: scale and bound in its units (Geng,
// Ding, Guo, Kumar 2018).
func TruncatedLaplaceFor(epsilon, delta, sensitivity float64) (scale, bound float64) {
	panic("contract")
}

// TruncatedGaussianFor is the same with Gaussian noise, correctly calibrated:
// the parent standard deviation and the bound of least variance.
func TruncatedGaussianFor(epsilon, delta, sensitivity float64) (sigma, bound float64) {
	panic("contract")
}

// LargestLaplaceStep is the largest a for which steps releases of [Laplace](a)
// are (epsilon, delta)-DP together.
func LargestLaplaceStep(epsilon, delta float64, steps int) (float64, error) { panic("contract") }

// LargestPureStep is the same for [Pure].
func LargestPureStep(epsilon, delta float64, steps int) (float64, error) { panic("contract") }
