package compare

import (
	"context"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// KM compares the mechanisms of DP-dKM with what they truly cost: first the noise
// alone, then the Krasnosel'skii-Mann iteration of package learner under a plan that
// pays for all of its releases. The error is the root mean square, over coordinates,
// of how far the mean of what the agents released last is from the centralised
// optimum. The published numbers are for one-shot noise of nominal sensitivity .01 on
// each of many released iterates; at that noise the run is not (epsilon, delta)-DP.
//
// Five agents on a ring, 100 records each, 10 coordinates, least squares and logistic
// loss with lambda ||.||_1 but for the operator gradient, lambda = 0.002.
func KM(ctx context.Context, o Options) ([]Row, error) {
	trials := noiseTrials()
	for _, loss := range []string{"squared", "logistic"} {
		trials = append(trials, nothingLearned(loss))
		for _, operator := range []string{"gradient", "proximal", "douglas-rachford"} {
			for _, law := range append([]privacy.Noise{privacy.Unprotected}, laws...) {
				trials = append(trials, kmSetting{loss, operator, law, size(o, 20, 100)}.trial())
			}
		}
	}
	return o.run(ctx, trials)
}

const (
	kmAgents     = 5
	kmRecords    = 100
	kmWidth      = 10
	kmL1         = 0.002
	kmRelaxation = 0.5
	rmseMeasure  = "RMSE of the mean"
)

type kmSetting struct {
	loss, operator string
	law            privacy.Noise
	rounds         int
}

func (s kmSetting) trial() trial {
	row := Row{
		Setting: fmt.Sprintf("%s, %s, %d releases: %s", s.loss, s.operator, s.rounds, s.law),
		Epsilon: kmBudget.Epsilon, Delta: kmBudget.Delta, Valid: "yes",
		Measure: rmseMeasure, Published: kmPublished[s.loss+" "+s.operator][s.law],
	}
	if s.law == privacy.Unprotected {
		row.Epsilon, row.Delta, row.Valid = 0, 0, "-"
	}
	policy := sync.OnceValues(s.policy) // for all seeds
	return trial{rows: []Row{row}, run: func(seed uint64) ([]float64, error) {
		p, err := policy()
		if err != nil {
			return nil, err
		}
		return s.run(seed, p)
	}}
}

// nothingLearned is the error of the model 0, that of the operators with a penalty.
func nothingLearned(loss string) trial {
	row := Row{Setting: loss + ": the model 0", Valid: "-", Measure: rmseMeasure}
	return trial{rows: []Row{row}, run: func(seed uint64) ([]float64, error) {
		return []float64{newLassoProblem(loss, kmL1, seed).rmse(make([]float64, kmWidth))}, nil
	}}
}

// kmPublished: their SPGD is the proximal operator, their ADMM Douglas-Rachford
// splitting. The truncated Gaussian is that of theorem 6.
var kmPublished = map[string]map[privacy.Noise]string{
	"squared proximal":          published(".0067", ".040", ".109", ".036", ".015 (invalid)"),
	"squared douglas-rachford":  published(".0055", ".0082", ".017", ".0084", ".0059 (invalid)"),
	"logistic proximal":         published(".278", ".276", ".318", ".280", ".275 (invalid)"),
	"logistic douglas-rachford": published(".160", ".162", ".164", ".163", ".160 (invalid)"),
}

func published(none, laplace, gaussian, truncatedLaplace, truncatedGaussian string) map[privacy.Noise]string {
	return map[privacy.Noise]string{
		privacy.Unprotected: none, privacy.Laplace: laplace, privacy.Gaussian: gaussian,
		privacy.TruncatedLaplace: truncatedLaplace, privacy.TruncatedGaussian: truncatedGaussian,
	}
}

// task has a larger step g for the logistic loss, whose curvature is about a tenth of
// the other's. A step at which 20 rounds converge would only bring in more noise.
func (s kmSetting) task() *learner.Task {
	t := baseTask("km", s.loss, kmWidth)
	t.Rounds.Count, t.Rounds.Step = s.rounds, 1
	if s.loss == "squared" {
		t.Target.Min, t.Target.Max = -5, 5
	} else {
		t.Rounds.Step = 4
	}
	t.KM = learner.KM{Operator: s.operator, Relaxation: kmRelaxation}
	if s.operator != "gradient" {
		t.KM.L1 = kmL1
	}
	return t
}

// policy is the plan for all releases. Gradients are no longer than 1 in l2, with few
// exceptions in least squares, and so no longer than sqrt(10) in l1: the Laplace laws
// get the bound that cuts off as little. The Douglas-Rachford operator releases whole
// vectors and finds its own.
func (s kmSetting) policy() (privacy.Policy, error) {
	t := s.task()
	if s.law == privacy.Unprotected {
		return t.Design(privacy.Design{Noise: s.law}).Policy()
	}
	if inL1(s.law) && s.operator != "douglas-rachford" {
		t.Clip *= math.Sqrt(kmWidth)
	}
	return t.Design(privacy.Design{Budget: kmBudget, Releases: s.rounds, Noise: s.law, Accounting: privacy.CommittedPlan}).Policy()
}

func (s kmSetting) run(seed uint64, policy privacy.Policy) ([]float64, error) {
	t := s.task()
	p := newLassoProblem(s.loss, t.KM.L1, seed)
	r, err := rounds(t, sim.Ring(kmAgents), p.records, same(policy, kmAgents), seed)
	if err != nil {
		return nil, err
	}
	mean := make([]float64, kmWidth)
	for _, state := range r.States {
		floats.AddScaled(mean, 1./kmAgents, state.Model)
	}
	return []float64{p.rmse(mean)}, nil
}
