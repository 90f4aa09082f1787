package learner

import (
	"errors"
	"math"
	"slices"
	"strconv"
)

// The first release coded records otherwise: a number was clamped to its range and not
// scaled, and a row was scaled to norm 1 if it was longer, or always with
// [Task.Normalise]. Its records are stored in another place than today's, and
// FromRelease1 converts them.

// errRelease1 says that a record of the first release cannot be coded again, because
// its row cannot be reconstructed.
var errRelease1 = errors.New("learner: the first release scaled a row to norm 1, and all that is left of this one are numbers, " +
	"which do not say by how much")

// SameAsRelease1 reports whether the first release coded every row of the task as
// [Task.Encode] does.
func (t *Task) SameAsRelease1() bool {
	plain := func(f Feature) bool { return f.Kind != "number" || f.plain() }
	for i := range t.Features {
		if !plain(t.Features[i]) {
			return false
		}
	}
	return t.Normalise || t.usualNorm() == 1
}

// FromRelease1 converts a record's coordinates x of the first release to those of
// today. The scale of a row follows from any set or range that is not empty, because
// its coordinate was 1. Without one, a row that was not scaled can be read directly;
// any other row is errRelease1. The numbers are those of the row to within rounding,
// and exactly those if the owner wrote them with up to 14 digits.
func (t *Task) FromRelease1(x []float64) ([]float64, error) {
	if len(x) != t.Width() {
		return nil, errors.New("learner: a record of the first release has the wrong length")
	}
	if t.SameAsRelease1() {
		return x, nil
	}
	coded := x[:t.featureCount()]
	scale, ok := t.scaleOfRelease1(coded)
	if !ok {
		return nil, errRelease1
	}
	raw, rounded := t.rowOfRelease1(coded, scale)
	if slices.Equal(t.release1(rounded), coded) {
		raw = rounded
	}
	r, err := t.EncodeVector(raw)
	return r.X, err
}

// scaleOfRelease1 returns the number by which the coordinates were divided.
func (t *Task) scaleOfRelease1(x []float64) (scale float64, ok bool) {
	var square float64
	for at, i := 0, 0; i < len(t.Features); i++ {
		f := &t.Features[i]
		for _, v := range x[at : at+f.width()] {
			if v != 0 && f.Kind != "number" {
				return 1 / v, true
			}
			square += v * v
		}
		at += f.width()
	}
	const sure = 1 - 1e-9 // a longer row may have been scaled to this norm
	return 1, square == 0 || !t.Normalise && math.Sqrt(square) < sure
}

// rowOfRelease1 returns the row, in the form that [Task.EncodeVector] takes, of
// coordinates that were divided by scale; and the same row with its numbers rounded to
// 14 digits.
func (t *Task) rowOfRelease1(x []float64, scale float64) (raw, rounded []float64) {
	for i := range t.Features {
		f := &t.Features[i]
		here := x[:f.width()]
		x = x[f.width():]
		switch f.Kind {
		case "number":
			v, _ := clamp(here[0]*scale, f.Min, f.Max)
			raw = append(raw, v)
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 14, 64), 64) // the text was made from a number, so this cannot fail
			rounded = append(rounded, v)
		case "range":
			raw = append(raw, f.inside(here))
			rounded = append(rounded, f.inside(here))
		default:
			for _, v := range here {
				if v != 0 {
					v = 1
				}
				raw, rounded = append(raw, v), append(rounded, v)
			}
		}
	}
	return raw, rounded
}

// inside returns a number in the interval whose coordinate is not 0, or NaN if there is
// none.
func (f *Feature) inside(x []float64) float64 {
	switch i := slices.IndexFunc(x, func(v float64) bool { return v != 0 }); i {
	case -1:
		return math.NaN()
	case 0:
		return math.Nextafter(f.Edges[0], math.Inf(-1))
	default:
		return f.Edges[i-1]
	}
}

// release1 codes a row as the first release did.
func (t *Task) release1(raw []float64) (x []float64) {
	for i := range t.Features {
		f := &t.Features[i]
		here := raw[:f.Inputs()]
		raw = raw[f.Inputs():]
		if f.Kind == "number" {
			v, _ := clamp(here[0], f.Min, f.Max)
			x = append(x, v)
			continue
		}
		x, _, _ = f.kind().vector(f, x, here) // sets and ranges were coded as they are today
	}
	toUnit(x, l2(x), t.Normalise)
	return x
}
