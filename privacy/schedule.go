package privacy

import (
	"math"
	"slices"
)

// Schedule holds the mechanisms of a node's releases, in order. The zero value has
// none.
type Schedule struct {
	steps []Step
	ends  []int // the number of releases up to the end of each step
}

// Step is Count releases of one mechanism.
type Step struct {
	Mechanism Mechanism
	Count     int
}

// NewSchedule returns the schedule of the steps in this order. It leaves out steps
// without releases, and joins neighbouring steps of one mechanism.
func NewSchedule(steps ...Step) Schedule {
	var s Schedule
	total := 0
	for _, step := range steps {
		if step.Count <= 0 {
			continue
		}
		step.Count = min(step.Count, math.MaxInt-total)
		total += step.Count
		if last := len(s.steps) - 1; last >= 0 && s.steps[last].Mechanism == step.Mechanism {
			s.steps[last].Count += step.Count
			s.ends[last] = total
			continue
		}
		s.steps = append(s.steps, step)
		s.ends = append(s.ends, total)
	}
	return s
}

// Releases is the number of releases of all steps.
func (s Schedule) Releases() int {
	if len(s.ends) == 0 {
		return 0
	}
	return s.ends[len(s.ends)-1]
}

// at returns the mechanism of the release after k others, or that of the last step if
// there are fewer releases; ok is false if there are no steps.
func (s Schedule) at(k int) (m Mechanism, ok bool) {
	if len(s.steps) == 0 {
		return Mechanism{}, false
	}
	i, _ := slices.BinarySearch(s.ends, k+1)
	return s.steps[min(i, len(s.steps)-1)].Mechanism, true
}

// Policy is everything that a node needs to know about privacy at run time: the terms
// of its ledger and the mechanisms of its releases.
type Policy struct {
	Terms    Terms
	Schedule Schedule
	// Apart is the share of a filter's limit, 0 to 1, that releases leave for
	// contributions to private sums. It protects the sums' share, not the records: the
	// limit is the same for both together.
	Apart float64 `json:",omitzero"`
}

// releasable is the part of a filter's limit that releases may spend.
func (p Policy) releasable(limit float64) float64 {
	if p.Apart == 0 {
		return limit
	}
	return max(0, down(limit*down(1-p.Apart)))
}

// Next returns the mechanism of the release after k others. A plan ends, and then there
// is none. Under a filter the last mechanism is repeated: each cohort's budget decides
// for how long.
func (p Policy) Next(k int) (Mechanism, bool) {
	if p.Terms.Accounting == CommittedPlan && k >= p.Schedule.Releases() {
		return Mechanism{}, false
	}
	return p.Schedule.at(k)
}
