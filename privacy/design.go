package privacy

import (
	"cmp"
	"errors"
	"fmt"

	"p2pnode/privacy/accountant"
)

// Design holds what an owner chooses; [Design.Policy] computes the noise.
type Design struct {
	Budget     Budget
	Dimension  int
	Clip       float64    // bound on one record's gradient, in the norm of Noise
	Releases   int        // number that share the budget; 1 for OneShot
	Noise      Noise      // "": Gaussian; Unprotected gives a schedule without terms, budget or guarantee
	Accounting Accounting // "": the filter that suits the noise
	Pace       Pace       // "": Uniform
	// Contraction is the factor C in (0, 1) by which an update shrinks the noise
	// of the one before; Growing only.
	Contraction  float64
	Batch, Slots int // of a subsampled mechanism; 0: all records
	// Apart is the share of the budget, as a filter adds it up, that is kept for
	// contributions to private sums of at most Widest coordinates. If it is 1, there
	// are no releases. A plan keeps nothing apart.
	Apart  float64 `json:",omitzero"`
	Widest int     `json:",omitzero"`
	// Carried is for a learner that releases whole vectors: the i-th mechanism of
	// the schedule is one of [Mechanism.Bounded] with the distance Carried.At(i)
	// and Dimension coordinates, the scale of the noise being the same in all. The
	// distances are in the norm of Noise, and Clip is not used. The zero value:
	// sums of clipped gradients.
	Carried CarriedSensitivity
}

// Policy returns the policy of least noise that keeps the budget: to a relative
// 1e-9 under a filter, and at most 1e-4 over the least under a plan. Choices
// that have no meaning together are an error that says what to choose instead.
//
// A plan is composed a few tens of times, once for each distinct mechanism in
// it: a growing plan of T releases of Laplace noise takes time proportional to
// T, which is at most 1,024 then. Gaussian noise on all records has no such bound.
func (d Design) Policy() (Policy, error) {
	if d.Noise == Unprotected {
		m, err := NewUnprotected(d.Clip)
		return Policy{Schedule: NewSchedule(Step{m, 1})}, err
	}
	d = d.withDefaults()
	if err := d.validate(); err != nil {
		return Policy{}, err
	}
	terms := Terms{Budget: d.Budget, Dimension: max(d.Dimension, d.Widest), Accounting: d.Accounting}
	if d.Apart == 1 && d.Accounting == GaussianFilter {
		return Policy{Terms: terms, Apart: 1}, nil
	}
	list, err := d.stretches()
	if err != nil {
		return Policy{}, err
	}
	if d.Accounting == RenyiFilter {
		terms.Order, _ = d.bestOrder(list)
	}
	schedule, err := d.calibrate(terms, list)
	if err != nil {
		return Policy{}, err
	}
	if d.Accounting == CommittedPlan {
		terms.Plan = schedule.Hash()
	}
	return Policy{Terms: terms, Schedule: schedule, Apart: d.Apart}, nil
}

func (d Design) withDefaults() Design {
	if d.Noise == "" {
		d.Noise = Gaussian
	}
	if d.Accounting == "" {
		d.Accounting = cmp.Or(d.Noise.Filter(), GaussianFilter)
	}
	if d.Pace == "" {
		d.Pace = Uniform
	}
	if d.Pace == OneShot && d.Releases == 0 {
		d.Releases = 1
	}
	if d.carries() {
		// Half the largest distance: the mechanism's sensitivity is then twice the
		// clip, as that of a sum is, at the most.
		d.Clip = d.Carried.At(d.Releases) / 2
	}
	return d
}

// carries reports whether releases are whole vectors instead of sums.
func (d Design) carries() bool { return d.Carried != CarriedSensitivity{} }

// validate checks the fields that are not checked where they are used.
func (d Design) validate() error {
	terms := Terms{Budget: d.Budget, Dimension: d.Dimension, Accounting: d.Accounting}
	if d.Accounting == RenyiFilter {
		terms.Order = 2 // any order; the best is chosen later
	}
	if err := terms.validate(); err != nil {
		return err
	}
	if err := d.validateNoise(); err != nil {
		return err
	}
	switch {
	case !(d.Apart >= 0 && d.Apart <= 1) || d.Widest < 0:
		return fmt.Errorf("privacy: %v of the budget is kept apart for sums of %d coordinates, choose a share from 0 to 1", d.Apart, d.Widest)
	case d.Apart > 0 && d.Accounting != GaussianFilter:
		return fmt.Errorf("privacy: accounting %q has no price for a private sum: choose %q", d.Accounting, GaussianFilter)
	case d.Releases < 1 || d.Releases > MaxReleases:
		return fmt.Errorf("privacy: %d releases, choose 1 to %d", d.Releases, MaxReleases)
	case d.Pace != Uniform && d.Pace != Growing && d.Pace != OneShot:
		return fmt.Errorf("privacy: pace is %q, choose %q, %q or %q", d.Pace, Uniform, Growing, OneShot)
	case d.Pace == OneShot && d.Releases != 1:
		return fmt.Errorf("privacy: pace %q has one release, not %d: choose 1 or pace %q", OneShot, d.Releases, Uniform)
	case d.Pace == Growing && !(d.Contraction > 0 && d.Contraction < 1):
		return fmt.Errorf("privacy: contraction is %v, pace %q needs a number between 0 and 1", d.Contraction, Growing)
	case d.Pace == Growing && d.Releases > accountant.MaxGroups && d.composedApart():
		return fmt.Errorf("privacy: a plan of %d releases that all differ, choose %d at most, or pace %q", d.Releases, accountant.MaxGroups, Uniform)
	case d.Pace != Growing && d.Contraction != 0:
		return fmt.Errorf("privacy: pace %q has no contraction: leave it out or choose pace %q", d.Pace, Growing)
	case d.carries() && d.Pace == Growing:
		return fmt.Errorf("privacy: releases of whole vectors have one scale of noise: choose pace %q", Uniform)
	case d.carries() && (d.Batch != 0 || d.Slots != 0):
		return errors.New("privacy: a release of whole vectors takes all records: choose 0 and 0 for batch and slots")
	case d.carries() && !(d.Carried.At(1) > 0 && d.Carried.At(d.Releases) <= largest):
		return fmt.Errorf("privacy: the distances of %+v are no positive numbers of ordinary size: choose a smaller Keep or fewer releases", d.Carried)
	}
	return nil
}

// composedApart reports whether a plan composes each different mechanism by itself.
func (d Design) composedApart() bool {
	return d.Accounting == CommittedPlan && !(d.Noise.law().squares && d.Slots == 0)
}

// validateNoise refuses noise for which the accounting has no price.
func (d Design) validateNoise() error {
	if d.Noise.law() == nil {
		return fmt.Errorf("privacy: noise is %q, choose one of %q, or %q", d.Noise, Noises(), Unprotected)
	}
	sampled := d.Batch != 0 || d.Slots != 0
	if sampled && !(d.Batch >= 1 && d.Batch <= d.Slots) {
		return fmt.Errorf("privacy: a batch of %d in %d slots, choose 1 to the number of slots, or 0 and 0 for all records", d.Batch, d.Slots)
	}
	if d.Accounting != CommittedPlan && (sampled || d.Noise.price(d.Accounting) == nil) {
		return d.Accounting.noPrice(d.Noise, sampled)
	}
	return nil
}
