package privacy

import (
	"fmt"
	"math"
)

// calibrate returns the schedule of least noise that keeps the terms. All scales are
// searched together, and the cost of a schedule is computed as the account will compute
// it. More noise never costs more, rounding included: as the scale grows, the clip in
// real units, rounded down to a coarser grid, does not grow. The distance of whole
// vectors is rounded up, and does grow by a unit of the grid or two where the grid
// doubles. There the search may end slightly, 1e-8 of a scale, above the least noise,
// but the result keeps the budget all the same.
func (d Design) calibrate(terms Terms, list []stretch) (Schedule, error) {
	cost, err := d.costs(terms)
	if err != nil {
		return Schedule{}, err
	}
	grid, start := filterGrid, 1.0
	if d.Accounting == CommittedPlan {
		// A plan costs at most as much as its Renyi account, and often not much less.
		grid = planGrid
		_, start = d.bestOrder(list)
	}
	k, found, err := grid.least(func(k int64) (float64, error) {
		s, err := d.schedule(grid.noise(k), list)
		if err != nil {
			return 0, err
		}
		return cost(s)
	}, start, mostNoise/list[0].noise)
	if err != nil {
		return Schedule{}, err
	}
	if !found {
		return Schedule{}, fmt.Errorf("privacy: epsilon %v and delta %v leave no signal in %d releases, choose a larger budget or fewer releases", d.Budget.Epsilon, d.Budget.Delta, d.Releases)
	}
	return d.schedule(grid.noise(k), list)
}

// costs returns a function for what a whole schedule costs a cohort on the terms, as a
// multiple of what releases may spend.
func (d Design) costs(t Terms) (func(Schedule) (float64, error), error) {
	if t.Accounting == CommittedPlan {
		return func(s Schedule) (float64, error) { return s.cost(t.Budget, t.Dimension) }, nil
	}
	limit, err := t.limit()
	limit = Policy{Apart: d.Apart}.releasable(limit)
	return func(s Schedule) (float64, error) {
		var e expense
		for _, step := range s.steps {
			price, _ := t.price(step.Mechanism)
			for range step.Count {
				e = e.plus(price)
			}
		}
		return up(e.sum / limit), nil // never below 1 if the account would refuse
	}, err
}

// schedule returns the mechanisms of the design; noise is the least scale, as a
// multiple of the clip.
func (d Design) schedule(noise float64, list []stretch) (Schedule, error) {
	steps := make([]Step, len(list))
	for i, s := range list {
		m, err := d.mechanism(d.Clip * noise * s.noise)
		if err == nil && s.distance > 0 {
			m, err = m.Bounded(s.distance, d.Dimension)
		}
		if err != nil {
			return Schedule{}, err
		}
		steps[i] = Step{m, s.count}
	}
	return NewSchedule(steps...), nil
}

// mechanism returns the design's mechanism of the given scale. Truncation is so wide
// that it costs about a thousandth of delta in all.
func (d Design) mechanism(scale float64) (m Mechanism, err error) {
	if bound := d.Noise.law().bound; bound != nil {
		m, err = newTruncated(d.Noise, d.Clip, scale, bound(d, scale))
	} else {
		m, err = newNoisy(d.Noise, d.Clip, scale)
	}
	if err != nil || d.Slots == 0 {
		return m, err
	}
	return m.Subsampled(d.Batch, d.Slots)
}

// truncationMargin is -ln of a thousandth of delta, for each release.
func (d Design) truncationMargin() float64 {
	return math.Log(1000 * float64(d.Releases) / d.Budget.Delta)
}
