package learner

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// EncodeVector is [Task.EncodeFeatures] for data that is numbers already. raw has
// [Task.VectorLength] numbers, column by column in the task's order: one for a number or
// a range, NaN if it is unknown; for a set a 1 or 0 for each of its values; the number of
// a key, NaN for none. Anything else is an error that names the column. raw is not kept.
// The record has no cells.
func (t *Task) EncodeVector(raw []float64) (r Record, err error) {
	x := make([]float64, 0, t.Width())
	err = t.each(raw, func(f *Feature, raw []float64) (err error) {
		if f.Kind == "key" {
			r.Key, _, err = f.numberKey(raw[0])
		} else {
			x, _, err = f.encode(x, raw)
		}
		return err
	})
	if err != nil {
		return Record{}, err
	}
	r.X = t.finish(x)
	return r, nil
}

// EncodeExample is [Task.Encode] for numbers, as [Task.EncodeVector] takes them, and the
// target's value: a number in the target's units, 1 or 0 (or -1) for two classes, the
// number of the class from 0 for several. The record's cells are the texts that say
// these numbers.
func (t *Task) EncodeExample(raw []float64, label float64) (Record, error) {
	w, x := newCellWriter(t), make([]float64, 0, t.Width())
	var r Record
	err := t.each(raw, func(f *Feature, raw []float64) (err error) {
		var note Note
		if f.Kind == "key" {
			r.Key, note, err = f.numberKey(raw[0])
		} else {
			x, note, err = f.encode(x, raw)
		}
		if f.Kind == "set" {
			w.add(f.listed(raw), note)
		} else {
			w.addNumber(raw[0], note)
		}
		return err
	})
	if err != nil {
		return Record{}, err
	}
	y, note, err := t.encodeLabel(label)
	if err != nil {
		return Record{}, err
	}
	w.add(t.labelText(label, y), note)
	r.X, r.Y, r.Cells = t.finish(x), y, w.cells()
	return r, nil
}

// each calls take with each feature and its numbers.
func (t *Task) each(raw []float64, take func(f *Feature, raw []float64) error) error {
	if n := t.VectorLength(); len(raw) != n {
		return fmt.Errorf("%d numbers, want %d: %s", len(raw), n, t.vectorLayout())
	}
	for i := range t.Features {
		f := &t.Features[i]
		if err := take(f, raw[:f.Inputs()]); err != nil {
			return err
		}
		raw = raw[f.Inputs():]
	}
	return nil
}

// VectorLength is the length of what [Task.EncodeVector] takes.
func (t *Task) VectorLength() int {
	n := 0
	for i := range t.Features {
		n += t.Features[i].Inputs()
	}
	return n
}

// vectorLayout names the first and the last column for an error about the length.
func (t *Task) vectorLayout() string {
	last := &t.Features[len(t.Features)-1]
	return fmt.Sprintf("the first is of column %q, the last of column %q", t.Features[0].Name, last.Name)
}

// Inputs is how many numbers of a vector say the feature, see [Task.EncodeVector].
func (f *Feature) Inputs() int {
	if f.Kind == "set" {
		return len(f.Values)
	}
	return 1
}

// encode appends the feature's coordinates before they are scaled together; raw has
// Inputs numbers.
func (f *Feature) encode(x, raw []float64) ([]float64, Note, error) {
	v := raw[0]
	switch {
	case f.Kind == "set":
		note := Empty
		for i, v := range raw {
			if v != 0 && v != 1 {
				return nil, Taken, badNumber(f.Name, v, "for %q is neither 1 nor 0", f.Values[i])
			}
			if v == 1 {
				note = Taken
			}
		}
		return append(x, raw...), note, nil
	case math.IsNaN(v): // unknown
		return append(x, make([]float64, f.width())...), Empty, nil
	case math.IsInf(v, 0):
		return nil, Taken, badNumber(f.Name, v, "is not a finite number")
	case f.Kind == "range":
		at := len(x)
		x = append(x, make([]float64, f.width())...)
		x[at+f.interval(v)] = 1
		return x, Taken, nil
	}
	inside, note := clamp(v, f.Min, f.Max)
	return append(x, f.unit(inside)), note, nil
}

// interval is which of the intervals between the edges v is in, from 0.
func (f *Feature) interval(v float64) int {
	i, found := slices.BinarySearch(f.Edges, v)
	if found {
		i++
	}
	return i
}

// unit takes [Min, Max] to [-1, 1], and leaves [0, 1] alone.
func (f *Feature) unit(v float64) float64 {
	switch {
	case f.plain():
		return v
	case f.Max-f.Min > math.MaxFloat64: // the width of the range is no number, its halves are
		return (v/2-f.Min/2)/(f.Max/2-f.Min/2)*2 - 1
	}
	return 2*((v-f.Min)/(f.Max-f.Min)) - 1
}

// plain reports whether a number in the range is its own coordinate.
func (f *Feature) plain() bool { return f.Max == 1 && (f.Min == 0 || f.Min == -1) }

func clamp(v, low, high float64) (float64, Note) {
	switch {
	case v < low:
		return low, Clamped
	case v > high:
		return high, Clamped
	}
	return v, Taken
}

// listed is what the cell of a set would say for these numbers; see [Task.EncodeVector].
func (f *Feature) listed(raw []float64) string {
	var names []string
	for i, v := range raw {
		if v == 1 {
			names = append(names, f.Values[i])
		}
	}
	return strings.Join(names, "|")
}

// numberText is the shortest text that says v; nothing for NaN.
func numberText(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// scaleToUnit scales x to l2 norm 1, or only down to 1 unless always is set.
// The zero vector stays.
func scaleToUnit(x []float64, always bool) {
	var n float64
	for _, v := range x {
		n = math.Hypot(n, v)
	}
	if n == 0 || (n <= 1 && !always) {
		return
	}
	for i := range x {
		x[i] /= n
	}
}
