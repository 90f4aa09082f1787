package privacy

import (
	"fmt"
	"math"
)

// The scale of a mechanism's noise is this many times its clip: what the grid has
// room for, see [NewGaussian].
const (
	leastNoise = 0x1p-12
	mostNoise  = 0x1p29
)

// Calibrate returns the Gaussian mechanism with the least noise that lets a
// cohort take part in releases releases of at most dim coordinates within b, each
// record clipped to the l2 norm clip: sigma = 2 clip sqrt(releases)/mu_B (Balle
// and Wang 2018), to nine digits. It is the mechanism of the [Design] that says no more.
func Calibrate(b Budget, clip float64, releases, dim int) (Mechanism, error) {
	p, err := Design{Budget: b, Dimension: dim, Clip: clip, Releases: releases}.Policy()
	m, _ := p.Next(0)
	return m, err
}

// calibrate returns the schedule of least noise that keeps the terms: all scales
// are bisected together, and whether a schedule is within the budget is decided
// as the account will decide it. More noise never costs more, rounding included:
// as the scale grows the clip in real units, rounded down to a coarser grid, does not.
func (d Design) calibrate(terms Terms, list []stretch) (Schedule, error) {
	afford, err := d.affordable(terms)
	if err != nil {
		return Schedule{}, err
	}
	var best Schedule
	try := func(noise float64) (bool, error) {
		s, err := d.schedule(noise, list)
		if err != nil {
			return false, err
		}
		ok, err := afford(s)
		if ok {
			best = s
		}
		return ok, err
	}
	// A plan costs no more than its Renyi account, and often not much less.
	start, tolerance := 1.0, 1e-10
	if d.Accounting == CommittedPlan {
		_, start = d.bestOrder(list)
		tolerance = 1e-4
	}
	found, err := leastThat(try, start, leastNoise, mostNoise/list[0].noise, tolerance)
	if err == nil && !found {
		err = fmt.Errorf("privacy: epsilon %v and delta %v leave no signal in %d releases, choose a larger budget or fewer releases", d.Budget.Epsilon, d.Budget.Delta, d.Releases)
	}
	return best, err
}

// affordable returns the account's decision on a whole schedule.
func (d Design) affordable(terms Terms) (func(Schedule) (bool, error), error) {
	if terms.Accounting == CommittedPlan {
		return func(s Schedule) (bool, error) { return s.within(terms.Budget, terms.Dimension) }, nil
	}
	limit, err := terms.limit()
	return func(s Schedule) (bool, error) {
		var e expense
		for _, step := range s.steps {
			price, _ := terms.price(step.Mechanism)
			for range step.Count {
				e = e.plus(price)
			}
		}
		return e.sum <= limit, nil
	}, err
}

// schedule returns the mechanisms of the design with the least scale noise times
// the clip.
func (d Design) schedule(noise float64, list []stretch) (Schedule, error) {
	steps := make([]Step, len(list))
	for i, s := range list {
		m, err := d.mechanism(d.Clip * noise * s.noise)
		if err != nil {
			return Schedule{}, err
		}
		steps[i] = Step{m, s.count}
	}
	return NewSchedule(steps...), nil
}

// mechanism returns the design's mechanism of the given scale. Bounds on the noise
// are so wide that truncation costs about a thousandth of delta in all:
//
//   - Gaussian, z times the scale: tau = N e^{-z^2/2} for N coordinates costs
//     e^eps tau, see [truncationCharge].
//   - Laplace, A times the scale: one of T releases shows an end with probability (e^a - 1) e^{-A}/2,
//     nearly, with a its sensitivity over the scale.
func (d Design) mechanism(scale float64) (m Mechanism, err error) {
	releases, dim := float64(d.Releases), float64(d.Dimension)
	margin := math.Log(1000 * releases / d.Budget.Delta)
	switch d.Noise {
	case Gaussian:
		m, err = NewGaussian(d.Clip, scale)
	case Laplace:
		m, err = NewLaplace(d.Clip, scale)
	case TruncatedGaussian:
		z := math.Sqrt(2 * (d.Budget.Epsilon + margin + math.Log(dim)))
		m, err = NewTruncatedGaussian(d.Clip, scale, z*scale)
	case TruncatedLaplace:
		m, err = NewTruncatedLaplace(d.Clip, scale, 2*d.Clip+scale*(margin+dim/minSigma))
	}
	if err != nil || d.Slots == 0 {
		return m, err
	}
	return m.Subsampled(d.Batch, d.Slots)
}

// leastThat looks for the smallest number in [least, most] for which try holds, to a
// relative tolerance above it. try must hold for all numbers over one for which it
// does; the last one it held for is the answer. False if it holds for none.
func leastThat(try func(float64) (bool, error), start, least, most, tolerance float64) (bool, error) {
	high := min(max(start, least), most)
	for {
		ok, err := try(high)
		if err != nil || !ok && high == most {
			return false, err
		}
		if ok {
			break
		}
		high = min(2*high, most)
	}
	low, ok := high, true
	for ok && low > least {
		high, low = low, max(low/2, least)
		var err error
		if ok, err = try(low); err != nil {
			return false, err
		}
	}
	for !ok && high > low*(1+tolerance) {
		middle := math.Sqrt(low) * math.Sqrt(high)
		held, err := try(middle)
		if err != nil {
			return false, err
		}
		if held {
			high = middle
		} else {
			low = middle
		}
	}
	return true, nil
}
