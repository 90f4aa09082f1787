package draft

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
)

// The kinds of features that a column can become, see [learner.Feature], and the kind
// of a column that is left out.
const (
	Number  = "number"
	Set     = "set"
	Key     = "key"
	Time    = "time"
	Text    = "text"
	Vector  = "vector"
	LeftOut = "none"
)

// Kinds lists the kinds.
func Kinds() []string { return []string{Number, Set, Key, Time, Text, Vector, LeftOut} }

// judgement is the kind of a column, with what its owner should know about it.
type judgement struct {
	kind  string
	log   bool // a number whose logarithm looks more useful
	coded bool // numbers that may be codes
	long  bool // a text of sentences
	// why is the reason to leave a column out; doubt is a reason to look at it again.
	why, doubt string
}

// judge decides from the cells of a column which kind of feature it is.
func (c *Column) judge() judgement {
	if why := c.useless(); why != "" {
		if other := c.otherwise(); other != "" {
			why = other
		}
		return judgement{kind: LeftOut, why: why}
	}
	j := c.judgeLooks()
	if other := c.otherwise(); other != "" && (j.kind == Set || j.kind == Key || j.kind == Text) {
		if j.kind != Set || !c.few() { // as words they are nothing to learn from
			return judgement{kind: LeftOut, why: other}
		}
		j.doubt = other
	}
	if j.doubt == "" && (j.kind == Set || j.kind == Key || j.kind == Text) {
		j.doubt = cmp.Or(c.halfNumbers(), c.halfVectors())
	}
	if j.doubt == "" && c.told.goes() {
		j.doubt = "each of its values goes with one of what is predicted; if nobody knows it before that, --leave-out it"
	}
	return j
}

// judgeLooks is judge for a column with some values.
func (c *Column) judgeLooks() judgement {
	switch {
	case c.Vectors == c.full() && c.Length > 1:
		return judgement{kind: Vector}
	case c.Times == c.full(), c.seconds():
		return judgement{kind: Time}
	case c.names():
		return judgement{kind: Key}
	case c.mostlyNumbers():
		return judgement{kind: Number, log: c.skewed(), coded: c.codes(), doubt: cmp.Or(c.strays(Number), c.written())}
	}
	return c.judgeText()
}

// strays describes the other cells of a column of numbers or times.
func (c *Column) strays(kind string) string {
	none := c.noNumber
	if kind == Time {
		none = c.noTime
	}
	if none.cells == 0 {
		return ""
	}
	return fmt.Sprintf("%s no %s, the first on line %d, %q: mend them or empty them, or their lines cannot be imported", cellsAre(none.cells), kind, none.line, none.first)
}

// written describes a column of numbers that may be names or dates, as they are written.
func (c *Column) written() string {
	switch {
	case c.dated.cells > 0 && c.dated.cells == c.Numbers:
		day, _ := time.Parse(dayDigits, c.dated.first)
		return fmt.Sprintf("its numbers look like dates, the first on line %d: write %s as %s, and they are learned from as times", c.dated.line, c.dated.first, day.Format(time.DateOnly))
	case c.maybeSeconds():
		return fmt.Sprintf("its numbers may be seconds or milliseconds since 1970: if they are times, take %s", c.flag("kind", Time))
	case c.zeros.cells > 0 && c.whole:
		kind := Text
		if c.values != nil {
			kind = Set
		}
		return fmt.Sprintf("some of its numbers begin with 0, as %s on line %d: if they are names, as postcodes are, take %s", c.zeros.first, c.zeros.line, c.flag("kind", kind))
	}
	return ""
}

// many is one of so many cells.
const many = 3

// halfVectors describes a column that is taken for texts though many of its cells are vectors.
func (c *Column) halfVectors() string {
	if many*c.Vectors < c.full() || c.noVector.cells == 0 {
		return ""
	}
	return fmt.Sprintf("of %d cells %d are vectors, and the first that is none is %q on line %d, and so all are taken for texts: mend or empty the others, if it is a vector",
		c.full(), c.Vectors, c.noVector.first, c.noVector.line)
}

// halfNumbers describes a column that is taken for texts though many of its cells are numbers.
func (c *Column) halfNumbers() string {
	if c.identifier() || many*c.Numbers < c.full() || c.noNumber.cells == 0 {
		return ""
	}
	return fmt.Sprintf("%s, and so all are taken for texts: mend or empty the others, if it is a number", c.mixed())
}

// mixed says how many cells are numbers, and which is the first that is none.
func (c *Column) mixed() string {
	return fmt.Sprintf("of %d cells %d are numbers, and the first that is none is %q on line %d", c.full(), c.Numbers, c.noNumber.first, c.noNumber.line)
}

// timeless says why the column cannot be one of times; "" if most of its cells may be some.
func (c *Column) timeless() string {
	if 2*c.noTime.cells <= c.full() {
		return ""
	}
	are := "none of its cells is one"
	if n := c.full() - c.noTime.cells; n > 0 {
		are = fmt.Sprintf("of its %d cells only %d may be one", c.full(), n)
	}
	return fmt.Sprintf("%s, and the first that is none is %q on line %d; write times as 2024-03-01 or 2024-03-01 08:30", are, c.noTime.first, c.noTime.line)
}

// cellsAre is the beginning of a sentence about n cells.
func cellsAre(n int) string {
	if n == 1 {
		return "1 cell is"
	}
	return fmt.Sprintf("%d cells are", n)
}

