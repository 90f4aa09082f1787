package compare

import (
	"fmt"
	"math"

	"p2pnode/privacy"
	"p2pnode/privacy/accountant"
)

// kmBudget is that of DP-dKM's experiments.
var kmBudget = privacy.Budget{Epsilon: 0.5, Delta: 1e-3}

// laws are the mechanisms of DP-dKM, in its order of merit from the worst.
var laws = []privacy.Noise{privacy.Gaussian, privacy.Laplace, privacy.TruncatedLaplace, privacy.TruncatedGaussian}

// noiseTrials are the standard deviations of the noise itself: of one release of one
// number that a record moves by 1, each law calibrated as well as it can be, where
// the Laplace laws win; and of vectors that a record moves by 1 in l2, so by sqrt(10)
// in l1, where they lose. These are numbers without randomness.
func noiseTrials() []trial {
	var trials []trial
	for _, law := range laws {
		trials = append(trials, noiseTrial("1 release of 1 number", law, scalarPublished[law], scalarMechanism))
	}
	trials = append(trials, theorem6())
	for _, releases := range []int{1, 20} {
		setting := fmt.Sprintf("%d release of 10 numbers", releases)
		if releases > 1 {
			setting = fmt.Sprintf("%d releases of 10 numbers", releases)
		}
		for _, law := range laws {
			trials = append(trials, noiseTrial(setting, law, "", func(law privacy.Noise) (privacy.Mechanism, error) {
				return vectorMechanism(law, releases, 10)
			}))
		}
	}
	return trials
}

var scalarPublished = map[privacy.Noise]string{
	privacy.Laplace: "2.83", privacy.Gaussian: "4.61", privacy.TruncatedLaplace: "2.73", privacy.TruncatedGaussian: "4.75, later 4.612",
}

func noiseTrial(setting string, law privacy.Noise, published string, make func(privacy.Noise) (privacy.Mechanism, error)) trial {
	row := Row{
		Setting: setting + ": " + string(law), Epsilon: kmBudget.Epsilon, Delta: kmBudget.Delta,
		Valid: "yes", Measure: "noise std", Published: published,
	}
	return trial{rows: []Row{row}, run: func(uint64) ([]float64, error) {
		m, err := make(law)
		return []float64{m.NoiseStd()}, err
	}}
}

// scalarMechanism is the law's least noise for one number of sensitivity 1. It is an
// account of one release of continuous noise, not what a ledger charges.
func scalarMechanism(law privacy.Noise) (privacy.Mechanism, error) {
	const clip = 0.5
	eps, delta := kmBudget.Epsilon, kmBudget.Delta
	switch law {
	case privacy.Gaussian:
		mu, _ := accountant.GaussianMu(eps, delta)
		return privacy.NewGaussian(clip, 1/mu)
	case privacy.TruncatedGaussian:
		sigma, bound := accountant.TruncatedGaussianFor(eps, delta, 1)
		return privacy.NewTruncatedGaussian(clip, sigma, bound)
	case privacy.TruncatedLaplace:
		scale, bound := accountant.TruncatedLaplaceFor(eps, delta, 1)
		return privacy.NewTruncatedLaplace(clip, scale, bound)
	}
	return privacy.NewLaplace(clip, 1/eps)
}

// vectorMechanism is what a node uses under a plan for so many releases of dim
// numbers that a record moves by 1 in l2.
func vectorMechanism(law privacy.Noise, releases, dim int) (privacy.Mechanism, error) {
	clip := 0.5
	if inL1(law) {
		clip *= math.Sqrt(float64(dim))
	}
	p, err := privacy.Design{
		Budget: kmBudget, Dimension: dim, Clip: clip, Releases: releases, Noise: law, Accounting: privacy.CommittedPlan,
	}.Policy()
	m, _ := p.Next(0)
	return m, err
}

// inL1 reports whether the law protects vectors by their l1 norm.
func inL1(law privacy.Noise) bool { return law == privacy.Laplace || law == privacy.TruncatedLaplace }

// Theorem 6 of DP-dKM, for sensitivity 1 at kmBudget: the standard deviation
// 1/sqrt(2 eps), and the bound at which one end of the truncated law has mass delta.
const theorem6Bound = 4.083730058646639

var theorem6Sigma = 1 / math.Sqrt(2*kmBudget.Epsilon)

// theorem6 is the row of the calibration that is not valid: no learner is run with
// it.
func theorem6() trial {
	truth := accountant.TruncatedGaussian(1/theorem6Sigma, theorem6Bound/theorem6Sigma).Delta(kmBudget.Epsilon)
	return trial{
		rows: []Row{{
			Setting: "1 release of 1 number: truncated-gaussian by theorem 6", Epsilon: kmBudget.Epsilon, Delta: kmBudget.Delta,
			Valid: fmt.Sprintf("no: the true delta is %.3f", truth), Measure: "noise std", Published: "1.0",
		}},
		run: func(uint64) ([]float64, error) {
			m, err := privacy.NewTruncatedGaussian(0.5, theorem6Sigma, theorem6Bound)
			return []float64{m.NoiseStd()}, err
		},
	}
}
