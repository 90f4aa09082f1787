package draft

import (
	"cmp"
	"fmt"
	"slices"

	"p2pnode/learner"
)

// edge keeps the outermost numbers of a column at one end, each once, with how many cells have it.
type edge struct {
	sign    float64   // 1 for the lowest; -1 for the highest, which are kept with the other sign
	numbers []float64 // from the outermost on
	cells   []int
	line    int // where the outermost is first
}

// mostOuter is how many numbers an edge keeps.
const mostOuter = 32

func (e *edge) add(line int, v float64) {
	v *= e.sign
	i, found := slices.BinarySearch(e.numbers, v)
	if i == 0 && !found {
		e.line = line
	}
	switch {
	case found:
		e.cells[i]++
	case i < mostOuter:
		e.numbers, e.cells = slices.Insert(e.numbers, i, v), slices.Insert(e.cells, i, 1)
		n := min(len(e.numbers), mostOuter)
		e.numbers, e.cells = e.numbers[:n], e.cells[:n]
	}
}

// far returns how many numbers, from the one at position from, lie apart from all others, which
// go on to end, and how many cells have these, at most this many: between them and the others is
// much more room than all others take, and still more if they are not one number in several cells,
// since the greatest of numbers that are small mostly and seldom large lie apart too.
func (e *edge) far(from int, end float64, most int) (numbers, cells int) {
	const much, more = 3, 30
	seen := 0
	for i := from; i+1 < len(e.numbers); i++ {
		if seen += e.cells[i]; seen > most {
			break
		}
		times := float64(more)
		if i == from && seen > 1 {
			times = much
		}
		if e.numbers[i+1]-e.numbers[i] > times*(end-e.numbers[i+1]) {
			numbers, cells = i+1-from, seen
		}
	}
	return numbers, cells
}

// standsIn reports whether the lowest number stands for no value, as -999 may in a column that is
// otherwise never negative: it is in several cells, and ten times as far from 0 as half of the
// numbers are. In a skewed column it need not lie apart from the others.
func (e *edge) standsIn(median float64, most int) bool {
	const far = 10
	return len(e.numbers) > 1 && e.numbers[1] >= 0 && median > 0 && e.numbers[0] < -far*median && e.cells[0] > 1 && e.cells[0] <= most
}

// bulk is where nearly all numbers of a column lie, and how many lie apart from these. Nine of
// ten are in it, and so are all of a column half of whose numbers are the same.
func (c *Column) bulk() (bulk Range, apart int) {
	const tenth = 10
	bulk = Range{c.Min, c.Max}
	sorted := slices.Sorted(slices.Values(c.typical.kept))
	if c.Numbers < enough || sorted[len(sorted)/4] == sorted[3*len(sorted)/4] {
		return bulk, 0
	}
	low, high := 0, 0
	if c.lowest.standsIn(sorted[len(sorted)/2], c.Numbers/tenth) {
		low, apart = 1, c.lowest.cells[0]
		bulk.Low = c.lowest.numbers[low]
	}
	for {
		l, lows := c.lowest.far(low, bulk.High, c.Numbers/tenth-apart)
		low, apart = low+l, apart+lows
		bulk.Low = c.lowest.numbers[low]
		h, highs := c.highest.far(high, -bulk.Low, c.Numbers/tenth-apart)
		high, apart = high+h, apart+highs
		bulk.High = -c.highest.numbers[high]
		if l+h == 0 {
			return bulk, apart
		}
	}
}

// apart says which numbers of a column lie apart from nearly all; "" if none.
func (c *Column) apart() string {
	bulk, n := c.bulk()
	if n == 0 {
		return ""
	}
	lie, one := "lie", c.first(c.lowest)
	if n == 1 {
		lie = "lies"
	}
	if c.Min == bulk.Low {
		one = c.first(c.highest)
	}
	return fmt.Sprintf("%d of %d numbers %s far from all others, as %s does, and these are between %s and %s", n, c.Numbers, lie, one, short(bulk.Low), short(bulk.High))
}

// first names the outermost number at an edge, and the line of its first cell.
func (c *Column) first(e edge) string {
	return fmt.Sprintf("%s on line %d", short(e.sign*e.numbers[0]), e.line)
}

// boundless says that the target's range is too wide to compute with, and which cell made it so.
func (u *use) boundless(r Range) error {
	far, narrower := max(-r.Low, r.High)/2, "LOW..HIGH"
	if bulk, _ := u.bulk(); max(-bulk.Low, bulk.High) < far {
		narrower = u.widened(bulk).String()
	}
	advice := fmt.Sprintf("give a narrower one with %s", u.flag("range", narrower))
	switch {
	case u.Max > far:
		advice = fmt.Sprintf("mend or empty the cell %s, or %s", u.first(u.highest), advice)
	case u.Min < -far:
		advice = fmt.Sprintf("mend or empty the cell %s, or %s", u.first(u.lowest), advice)
	}
	return fmt.Errorf("column %q: the range from %s to %s is too wide to compute with: %s", u.Name, short(r.Low), short(r.High), advice)
}

// outlying says which numbers lie far from nearly all and make the range of the task wide.
func (p *Plan) outlying(u *use) string {
	r, ranged := p.wishes.Ranges[u.Name]
	bulk, n := u.bulk()
	if u.kind != Number || n == 0 || ranged && (u.Min == bulk.Low || r.Low > u.Min) && (u.Max == bulk.High || r.High < u.Max) {
		return ""
	}
	return fmt.Sprintf("%s: empty such a cell if it stands for no value, or give %s, beyond which a number counts as the nearest end", u.apart(), u.flag("range", u.widened(bulk).String()))
}

// clipped says that nearly all numbers lie outside of the range that was given.
func (p *Plan) clipped(u *use) string {
	const nearly = 0.9
	r, ranged := p.wishes.Ranges[u.Name]
	if u.kind != Number || !ranged || u.Numbers == 0 {
		return ""
	}
	outside := 0
	for _, v := range u.typical.kept {
		if v < r.Low || v > r.High {
			outside++
		}
	}
	all := "nearly all"
	switch {
	case u.Max < r.Low || u.Min > r.High:
		all = "all"
	case float64(outside) < nearly*float64(len(u.typical.kept)):
		return ""
	}
	bulk, _ := u.bulk()
	return fmt.Sprintf("%s of its numbers lie outside of the range %v, and count as its nearest end: nearly nothing is left to learn. They go from %s to %s, and %s has room for them",
		all, r, short(bulk.Low), short(bulk.High), u.flag("range", u.widened(bulk).String()))
}

// ranged says what is wrong with the range of numbers.
func (p *Plan) ranged(u *use, target *learner.Target) string {
	return cmp.Or(p.clipped(u), p.outlying(u), p.offCenter(u, target))
}
