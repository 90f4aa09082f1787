package draft

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"p2pnode/learner"
)

// Range is the range of a column's values that its owner makes public.
type Range struct{ Low, High float64 }

// ParseRange reads a range as an owner writes it, "-30..50".
func ParseRange(text string) (Range, error) {
	low, high, found := strings.Cut(text, "..")
	l, okLow := learner.ParseNumber(strings.TrimSpace(low))
	h, okHigh := learner.ParseNumber(strings.TrimSpace(high))
	if !found || !okLow || !okHigh {
		return Range{}, fmt.Errorf("%q is no range: write the lowest and the highest number with two points between, as -30..50", text)
	}
	r := Range{l, h}
	return r, r.check(text)
}

func (r Range) finite() bool {
	return !math.IsNaN(r.Low+r.High) && !math.IsInf(r.Low, 0) && !math.IsInf(r.High, 0)
}

// check returns an error that says what is wrong with a range, which was written like this.
func (r Range) check(text string) error {
	switch {
	case !r.finite():
		return fmt.Errorf("%q is no range: both ends must be finite numbers", text)
	case r.Low >= r.High:
		return fmt.Errorf("%q is no range: the first number must be below the second", text)
	}
	return nil
}

// String is the range as ParseRange reads it.
func (r Range) String() string { return numberText(r.Low) + ".." + numberText(r.High) }

// numberText is the shortest text of v, without an exponent where that is usual.
func numberText(v float64) string {
	if v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e15) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// ParseValues reads a list of values as an owner writes it: separated by commas, with
// quotation marks around a value that contains a comma.
func ParseValues(text string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(strings.TrimSpace(text)))
	r.TrimLeadingSpace = true
	list, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%q is no list of values: write them with commas between, and quotation marks around one that has a comma in it", text)
	}
	if _, err := r.Read(); err != io.EOF {
		return nil, errors.New("write the values on one line")
	}
	for i, v := range list {
		list[i] = strings.TrimSpace(v)
	}
	return list, checkValues(list, text)
}

// checkValues returns an error that says what is wrong with values, which were written like
// this.
func checkValues(values []string, text string) error {
	if len(values) == 0 || slices.Contains(values, "") {
		return fmt.Errorf("%q is no list of values: one of them is empty", text)
	}
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			return fmt.Errorf("%q is there twice", v)
		}
	}
	return nil
}

// valuesText is the list as ParseValues reads it.
func valuesText(values []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(values) // a strings.Builder does not fail
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// Question asks the owner what the task should say about a column: the range of its
// numbers, or its possible values.
type Question struct {
	Column string
	Target bool
	// Values means that the answer is a list of values instead of a range.
	Values bool
	// Seen says what this file has. It is for the file's owner only.
	Seen string
	// Suggested is an answer made from the file; for numbers it is a wider, round
	// range, without those that lie far from all others. The owner decides whether to take it.
	Suggested string
	// rounded is an answer for a public file. It is as narrow as the file allows.
	rounded string
}

// Flag is the command line's flag for the answer, to be followed by COLUMN=ANSWER.
func (q Question) Flag() string {
	if q.Values {
		return "--values"
	}
	return "--range"
}

// flag is a flag of the command line that says something about the column, as a shell reads it.
func (c *Column) flag(name, value string) string {
	return "--" + name + " " + shellescape.Quote(c.Name+"="+value)
}

// question returns the question for a column of this kind.
func (c *Column) question(kind string, target bool) Question {
	q := Question{Column: c.Name, Target: target, Values: kind == Set, Seen: c.seen(kind)}
	if q.Values {
		q.Suggested = valuesText(c.Values())
		q.rounded = q.Suggested
	} else if c.Numbers > 0 {
		bulk, _ := c.bulk() // what lies apart from it counts as the nearest end
		q.Suggested, q.rounded = c.widened(bulk).String(), round(c.Min, c.Max).String()
	}
	return q
}

// seen says what a column has, in words.
func (c *Column) seen(kind string) string {
	text := ""
	if kind == Number {
		text = fmt.Sprintf("%d numbers from %s to %s", c.Numbers, short(c.Min), short(c.Max))
		if c.values != nil && len(c.values) <= mostShown {
			text += fmt.Sprintf(", %d different ones", len(c.values))
		}
		if apart := c.apart(); apart != "" {
			text += "; " + apart
		}
	} else {
		text = fmt.Sprintf("%d different values", c.distinctCells())
		if c.values != nil {
			text = fmt.Sprintf("%d values: %s", len(c.values), firstOf(c.Values(), mostShown))
		}
	}
	if empty := c.empty(kind, nil); empty != "" {
		text += "; " + empty
	}
	if c.faults.cells > 0 {
		text += "; " + cellsAre(c.faults.cells) + " what a spreadsheet shows for an error"
	}
	return text
}

// mostShown is how many values of a column are shown.
const mostShown = 12

// firstOf lists the first of the values, with quotation marks around one that has a comma in it.
func firstOf(values []string, n int) string {
	quoted := make([]string, min(len(values), n))
	for i := range quoted {
		quoted[i] = valuesText(values[i : i+1])
	}
	text := strings.Join(quoted, ", ")
	if more := len(values) - n; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// short is a number for people.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// widened is a range that hides the outermost numbers of r: a fifth wider at either end, and
// round. A range that is never below 0 stays so, shares and percentages that go beyond a half
// get their natural range, and the steps of a scale stay as they are.
func (c *Column) widened(r Range) Range {
	switch {
	case r.Low >= 0 && r.High > 0.5 && r.High <= 1:
		return Range{0, 1}
	case r.Low >= -1 && r.High <= 1 && max(-r.Low, r.High) > 0.5:
		return Range{-1, 1}
	case r.Low >= 0 && r.High > 50 && r.High <= 100:
		return Range{0, 100}
	}
	if len(c.values) <= mostShown && c.repeats() { // the numbers are the steps of a scale
		return round(r.Low, r.High)
	}
	const wider = 0.2
	more := wider * (r.High/2 - r.Low/2) * 2
	wide := round(r.Low-more, r.High+more)
	if r.Low >= 0 {
		wide.Low = max(wide.Low, 0)
	}
	return wide
}
