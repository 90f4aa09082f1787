package learner

import (
	"cmp"

	"p2pnode/learner/population"
	"p2pnode/privacy"
)

// itemsRecipe is recipe A: the sums and counts of votes for each key.
func itemsRecipe() recipeKind {
	return recipeKind{
		name: "items",
		check: func(c *checker, key string, t *Task, r *Recipe) {
			c.check(t.key() != nil, key+".kind", "is \"items\", which needs a feature of the kind \"key\" that says what a record is about")
			c.check(t.numbers(), key+".kind", "is \"items\", which adds up numbers: it needs the squared or the huber loss")
			c.atLeastZero(key+".bound", r.Bound)
			c.atLeastZero(key+".spread", r.Spread)
			c.atLeastZero(key+".noise", r.Noise)
		},
		make: func(s *Summing) summing { return &itemsSumming{Summing: s, votes: s.task.votes(s.recipe)} },
	}
}

// votes returns the recipe's constants. Missing ones are in proportion to the width of
// the target's range; for the five stars of movies they are the values that were chosen
// there.
func (t *Task) votes(r Recipe) population.Votes {
	bound := cmp.Or(r.Bound, t.Target.width()/6)
	square := bound * bound / (0.75 * 0.75)
	return population.Votes{Bound: bound, Spread: cmp.Or(r.Spread, 0.1*square), Noise: cmp.Or(r.Noise, 0.8*square), Most: 2 * bound}
}

type itemsSumming struct {
	*Summing
	oneSum
	votes population.Votes
}

func (s *itemsSumming) dimension() int { return 2 * s.catalogue.Keys() }

func (s *itemsSumming) distance() float64 {
	return privacy.ItemsSensitivity(s.votes.Bound, s.votes.Bound)
}

// vector leaves out records whose key is not in the catalogue. That depends on the
// record alone, so the distance still holds.
func (s *itemsSumming) vector(train []Record, _ []float64) []float64 {
	return s.added(train, func(sum []float64, r *Record) {
		if key, ok := s.catalogue.At(r.Key); ok {
			s.votes.Add(sum, key, r.Y)
		}
	})
}

func (s *itemsSumming) learn(known *Known, o *Opened, own []float64, _ int) (err error) {
	known.catalogue, known.own = s.catalogue, own
	if known.items == nil {
		known.items, err = s.votes.Learn(o.Sum, o.SD, len(o.Slots), s.catalogue.Public())
	}
	return err
}
