package privacy

// Schedule is the mechanisms of a node's releases, in order. The zero value has
// none.
type Schedule struct{ steps []Step }

// Step is Count releases of one mechanism.
type Step struct {
	Mechanism Mechanism
	Count     int
}

// NewSchedule returns the schedule of the steps one after the other. Steps that
// have no releases are left out.
func NewSchedule(steps ...Step) Schedule {
	var s Schedule
	for _, step := range steps {
		if step.Count > 0 {
			s.steps = append(s.steps, step)
		}
	}
	return s
}

// Releases is the number of releases of all steps.
func (s Schedule) Releases() int {
	n := 0
	for _, step := range s.steps {
		n += step.Count
	}
	return n
}

// Steps returns a copy of the steps.
func (s Schedule) Steps() []Step { return append([]Step(nil), s.steps...) }

// at returns the mechanism of the release after k others, that of the last step
// from then on; false if there are no steps.
func (s Schedule) at(k int) (m Mechanism, ok bool) {
	for _, step := range s.steps {
		m, ok = step.Mechanism, true
		if k < step.Count {
			break
		}
		k -= step.Count
	}
	return m, ok
}

// Policy is everything about privacy a node needs to run: the terms of its ledger
// and the mechanisms of its releases.
type Policy struct {
	Terms    Terms
	Schedule Schedule
}

// Next returns the mechanism of the release after k others. A plan comes to an
// end, and then there is none. Under a filter the last mechanism goes on: each
// cohort's budget says for how long.
func (p Policy) Next(k int) (Mechanism, bool) {
	if p.Terms.Accounting == CommittedPlan && k >= p.Schedule.Releases() {
		return Mechanism{}, false
	}
	return p.Schedule.at(k)
}
