package learner

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Classifies reports whether the target is one of two or more classes instead of a
// number.
func (t *Task) Classifies() bool { return t.lossKind().target != numberTarget }

// encodeTarget returns Y for the target's cell.
func (t *Task) encodeTarget(text string) (float64, Note, error) {
	if k := slices.Index(t.Target.Classes, text); k >= 0 {
		return t.classLabel(k), Taken, nil
	}
	switch {
	case text == "":
		return 0, Taken, fmt.Errorf("column %q %w", t.Target.Name, errNoLabel)
	case Blank(text):
		return 0, Taken, fmt.Errorf("column %q, with a word such as none or NA, %w", t.Target.Name, errNoLabel)
	}
	if t.Target.Classes != nil {
		return 0, Taken, badText(t.Target.Name, text, "is none of %s", strings.Join(t.Target.Classes, ", "))
	}
	v, err := parseNumber(t.Target.Name, text)
	if err != nil {
		return 0, Taken, err
	}
	return t.encodeLabel(v)
}

// encodeLabel returns Y for the target's value; see [Task.EncodeExample].
func (t *Task) encodeLabel(v float64) (float64, Note, error) {
	bad := func(format string, args ...any) error { return badNumber(t.Target.Name, v, format, args...) }
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, Taken, bad("is not a finite number")
	case t.lossKind().target == classTarget:
		if t.admitLabel(v) != nil {
			return 0, Taken, bad("is the number of no class; they are 0 to %d", len(t.Target.Classes)-1)
		}
		return v, Taken, nil
	case !t.Classifies():
		inside, note := clamp(v, t.Target.Min, t.Target.Max)
		below, above := t.Target.reach() // a logarithm need not rise with the last bit of its number
		return flush(min(max(t.Target.Coded(inside)-t.Target.Coded(t.Target.Center), -below), above)), note, nil
	case v == 1:
		return 1, Taken, nil
	case v == 0 || v == -1:
		return -1, Taken, nil
	}
	return 0, Taken, bad("is neither 1 nor -1 (or 0)")
}

// Coded returns the number that is learned for a value of the target.
func (g *Target) Coded(v float64) float64 {
	if g.Log && g.Min >= 0 { // else the task is not valid
		return logarithm(v, g.Min)
	}
	return v
}

// decoded is the inverse of Coded.
func (g *Target) decoded(c float64) float64 {
	switch {
	case g.Log && g.Min > 0:
		return math.Exp(c)
	case g.Log && g.Min == 0:
		return math.Expm1(c)
	}
	return c
}

// width is how far apart two coded targets can be.
func (g *Target) width() float64 { return g.Coded(g.Max) - g.Coded(g.Min) }

// reach is how far a coded target can be below the coded center, and above it.
func (g *Target) reach() (below, above float64) {
	center := g.Coded(g.Center)
	return center - g.Coded(g.Min), g.Coded(g.Max) - center
}

// middle is the value in the middle of the range of coded targets.
func (g *Target) middle() float64 {
	if g.Log {
		return min(max(rounded(g.decoded(g.Coded(g.Min)/2+g.Coded(g.Max)/2)), g.Min), g.Max)
	}
	return g.Min/2 + g.Max/2
}

// logarithm is that of a number of a range from least on: log v, or log(1 + v) if least is 0.
func logarithm(v, least float64) float64 {
	if least > 0 {
		return math.Log(v)
	}
	return math.Log1p(v)
}

// logName is what a [ModelFile] calls logarithm.
func logName(least float64) string {
	if least > 0 {
		return "log"
	}
	return "log1p"
}

// classLabel returns Y for the class at position k.
func (t *Task) classLabel(k int) float64 {
	if t.lossKind().target == classTarget {
		return float64(k)
	}
	return float64(2*k - 1)
}

// Class returns the name of a record's class, or "" if the target is a number or the
// task names no classes.
func (t *Task) Class(y float64) string {
	for k, name := range t.Target.Classes {
		if y == t.classLabel(k) {
			return name
		}
	}
	return ""
}

// labelText returns the text of the target's cell for this value; y is the coded value.
func (t *Task) labelText(v, y float64) string {
	if name := t.Class(y); name != "" {
		return name
	}
	return numberText(v)
}
