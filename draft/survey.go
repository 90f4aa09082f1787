package draft

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"p2pnode/learner"
)

// Survey looks at the rows of a file, one after the other.
type Survey struct {
	Columns []*Column
	// Target and Node are the positions of the column to predict and of the column that
	// names the owner of a row; Node is -1 if there is none.
	Target, Node int
	Rows         int

	comma rune
}

// NodeColumn is the usual name of the column that names the owner of a row.
const NodeColumn = "node"

// NewSurvey returns an empty survey of a file with these columns, whose cells are
// separated by comma. node and target name columns; "" is the column [NodeColumn], if
// there is one, and the last of the others.
func NewSurvey(columns []string, comma rune, node, target string) (*Survey, error) {
	s := &Survey{Target: -1, Node: -1, comma: comma}
	for i, name := range columns {
		s.Columns = append(s.Columns, newColumn(name))
		switch {
		case name == "":
			return nil, fmt.Errorf("column %d has no name: give it one in the first line", i+1)
		case name == cmp.Or(node, NodeColumn):
			s.Node = i
		case name == target, target == "":
			s.Target = i
		}
	}
	switch {
	case node != "" && s.Node < 0:
		return nil, fmt.Errorf("there is no column %q; there are %s", node, someOf(columns))
	case target != "" && target == cmp.Or(node, NodeColumn):
		return nil, fmt.Errorf("column %q says whose record a line is, so it cannot be what is to be predicted", target)
	case s.Target < 0 && target != "":
		return nil, fmt.Errorf("there is no column %q; there are %s", target, someOf(columns))
	case s.Target < 0 || len(columns) < 2 || len(columns) == 2 && s.Node >= 0:
		return nil, fmt.Errorf("there are too few columns: what is to be predicted, and one at least to predict it from")
	}
	return s, nil
}

// Nameless reports whether the names of all columns are numbers, as if the file had no
// header.
func (s *Survey) Nameless() bool {
	return !slices.ContainsFunc(s.Columns, func(c *Column) bool {
		_, ok := number(c.Name, s.comma)
		return !ok
	})
}

// someOf lists names, the first ones of many.
func someOf(names []string) string {
	const shown = 30
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

// Add takes in the row that begins in a line, with a cell for each column.
func (s *Survey) Add(line int, cells []string) {
	s.Rows++
	for i, c := range s.Columns {
		c.add(line, cells[i], s.comma)
	}
	target := strings.TrimSpace(cells[s.Target])
	if learner.Blank(target) {
		return
	}
	y := s.orNaN(target)
	for i, c := range s.Columns {
		if cell := strings.TrimSpace(cells[i]); i != s.Target && i != s.Node && !learner.Blank(cell) {
			c.told.add(cell, target, s.orNaN(cell), y)
		}
	}
}

// orNaN is the number in a cell, or NaN.
func (s *Survey) orNaN(cell string) float64 {
	if v, ok := number(cell, s.comma); ok {
		return v
	}
	return math.NaN()
}
