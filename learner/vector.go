package learner

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
)

// EncodeVector is [Task.EncodeFeatures] for data that is numbers already. raw has
// [Task.VectorLength] numbers, column by column in the task's order: one for a number
// or a range, NaN if it is unknown; for a set a 1 or 0 for each of its values; the
// number of a key, NaN for none. Anything else is an error that names the column.
// EncodeVector does not keep raw. The record has no cells.
func (t *Task) EncodeVector(raw []float64) (Record, error) {
	return t.encodeNumbers(raw, func(*Feature, []float64, Note) {})
}

// encodeNumbers is EncodeVector, and calls took with the numbers of each feature and how they
// were taken.
func (t *Task) encodeNumbers(raw []float64, took func(f *Feature, raw []float64, note Note)) (r Record, err error) {
	if n := t.VectorLength(); len(raw) != n {
		return Record{}, fmt.Errorf("%d numbers, want %d: %s", len(raw), n, t.vectorLayout())
	}
	x := make([]float64, 0, t.Width())
	for i := range t.Features {
		f := &t.Features[i]
		own := raw[:f.Inputs()]
		raw = raw[len(own):]
		var note Note
		if f.Kind == "key" {
			r.Key, note, err = f.numberKey(own[0])
		} else {
			x, note, err = f.kind().vector(f, x, own)
		}
		if err != nil {
			return Record{}, err
		}
		took(f, own, note)
	}
	r.X = t.finish(x)
	return r, nil
}

// EncodeExample is [Task.Encode] for numbers, in the form that [Task.EncodeVector]
// takes, and the target's value: a number in the target's units; 1 or 0 (or -1) for two
// classes; the number of the class, from 0, for several. The record's cells are the
// texts of these numbers.
func (t *Task) EncodeExample(raw []float64, label float64) (Record, error) {
	w := newCellWriter(t)
	r, err := t.encodeNumbers(raw, func(f *Feature, raw []float64, note Note) {
		if text := f.kind().text; text != nil {
			w.add(text(f, raw), note)
		} else {
			w.addNumber(raw[0], note)
		}
	})
	if err != nil {
		return Record{}, err
	}
	y, note, err := t.encodeLabel(label)
	if err != nil {
		return Record{}, err
	}
	w.add(t.labelText(label, y), note)
	r.Y, r.Cells = y, w.cells()
	return r, nil
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

// numberText is the shortest text of v, and "" for NaN.
func numberText(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// scaleToUnit scales x to l2 norm 1, or, unless always is set, only down to 1. The zero
// vector is unchanged.
func scaleToUnit(x []float64, always bool) {
	toUnit(x, l2(x), always)
	// Only where l2 has rounded off too much, since equal rows must be coded as they ever were.
	if n := preciseNorm(x); n > 1+normMargin {
		toUnit(x, n, true)
	}
}

// toUnit divides x by its norm n; unless always is set, only down to 1.
func toUnit(x []float64, n float64, always bool) {
	if n == 0 || (n <= 1 && !always) {
		return
	}
	for i := range x {
		x[i] /= n
	}
}

// l2 is the l2 norm of x, even if the squares of its numbers overflow or underflow. Of tens of
// thousands of numbers it may be off by more than normMargin.
func l2(x []float64) (n float64) {
	for _, v := range x {
		n = math.Hypot(n, v)
	}
	return n
}

// normBlock is how many coordinates are taken together for a norm: it is off by less than a tenth
// of normMargin then, for as many coordinates as a model may have.
const normBlock = 256

// preciseNorm is the l2 norm of x, more precise than l2 where x is wide.
func preciseNorm(x []float64) (n float64) {
	for block := range slices.Chunk(x, normBlock) {
		n = math.Hypot(n, floats.Norm(block, 2))
	}
	return n
}
