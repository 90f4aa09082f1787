package learner

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Classifies reports whether the target is one of two or more classes; else it
// is a number.
func (t *Task) Classifies() bool { return t.Loss != "squared" && t.Loss != "huber" }

// encodeTarget is Y of the row.
func (t *Task) encodeTarget(cell func(name string) (string, bool)) (float64, error) {
	text, ok := cell(t.Target.Name)
	if !ok {
		return 0, fmt.Errorf("column %q is missing", t.Target.Name)
	}
	return t.parseTarget(strings.TrimSpace(text))
}

func (t *Task) parseTarget(text string) (float64, error) {
	if t.Loss == "multinomial" {
		k := slices.Index(t.Target.Classes, text)
		if k < 0 {
			return 0, badText(t.Target.Name, text, "is none of %s", strings.Join(t.Target.Classes, ", "))
		}
		return float64(k), nil
	}
	v, err := parseNumber(t.Target.Name, text)
	if err != nil {
		return 0, err
	}
	return t.EncodeLabel(v)
}

// EncodeLabel is Y of the target's value: a number in the target's units, 1 or 0
// (or -1) for two classes, the number of the class from 0 for several. Anything else
// is an error that names the column.
func (t *Task) EncodeLabel(v float64) (float64, error) {
	bad := func(format string, args ...any) error { return badNumber(t.Target.Name, v, format, args...) }
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, bad("is not a finite number")
	case t.Loss == "multinomial":
		if t.admitLabel(v) != nil {
			return 0, bad("is the number of no class; they are 0 to %d", len(t.Target.Classes)-1)
		}
		return v, nil
	case !t.Classifies():
		return min(max(v, t.Target.Min), t.Target.Max) - t.Target.Center, nil
	case v == 1:
		return 1, nil
	case v == 0 || v == -1:
		return -1, nil
	}
	return 0, bad("is neither 1 nor -1 (or 0)")
}
