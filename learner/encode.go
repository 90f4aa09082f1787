package learner

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Encode turns one row of the user's data into a record (without Seq and
// Cohort). cell returns the text of a column and whether the row has it.
// Numbers outside the task's ranges are clamped; text that is no number, an
// unknown set value or a missing column is an error that names the column.
func (t *Task) Encode(cell func(name string) (string, bool)) (Record, error) {
	x, err := t.EncodeFeatures(cell)
	if err != nil {
		return Record{}, err
	}
	y, err := t.encodeTarget(cell)
	return Record{X: x, Y: y}, err
}

// EncodeFeatures is Encode without the target.
func (t *Task) EncodeFeatures(cell func(name string) (string, bool)) ([]float64, error) {
	raw := make([]float64, 0, t.VectorLength())
	for i := range t.Features {
		f := &t.Features[i]
		text, ok := cell(f.Name)
		if !ok {
			return nil, fmt.Errorf("column %q is missing", f.Name)
		}
		var err error
		if raw, err = f.parse(raw, strings.TrimSpace(text)); err != nil {
			return nil, err
		}
	}
	return t.EncodeVector(raw)
}

// ValueError says what is wrong with a value of the user's data. Its text has the value,
// for her eyes.
type ValueError struct {
	Column string
	Value  string
	Reason string // as "is not a finite number"
}

// Error implements [error].
func (e *ValueError) Error() string {
	return fmt.Sprintf("column %q: %s %s", e.Column, e.Value, e.Reason)
}

// badText is the error of a cell, and badNumber that of a number.
func badText(column, text, format string, args ...any) error {
	return &ValueError{column, strconv.Quote(text), fmt.Sprintf(format, args...)}
}

func badNumber(column string, v float64, format string, args ...any) error {
	return &ValueError{column, fmt.Sprint(v), fmt.Sprintf(format, args...)}
}

// parse appends the numbers that a cell says; see [Task.EncodeVector].
func (f *Feature) parse(raw []float64, text string) ([]float64, error) {
	if f.Kind == "set" {
		return f.parseSet(raw, text)
	}
	if f.Kind == "range" && text == "" {
		return append(raw, math.NaN()), nil
	}
	v, err := parseNumber(f.Name, text)
	return append(raw, v), err
}

func (f *Feature) parseSet(raw []float64, text string) ([]float64, error) {
	at := len(raw)
	raw = append(raw, make([]float64, len(f.Values))...)
	if text == "" {
		return raw, nil
	}
	for name := range strings.SplitSeq(text, "|") {
		i := slices.Index(f.Values, strings.TrimSpace(name))
		if i < 0 {
			return nil, badText(f.Name, name, "is none of %s", strings.Join(f.Values, ", "))
		}
		raw[at+i] = 1
	}
	return raw, nil
}

func parseNumber(column, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, badText(column, text, "is not a finite number")
	}
	return v, nil
}
