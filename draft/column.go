package draft

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"p2pnode/csvfile"
	"p2pnode/learner"
)

// Column describes the cells seen of one column. It takes the same memory for any
// number of rows.
type Column struct {
	Name string
	at   int // its position
	Rows int
	// Empty counts cells that say that there is no value, see [learner.Blank]. The
	// others are numbers or not; some of those that are not are times or vectors.
	Empty, Numbers, Times, Vectors int
	Min, Max                       float64 // of the numbers
	lowest, highest                edge
	// Length is the length of the vectors; 0 if they differ.
	Length int
	// noNumber are the cells that are not numbers, noTime those that are neither numbers nor times, and
	// noVector those that are neither numbers nor vectors.
	noNumber, noTime, noVector others
	// blanks are the empty cells that say so by a word, as none, by their spelling.
	blanks map[string]others
	// faults are what a spreadsheet shows for errors, see [csvfile.Fault]; nothing else is
	// known of these cells.
	faults others
	// unreadable are the cells that are not text in UTF-8.
	unreadable others
	// lacking is the sum of a hash of each line without a value: columns of which it is one lack the
	// same rows.
	lacking uint64
	// zeros are numbers of digits alone that begin with 0, and dated those that are a date without
	// signs, as 20240301.
	zeros, dated others

	// pointed counts numbers with a point, and grouped those of them whose point may stand
	// between thousands, in a file whose decimal sign may be the comma. firstGrouped is the
	// first of them, with its line.
	pointed, grouped int
	firstGrouped     string
	// misread are the numbers that an import refuses, since marks in others have other meanings.
	marks        csvfile.Marks
	misread      int
	firstMisread string // its line, and what is wrong

	// numbers of cells that would be times or numbers if they were written in another
	// way
	almostTimes, almostNumbers int

	dates    int  // times that contain only the day
	whole    bool // all numbers are whole
	counting bool // each number is one more than that of the row before
	last     float64
	typical  sample[float64]
	distinct sketch
	// values counts the different texts (for lists, their items); nil if there are too
	// many to be a set.
	values map[string]int
	target bool // it is predicted, so that a cell is one value, whatever is in it
	listed bool // some cell lists several
	words  int  // words of all cells
	told   tells
}

// others are cells that are not of a kind, the first with its line.
type others struct {
	cells, line int
	first       string
}

func (o *others) add(line int, cell string) {
	if o.cells++; o.cells == 1 {
		o.line, o.first = line, shortened(cell)
	}
}

// shortened is a cell for a message.
func shortened(cell string) string {
	const most = 30 // letters
	if letters := []rune(cell); len(letters) > most {
		return string(letters[:most]) + "..."
	}
	return strings.Clone(cell)
}

// Bounds on what is kept about a column.
const (
	// mostValues is the largest number of different values of a set or a target.
	mostValues = 64
	// longestValue is the longest value; longer ones are texts.
	longestValue = 64
)

func newColumn(name string, at int) *Column {
	return &Column{
		Name: name, at: at, Min: math.Inf(1), Max: math.Inf(-1), whole: true, counting: true,
		lowest: edge{sign: 1}, highest: edge{sign: -1},
		typical: newSample[float64](samples), values: map[string]int{}, blanks: map[string]others{}, told: newTells(),
	}
}

// distinctCells is the number of different cells that are not empty; it is approximate above
// a thousand or so.
func (c *Column) distinctCells() int { return c.distinct.count() }

// full is the number of cells with a value.
func (c *Column) full() int { return c.Rows - c.Empty - c.faults.cells }

// add takes in a cell of a file whose cells are separated by comma.
func (c *Column) add(line int, cell string, comma rune) {
	c.Rows++
	cell = strings.TrimSpace(cell)
	if nothing(cell) {
		c.lacking += mixBits(uint64(line))
	}
	if learner.Blank(cell) {
		c.Empty++
		c.addBlank(line, cell)
		c.counting = false
		return
	}
	if csvfile.Fault(cell) {
		c.faults.add(line, cell)
		c.counting = false
		return
	}
	if !utf8.ValidString(cell) {
		c.unreadable.add(line, "")
	}
	c.distinct.add(cell)
	c.words += len(strings.Fields(cell))
	if v, ok := number(cell, comma); ok {
		c.addNumber(line, v)
		c.addDigits(line, cell)
		if comma != ',' {
			c.addMarked(line, cell, comma)
		}
	} else {
		c.addText(line, cell, comma)
	}
	c.addValues(cell)
}

func (c *Column) addBlank(line int, cell string) {
	if cell == "" {
		return
	}
	said := c.blanks[cell] // of few spellings
	said.add(line, cell)
	c.blanks[said.first] = said
}

// unsaid is the number of empty cells without those whose word is one of these values, and the word
// that comes first.
func (c *Column) unsaid(values []string) (empty int, word others) {
	empty = c.Empty
	for cell, said := range c.blanks {
		switch {
		case slices.Contains(values, cell):
			empty -= said.cells
		case word.cells == 0 || said.line < word.line:
			word = said
		}
	}
	return empty, word
}

