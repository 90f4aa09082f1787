package tabular

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// values are the different cells of a column, blanks left out.
type values struct {
	counts   map[string]int
	numbers  []float64 // of every cell that is a number, sorted
	min, max float64   // of these
	texts    int       // number of cells that are not numbers
	lines    []int     // the first lines of those cells
	counting bool      // the cells go up by 1 from line to line
}

func gather(s *testnet.Sheet, at int) *values {
	v := &values{counts: map[string]int{}, counting: true}
	last := math.NaN()
	for i, row := range s.Rows {
		cell := strings.TrimSpace(row[at])
		if learner.Blank(cell) {
			v.counting = false
			continue
		}
		v.counts[cell]++
		n, ok := number(s, cell)
		if !ok {
			v.texts++
			v.counting = false
			if len(v.lines) < 5 {
				v.lines = append(v.lines, s.Lines[i])
			}
			continue
		}
		v.counting = v.counting && (i == 0 || n == last+1)
		last = n
		v.numbers = append(v.numbers, n)
	}
	slices.Sort(v.numbers)
	if len(v.numbers) > 0 {
		v.min, v.max = v.numbers[0], v.numbers[len(v.numbers)-1]
	}
	return v
}

// numeric reports whether the column contains numbers, except for a few cells.
func (v *values) numeric() bool { return len(v.numbers) >= 9*v.texts && len(v.numbers) > 0 }

// amounts reports whether the numbers are to be predicted as amounts.
func (v *values) amounts() bool {
	if v.texts > 0 {
		return v.numeric() && len(v.counts) > mostClasses
	}
	whole := !slices.ContainsFunc(v.numbers, func(n float64) bool { return n != math.Trunc(n) })
	return len(v.counts) >= manyNumbers || len(v.counts) > 2 && !whole
}

func (v *values) notNumbers(s *testnet.Sheet, name string) error {
	return fmt.Errorf("tabular: %s: the column %q is of numbers, but %d cells are none, first on lines %v: mend them, or leave them empty", s.File, name, v.texts, v.lines)
}

// sorted are the different values, numbers by size.
func (v *values) sorted() []string {
	size := map[string]float64{}
	list := slices.Collect(maps.Keys(v.counts))
	for _, cell := range list {
		var n float64
		if _, err := fmt.Sscan(cell, &n); err == nil {
			size[cell] = n
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b)) })
	return list
}

// mean is that of the numbers.
func (v *values) mean() float64 { return stat.Mean(v.numbers, nil) }

// between is the range of all numbers except a share at each end, or of all numbers if
// that range is a single value.
func (v *values) between(share float64) (low, high float64) {
	n := len(v.numbers)
	cut := int(share * float64(n))
	if low, high = v.numbers[cut], v.numbers[n-1-cut]; low == high {
		return v.min, v.max
	}
	return low, high
}
