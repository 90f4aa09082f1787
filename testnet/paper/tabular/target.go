package tabular

import (
	"fmt"
	"slices"
	"strings"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// target is the column to predict: a number when it has no classes.
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

// fewest different numbers that are taken for amounts rather than for classes.
const manyNumbers = 8

// mostClasses is how many a task may have.
const mostClasses = 64

func (t *target) loss() string {
	switch len(t.classes) {
	case 0:
		return "squared"
	case 2:
		return "logistic"
	}
	return "multinomial"
}

// declared is the target of the task: a number less the center, in units of
// [target.unit], which lies in [-1, 1].
func (t *target) declared() learner.Target {
	switch len(t.classes) {
	case 0:
		return learner.Target{Name: t.name, Min: (t.min - t.center) / t.unit(), Max: (t.max - t.center) / t.unit()}
	case 2:
		return learner.Target{Name: t.name}
	}
	return learner.Target{Name: t.name, Classes: t.classes}
}

// unit is what 1 of the task's target is in the units of the column; of classes 1.
func (t *target) unit() float64 {
	if t.classes != nil {
		return 1
	}
	return max(t.max-t.center, t.center-t.min)
}

// measure is how errors of the target are told.
func (t *target) measure() learner.Measure { return (&learner.Task{Loss: t.loss()}).Measure() }

func (t *target) encode(s *testnet.Sheet, cell string) (float64, error) {
	if t.classes == nil {
		v, ok := number(s, cell)
		if !ok {
			return 0, fmt.Errorf("%q is not a finite number", cell)
		}
		return (min(max(v, t.min), t.max) - t.center) / t.unit(), nil
	}
	k := slices.Index(t.classes, cell)
	switch {
	case k < 0:
		return 0, fmt.Errorf("%q is none of %s", cell, strings.Join(t.classes, ", "))
	case len(t.classes) == 2:
		return float64(2*k - 1), nil
	}
	return float64(k), nil
}

// findTarget decides from the column's values what is to be predicted, unless kind
// says it: many different numbers, or fractions, are amounts; anything else is
// classes.
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