// empty says how many cells are empty, and of a set that has these values also which of them has a
// word; "" if none are.
func (c *Column) empty(kind string, values []string) string {
	empty, word := c.unsaid(values)
	switch {
	case empty == 0:
		return ""
	case kind != Set || word.cells == 0:
		return cellsAre(empty) + " empty"
	}
	return fmt.Sprintf("%s empty or a word for that, as %q on line %d: name that word too with --values if it is a value", cellsAre(empty), word.first, word.line)
}

// number returns the number in a cell if it is a finite number.
func number(cell string, comma rune) (float64, bool) {
	return learner.ParseNumber(csvfile.Number(comma, cell))
}

func (c *Column) addNumber(line int, v float64) {
	c.counting = c.counting && (c.Rows == 1 || v == c.last+1)
	c.last = v
	c.Numbers++
	c.Min, c.Max = min(c.Min, v), max(c.Max, v)
	c.lowest.add(line, v)
	c.highest.add(line, v)
	c.whole = c.whole && v == math.Trunc(v)
	c.typical.add(v)
}

// addDigits looks at a number that may be a name, as a postcode is, or a date.
func (c *Column) addDigits(line int, cell string) {
	const shortest = 3 // of a name; months and hours may begin with 0 too
	if strings.Trim(cell, "0123456789") != "" {
		return
	}
	if cell[0] == '0' && len(cell) >= shortest {
		c.zeros.add(line, cell)
	}
	if len(cell) != len(dayDigits) {
		return
	}
	if day, err := time.Parse(dayDigits, cell); err == nil && day.Year() >= 1900 && day.Year() < 2100 {
		c.dated.add(line, cell)
	}
}

// dayDigits is the layout of a date without signs.
const dayDigits = "20060102"

// addMarked looks at the point or comma of a number whose decimal sign may be the comma.
func (c *Column) addMarked(line int, cell string, comma rune) {
	if _, err := c.marks.Number(comma, line, cell); err != nil {
		if c.misread++; c.misread == 1 {
			c.firstMisread = fmt.Sprintf("that on line %d %v", line, err)
		}
	}
	if !strings.Contains(cell, ".") {
		return
	}
	c.pointed++
	if plain, grouped := learner.Ungrouped(cell); grouped {
		if c.grouped++; c.grouped == 1 {
			c.firstGrouped = fmt.Sprintf("%s on line %d: if it means %s", cell, line, plain)
		}
	}
}

func (c *Column) addText(line int, cell string, comma rune) {
	c.counting = false
	c.noNumber.add(line, cell)
	switch almost(cell, comma) {
	case Time:
		c.almostTimes++
	case Number:
		c.almostNumbers++
	}
	if _, is := timeOf(cell); is {
		c.Times++
		if len(cell) == len(time.DateOnly) {
			c.dates++
		}
	} else {
		c.noTime.add(line, cell)
	}
	if n := vectorLength(cell); n > 0 {
		if c.Vectors++; c.Vectors == 1 {
			c.Length = n
		} else if c.Length != n {
			c.Length = 0
		}
	} else {
		c.noVector.add(line, cell)
	}
}

// addValues counts the values that a cell lists.
func (c *Column) addValues(cell string) {
	switch {
	case c.values == nil:
		return
	case c.target:
		c.addValue(cell)
		return
	}
	c.listed = c.listed || strings.Contains(cell, "|")
	for value := range strings.SplitSeq(cell, "|") {
		c.addValue(strings.TrimSpace(value))
	}
}

// addValue counts a value, until there are too many to be a set.
func (c *Column) addValue(value string) {
	if c.values == nil {
		return
	}
	if value != "" {
		c.values[value]++
	}
	if len(value) > longestValue || len(c.values) > mostValues {
		c.values = nil
	}
}

// Values are the different values, numbers by size, or nil if there are more than a set
// may have.
func (c *Column) Values() []string {
	order := func(a, b string) int {
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		if errX == nil && errY == nil {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(a, b)
	}
	if c.values == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(c.values), order)
}

// meanWords is the mean number of words in a cell.
func (c *Column) meanWords() float64 { return float64(c.words) / max(1, float64(c.full())) }

// unique reports whether no value occurs twice, as far as a sketch can tell, among
// enough rows to say so.
func (c *Column) unique() bool {
	const enough, nearly = 20, 0.95
	return c.full() >= enough && float64(c.distinctCells()) >= nearly*float64(c.full())
}

// timeOf is the time that a cell writes out, on the clocks of UTC.
func timeOf(cell string) (time.Time, bool) { return learner.ParseTime(cell, time.UTC) }

// vectorLength is the number of numbers in a cell that contains an embedding, as
// [learner.VectorLength] reads it; 0 for other cells, also for short words that look like one.
func vectorLength(cell string) int {
	const shortest = 8 // numbers in base64
	if !strings.HasPrefix(cell, "[") && (len(cell) < shortest*4*4/3 || strings.ContainsAny(cell, " -_:|")) {
		return 0
	}
	return learner.VectorLength(cell)
}
