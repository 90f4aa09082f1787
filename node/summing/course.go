package summing

import (
	"time"

	"p2pnode/sums"
)

// Course is how far the sums of a recipe have come: epoch by epoch, and round by round in each.
type Course struct {
	// Epoch and Round are those of the sum that comes next. Both count from 1. After the last
	// epoch there is no sum.
	Epoch, Round uint64

	plan   *Plan
	recipe int
	pace   pace
}

// Course returns the course of a recipe before its first sum.
func (p *Plan) Course(recipe int) *Course {
	most := 0
	for i := range p.recipes {
		most = max(most, p.Recipe(i).Rounds())
	}
	lag := time.Duration(most-p.Recipe(recipe).Rounds()) * p.open()
	return &Course{Epoch: 1, Round: 1, plan: p, recipe: recipe, pace: pace{lag: lag}}
}

// Next returns the sum that comes next; nil after the last one.
func (c *Course) Next() (*sums.Sum, error) {
	if c.Epoch > uint64(c.plan.Epochs()) {
		return nil, nil
	}
	return c.plan.Sum(c.recipe, c.Epoch, c.Round)
}

// Opens returns the time before which that sum does not begin; zero: there is none.
func (c *Course) Opens() time.Time { return c.pace.opens(c.Round) }

// Ended goes on after that sum. closed is when it closed; zero: it never has a result, and so the
// other rounds of its epoch are not made.
func (c *Course) Ended(closed time.Time) {
	c.Round++
	if !closed.IsZero() {
		c.pace.closed(closed)
	}
	if closed.IsZero() || c.Round > uint64(c.plan.Recipe(c.recipe).Rounds()) {
		c.Epoch, c.Round = c.Epoch+1, 1
	}
}

// longestRest is the longest time between two epochs: a season of the year, so that sums
// follow what changes with it.
const longestRest = 13 * 7 * 24 * time.Hour

// pace says when the epochs of a recipe begin. Every sum has the same noise, so r records
// in k sums say as much as r²/k in one. Therefore the committee rests after an epoch for
// as long as lies between the first closing of a sum and the last one. Where records come
// at the same rate, each epoch then has about as many as all before it together, and what
// they say together grows with r².
//
// Because a record is in the sums of one epoch, the recipes of a task keep step: each counts
// an epoch for as long as that of the recipe with most rounds takes.
type pace struct {
	lag         time.Duration // for how much longer an epoch of that recipe takes contributions
	first, last time.Time     // of the closings so far
}

// closed notes when a sum closed. The sums come in the order of [Plan.Sum].
func (p *pace) closed(at time.Time) {
	p.last = at
	if p.first.IsZero() {
		p.first = p.last
	}
}

// opens returns the time before which a round of the next epoch does not begin; zero:
// there is none. Only the first round waits, because nobody adds records to the others
// that are not in it.
func (p *pace) opens(round uint64) time.Time {
	if round > 1 || p.last.IsZero() {
		return time.Time{}
	}
	over := p.last.Add(p.lag)
	return over.Add(min(over.Sub(p.first), longestRest))
}
