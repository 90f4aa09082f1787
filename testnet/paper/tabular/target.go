package tabular

import (
	"fmt"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// target is the column to predict. It is a number if it has no classes.
type target struct {
	name             string
	at               int
	min, max, center float64  // of a number
	classes          []string // of two the second is the positive one
}

// Kinds of targets.
const (
	kindNumber  = "number"
	kindClasses = "classes"
)

// manyNumbers is the fewest different numbers that are taken for amounts and not for
// classes.
const manyNumbers = 8

// mostClasses is how many a task may have.
const mostClasses = 64

// declared is the target of the task.
func (t *target) declared() learner.Target {
	if t.classes == nil {
		return learner.Target{Name: t.name, Min: t.min, Max: t.max, Center: t.center}
	}
	return learner.Target{Name: t.name, Classes: t.classes}
}

// measure is the measure of the target's errors.
func (c *coding) measure() learner.Measure { return c.task().Measure() }

// findTarget finds out from the column's values what is to be predicted, unless kind
// says it: many different numbers, or fractions, are amounts; anything else is classes.
func findTarget(s *testnet.Sheet, name, kind string) (target, error) {
	at, err := s.Column(name)
	if err != nil {
		return target{}, err
	}
	t := target{name: name, at: at}
	values := gather(s, at)
	switch {
	case len(values.counts) < 2:
		return t, fmt.Errorf("tabular: %s: the column %q to predict has fewer than two different values; --target names another", s.File, name)
	case kind == kindNumber && values.texts > 0:
		return t, values.notNumbers(s, name)
	case kind == kindNumber, kind == "" && values.amounts():
		t.min, t.max, t.center = values.min, values.max, values.mean()
		return t, nil
	case len(values.counts) > mostClasses:
		return t, fmt.Errorf("tabular: %s: the column %q has %d different values; at most %d classes can be told apart, and for numbers all cells must be numbers", s.File, name, len(values.counts), mostClasses)
	}
	t.classes = values.sorted()
	return t, nil
}
