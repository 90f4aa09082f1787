package draft

import "math"

// tells measures how much one column says about the target, to find a column that gives
// the answer away.
type tells struct {
	same, rows int // rows in which both cells are the same text, of all rows in which both are full
	// of numbers in both: Pearson's correlation, by the updates of Welford
	pairs                          float64
	meanX, meanY, varX, varY, both float64
	// meant is the one target that occurs with each value; nil if there are too many
	// values or one occurs with two targets.
	meant map[string]string
}

func newTells() tells { return tells{meant: map[string]string{}} }

// add takes in a cell and the target of its row, neither of them empty. Their numbers
// are NaN if they are not numbers.
func (t *tells) add(cell, target string, x, y float64) {
	t.rows++
	if cell == target {
		t.same++
	}
	if !math.IsNaN(x) && !math.IsNaN(y) {
		t.addPair(x, y)
	}
	if t.meant == nil {
		return
	}
	if before, known := t.meant[cell]; known && before != target || len(cell) > longestValue || len(t.meant) > mostValues {
		t.meant = nil
		return
	}
	t.meant[cell] = target
}

func (t *tells) addPair(x, y float64) {
	t.pairs++
	dx, dy := x-t.meanX, y-t.meanY
	t.meanX += dx / t.pairs
	t.meanY += dy / t.pairs
	t.varX += dx * (x - t.meanX)
	t.varY += dy * (y - t.meanY)
	t.both += dx * (y - t.meanY)
}

// enough is how many rows are needed to say something about two columns.
const enough = 20

// again reports whether the column repeats the target: it is equal, or a straight line
// of it.
func (t *tells) again() bool {
	const straight = 0.9999
	r := t.both / math.Sqrt(t.varX*t.varY)
	return t.rows >= enough && (t.same == t.rows || t.pairs == float64(t.rows) && math.Abs(r) > straight)
}

// goes reports whether each value, seen several times, always occurs with one target.
func (t *tells) goes() bool {
	const each = 4
	return t.rows >= enough && len(t.meant) > 1 && t.rows >= each*len(t.meant) && t.targets() > 1
}

// targets is the number of different targets that occur with the values.
func (t *tells) targets() int {
	different := map[string]bool{}
	for _, target := range t.meant {
		different[target] = true
	}
	return len(different)
}
