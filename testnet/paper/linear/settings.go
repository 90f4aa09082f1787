package linear

import "math"

// The constants below were chosen on problems of the seeds 1001, 1002 and 1003, which
// no report uses.
const (
	togetherMu     = 2.0 // of the mean loss, without privacy
	togetherRounds = 100
	figMu          = 0.04 // the paper's
	figUpdates     = 20

	allocationUpdates = 20
)

// Settings of the shared models without a silent fit: with Laplace noise on
// features of unit l1 norm, and with Gaussian noise on features of unit l2 norm.
var (
	pureSetting   = setting{mu: 2, clip: 1, releases: 3, degree: 99, gamma: gamma, eta: 1, kappa: 1}
	sharedSetting = setting{mu: 0.3, clip: 0.5, releases: 10, degree: 99, gamma: gamma, eta: 1, kappa: 1}
)

// settingFor is that of the silent fits. What a person hears is the direction of her
// neighbours' models with noise. Its signal is to its noise, in squares, about as
// 11500 (mu/p)^2, with mu the GDP parameter of the budget: a mean gradient at unit
// norm is as short as 1/sqrt(p), its noise as long as sqrt(p)/mu, and it is the
// average of some thirty. So what is heard is multiplied by a number proportional to
// p, as a model that separates two classes of features at unit norm has the length
// sqrt(p), and shrunk by the share of it that is signal; and the pull toward it grows
// with that share.
func settingFor(p int, epsilon float64) setting {
	signal := 11500 * math.Pow(gaussian(epsilon).Budget.Mu()/float64(p), 2)
	return setting{
		mu: 16, clip: 0.35, releases: 4, degree: 50, gamma: 0.4,
		eta: 0.12 * (1 + min(signal, 8)), kappa: 0.6 * float64(p) * signal / (1 + signal),
	}
}

// loneEta is the pull of the lone models toward zero.
const loneEta = 0.25
