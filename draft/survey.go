package draft

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"p2pnode/csvfile"
	"p2pnode/learner"
)

// Survey looks at the rows of a file, one after the other.
type Survey struct {
	Columns []*Column
	// Target and Node are the positions of the column to predict and of the column that
	// names the owner of a row; Node is -1 if there is none.
	Target, Node int
	Rows         int
	// Classes are what the owner has said that the target can be, if that is known before the first
	// row: a word as none is a value then, see [learner.Blank].
	Classes []string
	// Total is the line of the first row that looks like the total of others, see
	// [csvfile.Total]; 0: none does.
	Total int

	comma rune
	rows  sample[[]string] // cells of some rows with something to predict
	named int              // rows with something to predict that name an owner
	owned map[uint64]int   // rows with something to predict of the first owners, by the hash of their names
	// ownerless are the cells that should name an owner and are empty.
	ownerless others
}

const (
	// Measured is how many records testnet needs of a person to measure models on one of them.
	Measured = learner.Fold
	// mostOwned is of how many owners rows are counted.
	mostOwned = 1 << 16
)

// sampled is how many rows are kept, to see what the target follows.
const sampled = 1024

// NodeColumn is the usual name of the column that names the owner of a row.
const NodeColumn = "node"

// NewSurvey returns an empty survey of a file with these columns, whose cells are
// separated by comma. node and target name columns; "" is the column [NodeColumn], if
// there is one, and the last of the others.
func NewSurvey(columns []string, comma rune, node, target string) (*Survey, error) {
	s := &Survey{Target: -1, Node: -1, comma: comma, rows: newSample[[]string](sampled), owned: map[uint64]int{}}
	for i, name := range columns {
		s.Columns = append(s.Columns, newColumn(name, i))
	}
	values := ""
	if s.Nameless() {
		values = "; the first line seems to have values already: if so, write a line above it that names the columns"
	}
	for i, name := range columns {
		switch {
		case name == "" && i == len(columns)-1 && values == "":
			return nil, fmt.Errorf("column %d, the last, has no name: if the sign between cells stands at the end of each line too, take it out there; else give the column a name in the first line", i+1)
		case name == "" && i == 0 && values == "": // as that of an index; a plan leaves it out
		case name == "":
			return nil, fmt.Errorf("column %d has no name: give it one in the first line%s", i+1, values)
		case name == cmp.Or(node, NodeColumn):
			s.Node = i
		case name == target, target == "":
			s.Target = i
		}
	}
	switch {
	case node != "" && s.Node < 0:
		return nil, fmt.Errorf("there is no column %q; there are %s%s", node, csvfile.Enumerate(columns, ", "), cmp.Or(values, csvfile.Meant(node, columns)))
	case target != "" && target == cmp.Or(node, NodeColumn):
		return nil, fmt.Errorf("column %q says whose record a line is, so it cannot be what is to be predicted", target)
	case s.Target < 0 && target != "":
		return nil, fmt.Errorf("there is no column %q; there are %s%s", target, csvfile.Enumerate(columns, ", "), cmp.Or(values, csvfile.Meant(target, columns)))
	case len(columns) == 1 && strings.ContainsAny(columns[0], ",;\t"):
		return nil, fmt.Errorf("the first line is one column, with the signs between cells within quotation marks: take the marks around whole lines out")
	case s.Target < 0 || len(columns) < 2 || len(columns) == 2 && s.Node >= 0:
		return nil, fmt.Errorf("there are too few columns: what is to be predicted, and one at least to predict it from; commas, semicolons or tabs separate the cells of a line")
	}
	s.Columns[s.Target].target = true
	return s, nil
}

// Owners returns how many different owners the rows with something to predict name, and how many of
// these rows each of them has on average; 0 and 0 if no column names them. The number is
// approximate above 65,536.
func (s *Survey) Owners() (owners, records int) {
	if s.Node < 0 || s.Rows == 0 {
		return 0, 0
	}
	owners = max(1, len(s.owned))
	if owners == mostOwned {
		owners = max(owners, s.Columns[s.Node].distinctCells())
	}
	return owners, max(1, s.named/owners)
}

// answered is the number of rows with something to predict.
func (s *Survey) answered() int { return s.rows.seen }

