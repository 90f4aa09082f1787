package learner

import (
	"fmt"
	"slices"
)

// Sums describes the private sums of a task: what is added up, for whom, and until
// when. The zero value means that there are none.
type Sums struct {
	// Recipes are the sums, at most one of each kind. Their shares of each record's
	// budget add up to 1 at most; the rest is for releases.
	Recipes []Recipe `toml:"recipes"`
	// Committee has the peer IDs of the members who add up. Their order is part of the
	// sums' names. At most Colluding of them are assumed to work together.
	Committee []string `toml:"committee"`
	Colluding int      `toml:"colluding"` // t >= 1, of 3t+1 members at least
	// Contributors bounds the number of people in a sum, and Records the records of
	// each.
	Contributors int `toml:"contributors"`
	Records      int `toml:"records"`
	// Epochs is how many times each recipe is summed up. A record is in one of them, so
	// that there is a sum for later records too.
	Epochs int `toml:"epochs"`
	// CloseSeconds is how long an epoch accepts contributions after it opens.
	CloseSeconds float64 `toml:"close_seconds"`
}

// Limits on what a task may ask of a committee.
const (
	mostMembers      = 10
	mostContributors = 1 << 20
	mostEpochs       = 1 << 16
)

// Share is the share of each record's budget that goes into the sums, 0 to 1, in
// squares of the noise.
func (s *Sums) Share() float64 {
	var total float64
	for i := range s.Recipes {
		total += s.Recipes[i].Share
	}
	return min(1, total)
}

// Cohort is how many records share one budget: with private sums no more, of those to learn
// from, than a sum takes. A cohort pays as a whole, so some would pay otherwise and be in none.
func (t *Task) Cohort() int {
	if len(t.Sums.Recipes) == 0 {
		return t.CohortSize
	}
	return min(t.CohortSize, t.Sums.Records+t.Sums.Records/(Fold-1)) // one of Fold is held out
}

// Widest is the number of coordinates of the largest sum; 0: there are no sums.
// catalogue is that of the task's key.
func (s *Sums) Widest(t *Task, catalogue *Catalogue) (widest int) {
	for _, r := range s.Recipes {
		if made, err := t.Summing(r, catalogue); err == nil { // if it fails, the task's check says why
			widest = max(widest, made.Dimension())
		}
	}
	return widest
}

// SumsCatalogue is the SHA-256, in hexadecimal, of the file that lists the keys by
// which the task sums up; "" if it does not sum up by keys, or if it sums up by
// buckets.
func (t *Task) SumsCatalogue() string {
	key := t.key()
	if key == nil || !t.Sums.byKeys() {
		return ""
	}
	return key.Catalogue
}

// byKeys reports whether a sum adds up by the keys of the task's catalogue.
func (s *Sums) byKeys() bool {
	return slices.ContainsFunc(s.Recipes, func(r Recipe) bool { return r.Kind == "items" })
}

// sums checks the table "sums".
func (c *checker) sums(t *Task) {
	s := &t.Sums
	if len(s.Recipes) == 0 {
		c.check(s.Committee == nil && s.Colluding == 0 && s.Contributors == 0 && s.Records == 0 && s.Epochs == 0 && s.CloseSeconds == 0,
			"sums.recipes", "must say what is summed up, in tables [[sums.recipes]]; or leave out the table sums")
		return
	}
	var shares float64
	sound := len(c.faults) == 0 // recipes can only be checked against a task that is otherwise sound
	for i := range s.Recipes {
		r := &s.Recipes[i]
		key := fmt.Sprintf("sums.recipes[%d]", i)
		if sound {
			c.recipe(key, t, r)
		} else {
			c.oneOf(key+".kind", r.Kind, recipeNames()...)
		}
		shares += r.Share
		c.check(!slices.ContainsFunc(s.Recipes[:i], func(other Recipe) bool { return other.Kind == r.Kind }),
			key+".kind", "must be there once, %q is there twice", r.Kind)
	}
	c.check(shares <= 1+1e-9, "sums.recipes", "must have shares that add up to 1 at most, not to %g", shares)
	c.check(shares < 1-1e-9 || !(shares <= 1+1e-9) || t.Silent(), "sums.recipes", "take the whole budget, and the learner %q needs some for releases: lower a share, or set learner = \"sums\"", t.Learner)
	c.committee(s)
	c.check(s.Contributors >= 2 && s.Contributors <= mostContributors, "sums.contributors", "must be between 2 and %d", mostContributors)
	c.check(s.Records >= 1 && s.Records <= maxSumRecords, "sums.records", "must be between 1 and %d", maxSumRecords)
	c.check(s.Epochs >= 1 && s.Epochs <= mostEpochs, "sums.epochs", "must be between 1 and %d", mostEpochs)
	c.check(s.CloseSeconds > 0 && s.CloseSeconds <= 1e9, "sums.close_seconds", "must be positive and at most 1e9")
}

// committee checks the members of the committee.
func (c *checker) committee(s *Sums) {
	members, t := len(s.Committee), s.Colluding
	c.check(t >= 1 && members >= 3*t+1 && members <= mostMembers, "sums.committee",
		"must name at least 3t+1 and at most %d members, where colluding = t of them, 1 or more, may work together: 4 against 1, 7 against 2, and not %d against %d",
		mostMembers, members, t)
	for i, m := range s.Committee {
		key := fmt.Sprintf("sums.committee[%d]", i)
		c.name(key, m)
		c.check(!slices.Contains(s.Committee[:i], m), key, "must be unique, %q is there twice", m)
	}
}
