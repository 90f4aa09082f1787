package audit

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync/atomic"

	"p2pnode/privacy"
)

// Subject is one way of releasing, to be audited.
type Subject struct {
	Learner    string
	Noise      privacy.Noise
	Accounting privacy.Accounting
	Sampled    bool   // each release takes half the records at random
	Recipe     string // of a private sum; "": there is none
}

// Subjects returns every combination that the product has for a learner; for "sums" it
// returns every recipe.
func Subjects(learner string) []Subject {
	if learner == Sums {
		var all []Subject
		for _, r := range recipes() {
			all = append(all, Subject{Learner: Sums, Noise: privacy.Gaussian, Accounting: privacy.GaussianFilter, Recipe: r})
		}
		return all
	}
	return []Subject{
		{learner, privacy.Gaussian, privacy.GaussianFilter, false, ""},
		{learner, privacy.Gaussian, privacy.RenyiFilter, false, ""},
		{learner, privacy.Gaussian, privacy.CommittedPlan, false, ""},
		{learner, privacy.Gaussian, privacy.CommittedPlan, true, ""},
		{learner, privacy.Laplace, privacy.PureFilter, false, ""},
		{learner, privacy.Laplace, privacy.RenyiFilter, false, ""},
		{learner, privacy.Laplace, privacy.CommittedPlan, false, ""},
		{learner, privacy.Laplace, privacy.CommittedPlan, true, ""},
		{learner, privacy.TruncatedGaussian, privacy.CommittedPlan, false, ""},
		{learner, privacy.TruncatedLaplace, privacy.CommittedPlan, false, ""},
	}
}

// Options say how hard to try.
type Options struct {
	Claim     privacy.Budget // the promise, which must hold
	Releases  int            // number of releases that share the budget, >= 1
	Dimension int            // dimension of a release, >= 1
	Runs      int            // games for each canary in each world, >= 2
	Seed      uint64         // seed of the noise; the same seed gives the same findings
	// Progress, if not nil, is called with the number of games played and of all games.
	// It is called from several goroutines, after every game.
	Progress func(played, all int)
}

// Validate returns an error that names the option that is invalid.
func (o Options) Validate() error {
	switch {
	case o.Runs < 2 || o.Runs > maxRuns:
		return fmt.Errorf("audit: %d runs, choose 2 to %d", o.Runs, maxRuns)
	case o.Releases < 1 || o.Releases > maxReleases:
		return fmt.Errorf("audit: %d releases, choose 1 to %d", o.Releases, maxReleases)
	case o.Dimension < 1 || o.Dimension > maxDimension:
		return fmt.Errorf("audit: %d coordinates, choose 1 to %d", o.Dimension, maxDimension)
	}
	return o.Claim.Validate()
}

// Limits of memory and of time.
const (
	maxRuns      = 1 << 28
	maxReleases  = 1 << 10
	maxDimension = 1 << 12
)

// slots is how many records an audited agent has. With few, the canary is a large
// part of a random batch, and the batches can be counted.
const slots = 4

// The confidences: that of the number that readers see, and that of the gate, which
// must not fail on a sound path.
const (
	reportAlpha = 0.05
	gateAlpha   = 1e-6
)

// Finding is the result of an audit of one subject.
type Finding struct {
	Subject Subject
	Claim   privacy.Budget
	// Releases is how many releases the account admitted in each run, Runs how many
	// runs there were for each canary in each world.
	Releases, Runs int
	// Bound is a lower bound on epsilon at the claimed delta with confidence 95 %, Gate
	// one with confidence 1 - 1e-6.
	Bound, Gate float64
}

// Holds reports whether the gate is at most the claim.
func (f Finding) Holds() bool { return f.Gate <= f.Claim.Epsilon }

// Run audits the subjects one after the other. When ctx ends, it returns the findings
// so far with the error of ctx.
func Run(ctx context.Context, subjects []Subject, o Options) ([]Finding, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var played atomic.Int64
	all := len(subjects) * gamesOf(o)
	done := func() {
		if n := played.Add(1); o.Progress != nil {
			o.Progress(int(n), all)
		}
	}
	var findings []Finding
	for _, s := range subjects {
		f, err := s.audit(ctx, o, done)
		if err != nil {
			return findings, err
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// design is the subject's design for the promise in the options.
func (s Subject) design(o Options) privacy.Design {
	d := privacy.Design{
		Budget: o.Claim, Dimension: o.Dimension, Clip: clip, Releases: o.Releases,
		Noise: s.Noise, Accounting: s.Accounting,
	}
	if s.Sampled {
		d.Batch, d.Slots = slots/2, slots
	}
	return d
}

// audit plays all games of one subject.
func (s Subject) audit(ctx context.Context, o Options, done func()) (Finding, error) {
	f := Finding{Subject: s, Claim: o.Claim, Runs: o.Runs}
	var games []game
	if s.Learner == Sums {
		p, err := newSumPath(s.Recipe, o)
		if err != nil {
			return f, fmt.Errorf("audit: the private sum %s: %w", s.Recipe, err)
		}
		f.Releases, games = p.admitted, p.games()
	} else {
		p, err := newPath(s.Learner, s.design(o), slots)
		if err != nil {
			return f, fmt.Errorf("audit: %s, %s noise, accounting %s: %w", s.Learner, s.Noise, s.Accounting, err)
		}
		f.Releases, games = p.releases, p.games()
	}
	var err error
	f.Bound, f.Gate, err = bounds(ctx, games, o.Claim.Delta, o.Runs, s.seed(o.Seed), done)
	return f, err
}

// seed gives each subject its own games, so that they do not depend on the other
// subjects.
func (s Subject) seed(seed uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d {%s %s %s %t}", seed, s.Learner+s.Recipe, s.Noise, s.Accounting, s.Sampled)
	return h.Sum64()
}

// canariesEach is how many records each subject is tested with.
const canariesEach = 2

// gamesOf is how many games one subject takes.
func gamesOf(o Options) int { return canariesEach * 2 * o.Runs }

// bounds returns the lower bounds on epsilon for the report and for the gate: the best
// over the games, one for each canary.
func bounds(ctx context.Context, games []game, delta float64, runs int, seed uint64, done func()) (report, gate float64, err error) {
	share := 1 / float64(len(games))
	for i, g := range games {
		scores, err := g.scores(ctx, runs, seed+uint64(i), done)
		if err != nil {
			return 0, 0, err
		}
		zero, one := scores[0], scores[1]
		report = max(report, lowerBound(one, zero, delta, reportAlpha*share))
		gate = max(gate, lowerBound(one, zero, delta, gateAlpha*share))
	}
	return report, gate, nil
}