// useless says why a column tells nothing about a record; "" if it may tell something.
func (c *Column) useless() string {
	switch {
	case c.full() == 0:
		return "it is empty"
	case c.distinctCells() == 1 && c.Empty+c.faults.cells == 0:
		return "all its cells are the same"
	case c.almostTimes == c.full():
		return c.otherwise()
	case c.counting && c.Rows > 1:
		return "it numbers the lines"
	case c.unique() && (c.identifier() || c.Numbers == 0 && c.meanWords() == 1 && c.Times == 0 && c.Vectors == 0):
		return "each line has its own, so it says nothing about another line"
	case c.told.again():
		return "it is the column to predict in other words"
	}
	return ""
}

// judgeText is judge for a column of texts.
func (c *Column) judgeText() judgement {
	const sentence = 2.5
	some := c.few()
	switch {
	case some && c.repeats():
		return judgement{kind: Set}
	case c.meanWords() >= sentence && !c.listed:
		return judgement{kind: Text, long: true}
	case c.identifier() && !some:
		return judgement{kind: Key}
	case some, c.repeats(), c.values != nil && c.listed:
		return judgement{kind: Set}
	}
	return judgement{kind: Key}
}

// few reports whether the different values can be looked at one by one.
func (c *Column) few() bool { return c.values != nil && len(c.values) <= 12 }

// repeats reports whether there are few different values, each of which comes again and
// again.
func (c *Column) repeats() bool {
	const often = 3
	return c.values != nil && c.full() >= often*len(c.values)
}

// mostlyNumbers reports whether only a few cells are not numbers.
func (c *Column) mostlyNumbers() bool { return c.Numbers >= 9*(c.full()-c.Numbers) }

// names reports whether whole numbers are names of things that occur several times.
func (c *Column) names() bool {
	const again = 2
	return c.identifier() && c.Numbers == c.full() && c.full() >= again*c.distinctCells()
}

// codes reports whether numbers may be codes of something that is no amount: there are few, whole,
// and each comes again and again.
func (c *Column) codes() bool {
	const fewest = 3 // two have one line through them
	return c.Numbers == c.full() && c.whole && len(c.values) >= fewest && c.few() && c.repeats()
}

// identifier reports whether the column's name is that of an identifier: id, movie_id,
// movieId, uuid.
func (c *Column) identifier() bool {
	if c.Numbers > 0 && !c.whole {
		return false
	}
	words := wordsOf(c.Name)
	switch words[len(words)-1] {
	case "id", "ids", "uuid", "guid", "key", "code", "zip", "postcode", "isbn", "ean", "sku":
		return true
	}
	return false
}

// maybeSeconds reports whether all cells are whole numbers that may be seconds or milliseconds since
// 1970, from 1990 to 2100.
func (c *Column) maybeSeconds() bool {
	const year1990, year2100 = 631152000, 4102444800
	milli := c.Min >= 1000*year1990 && c.Max <= 1000*year2100
	return c.Numbers == c.full() && c.whole && (milli || c.Min >= year1990 && c.Max <= year2100)
}

// seconds is maybeSeconds of a column with the name of a time.
func (c *Column) seconds() bool {
	if !c.maybeSeconds() {
		return false
	}
	for _, word := range wordsOf(c.Name) {
		switch word {
		case "time", "timestamp", "ts", "date", "datetime", "when", "at", "unix", "epoch", "stamp":
			return true
		}
	}
	return false
}

// skewed reports whether nearly no number is below 0 and most lie in the lowest twentieth of
// their range, so that their logarithms are more useful.
func (c *Column) skewed() bool {
	const lowest = 20
	r, _ := c.bulk()
	return r.Low >= 0 && median(c.typical.kept)-r.Low < (r.High-r.Low)/lowest
}

// wordsOf returns the words of a column's name in small letters, at least one: those of
// "movieId" are "movie" and "id".
func wordsOf(name string) []string {
	var b strings.Builder
	small := false
	for _, r := range name {
		if small && unicode.IsUpper(r) || !unicode.IsLetter(r) {
			b.WriteByte(' ')
		}
		if unicode.IsLetter(r) {
			b.WriteRune(unicode.ToLower(r))
		}
		small = unicode.IsLower(r)
	}
	if words := strings.Fields(b.String()); len(words) > 0 {
		return words
	}
	return []string{""}
}

// classes reports whether the column, as a target, is one of classes: texts, or two
// numbers.
func (c *Column) classes() bool {
	return c.values != nil && (c.Numbers == 0 || len(c.values) <= 2) && !c.mostlyTimes()
}

func (c *Column) mostlyTimes() bool { return c.Times > 0 && c.Times >= c.full()-c.Times }

// round widens an interval to round numbers: multiples of 1, 2 or 5 times a power of
// ten, of which about four to ten fill it.
func round(low, high float64) Range {
	width := high - low
	if !(width > 0) {
		width = max(1, math.Abs(low))
	}
	const fill = 4
	step := math.Pow(10, math.Floor(math.Log10(width/fill)))
	for _, by := range []float64{5, 2} {
		if step*by <= width/fill {
			step *= by
			break
		}
	}
	r := Range{tidy(math.Floor(low/step), step), tidy(math.Ceil(high/step), step)}
	if r.Low == r.High {
		r.High = tidy(math.Ceil(high/step)+1, step)
	}
	if !(r.Low <= low && high <= r.High && r.Low < r.High) || math.IsInf(r.High-r.Low, 0) {
		return Range{low, high} // near the limits of float64
	}
	return r
}

// tidy is n steps without the rounding errors of binary fractions.
func tidy(n, step float64) float64 {
	if step < 1 {
		return n / math.Round(1/step)
	}
	return n * step
}
