package learner

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Encode turns one row of an owner's data into a record (without Seq and Cohort). It
// gives the same bits everywhere: in the daemon, in an app, in the simulator and in
// experiments. cell returns the text of a column and whether the row has it.
//
// A feature becomes coordinates, using only public constants of the task:
//   - a number is one coordinate: [Min, Max] is taken to [-1, 1], except that [0, 1] stays
//     as it is, so that a column of yes and no is like a value of a set. With Bends it is
//     one for each of Min, the bends and Max: linear B-splines;
//   - a set is one coordinate for each of Values, 1 where the cell names it and else 0;
//   - a range is one coordinate for each interval between Edges, 1 for the one that holds
//     the number;
//   - a key has no coordinate: it becomes the record's Key;
//   - an empty cell, see [Blank], gives only zeros: unknown, which for a number without
//     bends is the middle of its range.
//
// The coordinates are scaled together, see [Task.Normalise] and [Task.UsualNorm], and
// the task's [Map] and constant are appended.
//
// The record's Cells note the values that were changed: a number outside its range
// counts as the nearest end, a text that is none of a set's values counts as none. The
// column of a key may be missing, and then the record has no key. Encode returns an
// error that names the column if another column is missing, if a text stands where a
// number belongs, if a number is infinite, or if a label is none of the task's; if the
// cell of the target is empty, the error is errNoLabel.
func (t *Task) Encode(cell func(name string) (string, bool)) (Record, error) {
	w := newCellWriter(t)
	r, err := t.encodeCells(w, cell)
	if err != nil {
		return Record{}, err
	}
	text, ok := cell(t.Target.Name)
	if !ok {
		return Record{}, missing(t.Target.Name)
	}
	text = strings.TrimSpace(text)
	y, note, err := t.encodeTarget(text)
	if err != nil {
		return Record{}, err
	}
	w.add(text, note)
	r.Y, r.Cells = y, w.cells()
	return r, nil
}

// EncodeFeatures is Encode without the target.
func (t *Task) EncodeFeatures(cell func(name string) (string, bool)) (Record, error) {
	w := newCellWriter(t)
	r, err := t.encodeCells(w, cell)
	r.Cells = w.cells()
	return r, err
}

// errNoLabel is the error of an empty target cell.
var errNoLabel = errors.New("is empty, so there is nothing to learn from the row")

func (t *Task) encodeCells(w *cellWriter, cell func(name string) (string, bool)) (r Record, err error) {
	x := make([]float64, 0, t.Width())
	for i := range t.Features {
		f := &t.Features[i]
		text, ok := cell(f.Name)
		if !ok && f.Kind == "vector" {
			if text, ok, err = f.spread(t.unnamed(cell)); err != nil {
				return Record{}, err
			}
		}
		if !ok && f.Kind != "key" {
			return Record{}, missing(f.Name)
		}
		text = strings.TrimSpace(text)
		var note Note
		if f.Kind == "key" {
			if r.Key, note = keyOf(text); !ok {
				note = Taken // there is no cell that could be empty
			}
		} else if x, note, err = f.kind().cell(f, x, text); err != nil {
			return Record{}, err
		}
		w.add(text, note)
	}
	r.X = t.finish(x)
	return r, nil
}

// Lacking returns the first column that a row must have for [Task.EncodeFeatures], may leave empty
// and does not have; "" if there is none, or the row has a column that is none of the task's.
func (t *Task) Lacking(row map[string]string) string {
	columns := t.Columns()
	for name := range row {
		if !slices.Contains(columns, name) {
			return ""
		}
	}
	for i := range t.Features {
		f := &t.Features[i]
		if _, ok := row[f.Name]; !ok && f.Kind != "key" && f.Kind != "vector" {
			return f.Name
		}
	}
	return ""
}

func missing(column string) error { return fmt.Errorf("column %q is missing", column) }

// finish scales the coordinates and appends the map and the constant.
func (t *Task) finish(x []float64) []float64 {
	if !t.Normalise {
		if norm := t.usualNorm(); norm != 1 {
			for i := range x {
				x[i] /= norm
			}
		}
	}
	if t.Map.Kind == "" || t.Normalise {
		scaleToUnit(x, t.Normalise)
	}
	if t.Map.Kind != "" {
		x = t.Map.appended(x)
	}
	x = flushed(x)
	if t.Constant > 0 {
		x = append(x, t.Constant)
	}
	return x
}

// usualNorm is the norm of a usual row before it is scaled: the task's UsualNorm or,
// without one, what the kinds of the features say. A value of a set and an interval
// count 1, and a number 1/3, the mean square of a number that is uniform in [-1, 1].
func (t *Task) usualNorm() float64 {
	if t.UsualNorm > 0 {
		return t.UsualNorm
	}
	var square float64
	for i := range t.Features {
		if f := &t.Features[i]; f.kind().square != nil {
			square += f.kind().square(f)
		}
	}
	return math.Sqrt(max(1, square))
}

// Blank reports whether a cell says that there is no value: it is empty, or it says na,
// n/a, nan, null, none or a question mark, in small letters or capitals.
func Blank(cell string) bool {
	switch len(cell) {
	case 0:
		return true
	case 1:
		return cell == "?"
	case 2, 3, 4:
		switch strings.ToLower(cell) {
		case "na", "n/a", "nan", "null", "none":
			return true
		}
	}
	return false
}

// ParseNumber reads a finite decimal number, as 12, -0.5 or 1e3, by the rule that exported models
// tell programs in other languages; see [TextRules]. Go's digits with _ between them, and numbers
// to the base of 16, are none.
func ParseNumber(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) && !strings.ContainsAny(text, "_xX")
}

func parseNumber(column, text string) (float64, error) {
	v, ok := ParseNumber(text)
	if !ok {
		return 0, noNumber(column, text)
	}
	return v, nil
}

func noNumber(column, text string) error {
	return badText(column, text, "is not a finite number%s", numberAdvice(text))
}

// numberAdvice says how to write what may be a number with other signs.
func numberAdvice(text string) (advice string) {
	point := strings.Replace(text, ",", ".", 1)
	if _, ok := ParseNumber(point); ok && point != text {
		advice = "; if the comma is a decimal one, write " + point
	}
	if plain, grouped := Ungrouped(text); grouped {
		advice += "; without the marks between thousands it is " + plain
	}
	return advice
}

// Numbers with points between thousands, and with commas.
var (
	pointGroups = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$`)
	commaGroups = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$`)
)

// Ungrouped returns a number without the points or commas between its thousands, and with a
// decimal point: 1955.77 for 1.955,77 and for 1,955.77. It reports whether there are any;
// that of 1.955 may as well be a decimal point.
func Ungrouped(text string) (plain string, grouped bool) {
	switch {
	case pointGroups.MatchString(text):
		return strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", "."), true
	case commaGroups.MatchString(text):
		return strings.ReplaceAll(text, ",", ""), true
	}
	return text, false
}

// ValueError says what is wrong with a value of the user's data. Its text contains the
// value, so only the owner may see it.
type ValueError struct {
	Column string
	Value  string
	Reason string // for example "is not a finite number"
}

// Error implements [error].
func (e *ValueError) Error() string {
	return fmt.Sprintf("column %q: %s %s", e.Column, e.Value, e.Reason)
}

// badText returns the error for a cell, and badNumber the error for a number.
func badText(column, text, format string, args ...any) error {
	return &ValueError{column, strconv.Quote(text), fmt.Sprintf(format, args...)}
}

func badNumber(column string, v float64, format string, args ...any) error {
	return &ValueError{column, fmt.Sprint(v), fmt.Sprintf(format, args...)}
}
