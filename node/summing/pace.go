package summing

import (
	"time"

	"p2pnode/sums"
)

// longestRest is the longest time between two epochs: a season of the year, so that sums
// follow what changes with it.
const longestRest = 13 * 7 * 24 * time.Hour

// Pace says when the epochs of a recipe begin. Every sum has the same noise, so r records
// in k sums say as much as r²/k in one. Therefore the committee rests after an epoch for
// as long as lies between the first closing of a sum and the last one. Where records come
// at the same rate, each epoch then has about as many as all before it together, and what
// they say together grows with r².
//
// Because a record is in the sums of one epoch, the recipes of a task keep step: each counts
// an epoch for as long as that of the recipe with most rounds takes.
type Pace struct {
	lag         time.Duration // for how much longer an epoch of that recipe takes contributions
	first, last time.Time     // of the closings so far
}

// Pace returns the pace of a recipe before its first sum.
func (p *Plan) Pace(recipe int) Pace {
	most := 0
	for i := range p.recipes {
		most = max(most, p.Recipe(i).Rounds())
	}
	return Pace{lag: time.Duration(most-p.Recipe(recipe).Rounds()) * p.open()}
}

// Closed notes when a sum closed. The sums come in the order of [Plan.Sum].
func (p *Pace) Closed(r *sums.Published) {
	p.last = time.Unix(r.Opening.Closes, 0)
	if p.first.IsZero() {
		p.first = p.last
	}
}

// Opens returns the time before which a round of the next epoch does not begin; zero:
// there is none. Only the first round waits, because nobody adds records to the others
// that are not in it.
func (p *Pace) Opens(round uint64) time.Time {
	if round > 1 || p.last.IsZero() {
		return time.Time{}
	}
	over := p.last.Add(p.lag)
	return over.Add(min(over.Sub(p.first), longestRest))
}
