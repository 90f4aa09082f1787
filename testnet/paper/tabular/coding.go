package tabular

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// column is a feature and where the sheet has it.
type column struct {
	learner.Feature
	at int
}

// coding turns rows into records. With public ranges it is a public function of one
// row; then what a record is depends on nobody else's.
type coding struct {
	sheet   *testnet.Sheet
	columns []column
	target  target
	square  float64 // of the norm of a usual row before it is scaled to 1
	missing int     // empty cells among the features, read as the middle of a range or as no value
	outside int     // targets outside the declared range, taken for its nearest end
	clamped int     // numbers among the features outside their range, taken for its nearest end
}

// blank are the cells that say there is no value.
var blank = []string{"", "na", "n/a", "nan", "null", "none", "?"}

func isBlank(cell string) bool { return slices.Contains(blank, strings.ToLower(cell)) }

// number reads a cell.
func number(s *testnet.Sheet, cell string) (float64, bool) {
	v, err := strconv.ParseFloat(s.Number(cell), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// names are those of the coordinates.
func (c *coding) names() []string {
	var names []string
	for _, f := range c.columns {
		switch f.Kind {
		case "set":
			for _, v := range f.Values {
				names = append(names, f.Name+"="+v)
			}
		case "range":
			for i := range len(f.Edges) + 1 {
				names = append(names, fmt.Sprintf("%s in interval %d", f.Name, i+1))
			}
		default:
			names = append(names, f.Name)
		}
	}
	return names
}

// usual is the mean square norm of a usual row before scaling: one value of a set
// counts 1, a number 1/3, which is the mean square of one that is uniform in its
// range.
func usual(columns []column) float64 {
	var square float64
	for _, f := range columns {
		if f.Kind == "number" {
			square += 1. / 3
		} else {
			square++
		}
	}
	return max(1, square)
}

// features returns the coordinates of a row before the constant: numbers taken to
// [-1, 1], or left alone if their range is [0, 1]; a coordinate of 0 or 1 for each
// value of a set and each interval; all scaled, and scaled down to norm 1 where the
// norm is larger.
func (c *coding) features(row []string) ([]float64, error) {
	var x []float64
	for i := range c.columns {
		f := &c.columns[i]
		cell := strings.TrimSpace(row[f.at])
		width := f.Width()
		at := len(x)
		x = append(x, make([]float64, width)...)
		if isBlank(cell) && !slices.Contains(f.Values, cell) {
			c.missing++
			continue
		}
		if err := c.set(x[at:], f, cell); err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	floats.Scale(1/math.Sqrt(c.square), x)
	if norm := floats.Norm(x, 2); norm > 1 {
		floats.Scale(1/norm, x)
	}
	return x, nil
}

// set fills the coordinates of one cell.
func (c *coding) set(x []float64, f *column, cell string) error {
	if f.Kind == "set" {
		for name := range strings.SplitSeq(cell, "|") {
			i := slices.Index(f.Values, strings.TrimSpace(name))
			if i < 0 {
				return fmt.Errorf("%q is none of the values declared", name)
			}
			x[i] = 1
		}
		return nil
	}
	v, ok := number(c.sheet, cell)
	if !ok {
		return fmt.Errorf("%q is not a finite number", cell)
	}
	if f.Kind == "range" {
		i, found := slices.BinarySearch(f.Edges, v)
		if found {
			i++
		}
		x[i] = 1
		return nil
	}
	if v < f.Min || v > f.Max {
		c.clamped++
		v = min(max(v, f.Min), f.Max)
	}
	if f.Min != 0 || f.Max != 1 {
		v = 2*(v-f.Min)/(f.Max-f.Min) - 1
	}
	x[0] = v
	return nil
}

// task is a task of records of this coding: without the constants of learning.
func (c *coding) task(constant float64) *learner.Task {
	t := &learner.Task{Name: c.sheet.File, Constant: constant, Loss: c.target.loss(), Target: c.target.declared()}
	for _, name := range c.names() {
		t.Features = append(t.Features, learner.Feature{Name: name, Kind: "number", Min: -1, Max: 1})
	}
	return t
}

// record is a row with the task's constant. A row without a target has none.
func (c *coding) record(row []string, constant float64) (r learner.Record, ok bool, err error) {
	cell := strings.TrimSpace(row[c.target.at])
	if isBlank(cell) {
		return r, false, nil
	}
	if r.Y, err = c.target.encode(c.sheet, cell); err != nil {
		return r, false, fmt.Errorf("column %q: %w", c.target.name, err)
	}
	if v, ok := number(c.sheet, cell); ok && c.target.classes == nil && (v < c.target.min || v > c.target.max) {
		c.outside++
	}
	if r.X, err = c.features(row); err != nil {
		return r, false, err
	}
	r.X = append(r.X, constant)
	return r, true, nil
}
