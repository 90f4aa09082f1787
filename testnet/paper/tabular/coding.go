package tabular

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// column is a feature and its position in the sheet.
type column struct {
	learner.Feature
	at int
}

// coding turns rows into records, as every node of the task does: see
// [learner.Task.Encode]. With public ranges it is a public function of one row: a
// record then depends on nobody else's rows.
type coding struct {
	sheet     *testnet.Sheet
	declared  *learner.Task // the user's task; nil: the fields below say what is learned from what
	columns   []column
	target    target
	usualNorm float64       // that of the task; 0: what the kinds of the columns say
	noted     learner.Tally // the cells of records that were not taken unchanged
}

// number reads a cell.
func number(s *testnet.Sheet, cell string) (float64, bool) {
	v, err := strconv.ParseFloat(s.Number(cell), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// task is a task for records of this coding, with learner diffusion and the usual value
// of everything that does not concern the coding.
func (c *coding) task() *learner.Task {
	t := learner.Task{Name: c.sheet.File, UsualNorm: c.usualNorm, Target: c.target.declared()}
	said := learner.Keys{"usual_norm": true, "target.center": true}
	for _, f := range c.columns {
		t.Features = append(t.Features, f.Feature)
	}
	if d := c.declared; d != nil {
		t = learner.Task{
			Name: d.Name, Features: d.Features, Target: d.Target, Loss: d.Loss, Threshold: d.Threshold, Smoothing: d.Smoothing,
			Normalise: d.Normalise, UsualNorm: d.UsualNorm, Constant: d.Constant, Map: d.Map,
		}
		for _, key := range []string{"loss", "threshold", "smoothing", "normalise", "constant", "map.features", "map.width"} {
			said[key] = true
		}
	}
	return t.Complete(said, learner.Expected{})
}

// cells finds the cells of a row by their columns, numbers with a decimal point. Rows must be asked
// in order; what is wrong with a mark in a number is added to wrong.
func (c *coding) cells(t *learner.Task) func(row int, wrong *error) func(column string) (string, bool) {
	at, numeric := map[string]int{}, map[string]bool{}
	for i, name := range c.sheet.Columns {
		if t.Reads(name) {
			at[name], numeric[name] = i, t.Numeric(name)
		}
	}
	return func(row int, wrong *error) func(string) (string, bool) {
		return func(column string) (string, bool) {
			i, ok := at[column]
			switch {
			case !ok:
				return "", false
			case numeric[column]:
				text, err := c.sheet.NumberAt(row, i)
				*wrong = cmp.Or(*wrong, err)
				return text, true
			}
			return c.sheet.Rows[row][i], true
		}
	}
}

// labelled reports whether a row has a value to predict.
func (c *coding) labelled(row []string) bool {
	cell := strings.TrimSpace(row[c.target.at])
	return !learner.Blank(cell) || slices.Contains(c.target.classes, cell)
}

// notes say which cells were not taken unchanged, and in which columns.
func (c *coding) notes() (notes []string) {
	columns := c.task().Tally(c.noted)
	features, target := columns, []learner.ColumnTally(nil)
	if n := len(columns); n > 0 && columns[n-1].Column == c.target.name {
		features, target = columns[:n-1], columns[n-1:]
	}
	clamped := func(c learner.ColumnTally) int { return c.Clamped }
	for _, note := range []string{
		testnet.CellNote(features, func(c learner.ColumnTally) int { return c.Empty }, "empty and taken for the middle of the column's range, or for none of its values"),
		testnet.CellNote(features, func(c learner.ColumnTally) int { return c.Unknown }, "none of the values declared and taken for none"),
		testnet.CellNote(features, clamped, "outside the range of a column to learn from and taken for its nearest end"),
		testnet.CellNote(target, clamped, "outside the declared range of what is to be predicted and taken for its nearest end, in the test too"),
	} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}
