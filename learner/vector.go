package learner

import (
	"fmt"
	"math"
	"slices"
)

// EncodeVector is [Task.EncodeFeatures] for data that is numbers already. raw has
// [Task.VectorLength] numbers, column by column in the task's order: one for a
// number; one for a range, NaN if it is unknown; for a set a 1 or 0 for each of its
// values. Anything else is an error that names the column. raw is not kept.
func (t *Task) EncodeVector(raw []float64) ([]float64, error) {
	if n := t.VectorLength(); len(raw) != n {
		return nil, fmt.Errorf("%d numbers, want %d: %s", len(raw), n, t.vectorLayout())
	}
	x := make([]float64, 0, t.Width())
	for i := range t.Features {
		f := &t.Features[i]
		var err error
		if x, err = f.encode(x, raw[:f.Inputs()]); err != nil {
			return nil, err
		}
		raw = raw[f.Inputs():]
	}
	scaleToUnit(x, t.Normalise)
	if t.Constant > 0 {
		x = append(x, t.Constant)
	}
	return x, nil
}

// VectorLength is the length of what [Task.EncodeVector] takes.
func (t *Task) VectorLength() int {
	n := 0
	for i := range t.Features {
		n += t.Features[i].Inputs()
	}
	return n
}

// vectorLayout says where the first and the last column are, for whoever counts.
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

// encode appends the feature's coordinates; raw has Inputs numbers.
func (f *Feature) encode(x, raw []float64) ([]float64, error) {
	switch v := raw[0]; {
	case f.Kind == "set":
		for i, v := range raw {
			if v != 0 && v != 1 {
				return nil, badNumber(f.Name, v, "for %q is neither 1 nor 0", f.Values[i])
			}
		}
		return append(x, raw...), nil
	case f.Kind == "range" && math.IsNaN(v): // unknown
		return append(x, make([]float64, f.Width())...), nil
	case math.IsNaN(v) || math.IsInf(v, 0):
		return nil, badNumber(f.Name, v, "is not a finite number")
	case f.Kind == "range":
		at := len(x)
		x = append(x, make([]float64, f.Width())...)
		i, found := slices.BinarySearch(f.Edges, v)
		if found {
			i++
		}
		x[at+i] = 1
		return x, nil
	default:
		return append(x, min(max(v, f.Min), f.Max)), nil
	}
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