// Measurable returns how many people, at most this many, have [Measured] records or more; 0 if
// fewer than two have. If no column names the owners, it is among how many people the rows can be
// dealt out.
func (s *Survey) Measurable(most int) (people int) {
	if s.Node < 0 {
		people = s.answered() / Measured
	}
	for _, rows := range s.owned {
		if rows >= Measured {
			people++
		}
	}
	if people < 2 && len(s.owned) < mostOwned { // else there may be others
		return 0
	}
	return min(max(people, 2), most)
}

// Nameless reports whether the columns are named as if the file had no header: all names
// are numbers, or one is a time or a number with a fraction.
func (s *Survey) Nameless() bool {
	numbers := 0
	for _, c := range s.Columns {
		_, ok := number(c.Name, s.comma)
		_, timed := timeOf(c.Name)
		switch {
		case ok && strings.Contains(csvfile.Number(s.comma, c.Name), "."), timed, otherTime(c.Name):
			return true
		case ok:
			numbers++
		}
	}
	return numbers == len(s.Columns)
}

// Add takes in the row that begins in a line, with a cell for each column of [NewSurvey],
// as [csvfile.Reader.Each] gives it. It panics at a row with fewer cells.
func (s *Survey) Add(line int, cells []string) {
	s.Rows++
	if s.Total == 0 && csvfile.Total(cells) {
		s.Total = line
	}
	for i, c := range s.Columns {
		c.add(line, cells[i], s.comma)
	}
	if s.Node >= 0 && strings.TrimSpace(cells[s.Node]) == "" {
		s.ownerless.add(line, "")
	}
	target := strings.TrimSpace(cells[s.Target])
	if nothing(target) && !slices.Contains(s.Classes, target) {
		return
	}
	if s.Node >= 0 {
		s.addOwner(strings.TrimSpace(cells[s.Node]))
	}
	if row := s.rows.next(); row != nil {
		*row = kept(cells)
	}
	y := s.orNaN(target)
	for i, c := range s.Columns {
		if cell := strings.TrimSpace(cells[i]); i != s.Target && i != s.Node && !nothing(cell) {
			c.told.add(cell, target, s.orNaN(cell), y)
		}
	}
}

func (s *Survey) addOwner(name string) {
	if name == "" {
		return
	}
	s.named++
	who := hash(name)
	if rows := s.owned[who]; rows > 0 || len(s.owned) < mostOwned {
		s.owned[who] = rows + 1
	}
}

// nothing reports whether a cell says nothing: it is empty, or shows an error.
func nothing(cell string) bool { return learner.Blank(cell) || csvfile.Fault(cell) }

// orNaN is the number in a cell, or NaN.
func (s *Survey) orNaN(cell string) float64 {
	if v, ok := number(cell, s.comma); ok {
		return v
	}
	return math.NaN()
}

// point is a number and the target of its row: 1 or 0 for classes, for one and all others.
type point struct{ x, y float64 }

// along are the numbers of a column, or its times in seconds since 1970, of the sampled rows, with
// what a model learns of the target.
func (s *Survey) along(c *Column, target *learner.Target) (points []point) {
	for _, cells := range s.rows.kept {
		x := s.orNaN(cells[c.at])
		if when, is := timeOf(cells[c.at]); is {
			x = float64(when.Unix())
		}
		if y := s.measured(cells[s.Target], target); !math.IsNaN(x) && !math.IsNaN(y) {
			points = append(points, point{x, y})
		}
	}
	return points
}

// measured is a target as a number: a class is that of the first sampled row or another. A cell that
// is no number, where numbers are predicted, is NaN.
func (s *Survey) measured(cell string, target *learner.Target) float64 {
	y := s.orNaN(cell)
	switch {
	case target.Classes != nil && cell == s.rows.kept[0][s.Target]:
		return 1
	case target.Classes != nil:
		return 0
	case target.Min < target.Max:
		y = min(max(y, target.Min), target.Max)
	}
	return target.Coded(y)
}

// longestKept is the longest cell that a sampled row keeps: longer ones are texts or vectors, which no
// line is drawn along.
const longestKept = 256

// kept are the cells of a row as a sample keeps them, in memory of their own.
func kept(cells []string) []string {
	own := make([]string, len(cells))
	for i, cell := range cells {
		if len(cell) <= longestKept {
			own[i] = strings.Clone(strings.TrimSpace(cell))
		}
	}
	return own
}
