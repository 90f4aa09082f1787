package accountant

import (
	"math"
	"sort"
)

// part is count identical steps as one direction of a composition sees them.
type part struct {
	forward, backward profile
	count             int
}

// lattice is a privacy loss distribution on the multiples of a spacing: mass[i] is
// the probability of the loss spacing (first+i), infinite that of an infinite
// loss. Together they are 1, to rounding; single masses far below rounding may be
// negative.
type lattice struct {
	first    int
	mass     []float64
	infinite float64
}

// discretise returns the least distribution on the multiples of spacing whose
// profile is nowhere below the part's, but for losses so large or so small that
// delta grows by cut at most when they are made larger: infinite, or the smallest
// of the grid.
//
// A profile is a convex function of x = e^eps, and that of a distribution on a
// grid is linear between its points: the least one above delta connects the dots
// (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). Its mass under Q at eps_i
// is the change of slope there, e^eps times that under P:
//
//	p_i = (d_{i-1}-d_i)/(1-e^-h) - (d_i-d_{i+1})/(e^h-1),
//
// where beyond the last dot the profile is constant and the mass infinite. This
// is the split of each cell's mass between its two ends that keeps P and Q. Losses
// below zero are those of the other direction, whose masses are those under Q: it
// keeps the digits that differences of numbers near 1 would lose.
func (p part) discretise(spacing, cut float64) lattice {
	highest, lowest := p.cells(spacing, cut)
	above, below := dots(p.forward, spacing, highest), dots(p.backward, spacing, lowest)
	growth, shrink := math.Expm1(spacing), -math.Expm1(-spacing)
	masses := func(d []float64, i int) float64 { // at i > 0
		m := (d[i-1] - d[i]) / shrink
		if i+1 < len(d) {
			m -= (d[i] - d[i+1]) / growth
		}
		return m
	}
	l := lattice{first: -lowest, mass: make([]float64, lowest+1+highest), infinite: above[highest]}
	for i := 1; i <= lowest; i++ {
		l.mass[lowest-i] = math.Exp(-spacing*float64(i)) * masses(below, i)
	}
	for i := 1; i <= highest; i++ {
		l.mass[lowest+i] = masses(above, i)
	}
	// The changes of slope on both sides of 0 meet at 1 - delta(0).
	l.mass[lowest] = 1 - above[0] - (above[0]-above[1])/growth - (below[0]-below[1])/growth
	for len(l.mass) > 1 && math.Abs(l.mass[0]) < minMass {
		l.mass, l.first = l.mass[1:], l.first+1
	}
	return l
}

// cells is how many cells of the grid lie above and below a loss of zero: at least
// one, maxCells+1 at most. The profile at -eps is 1 - e^-eps + e^-eps times that of
// the other direction: there e^-eps of the difference matters.
func (p part) cells(spacing, cut float64) (above, below int) {
	infinite, nothing := p.forward(math.Inf(1)), p.backward(math.Inf(1))
	above = 1 + sort.Search(maxCells, func(i int) bool {
		return p.forward(spacing*float64(i+1))-infinite <= cut
	})
	below = 1 + sort.Search(maxCells, func(i int) bool {
		epsilon := spacing * float64(i+1)
		return math.Exp(-epsilon)*(p.backward(epsilon)-nothing) <= cut
	})
	return above, below
}

// dots returns the profile at 0, spacing, 2 spacing, ... for n cells.
func dots(f profile, spacing float64, n int) []float64 {
	d := make([]float64, n+1)
	for i := range d {
		d[i] = f(spacing * float64(i))
	}
	return d
}

// minMass is the least mass that counts: with it at the lower end of a lattice no
// moment underflows.
const minMass = 1e-300

// logMoment is ln E[e^{order loss}] over the finite losses, negative masses taken
// as positive.
func (l lattice) logMoment(order, spacing float64) float64 {
	ratio, sum := math.Exp(-math.Abs(order)*spacing), 0.0
	largest := order * spacing * float64(l.first)
	if order > 0 {
		largest = order * spacing * float64(l.first+len(l.mass)-1)
		for _, m := range l.mass {
			sum = sum*ratio + math.Abs(m)
		}
	} else {
		for i := len(l.mass) - 1; i >= 0; i-- {
			sum = sum*ratio + math.Abs(l.mass[i])
		}
	}
	return largest + math.Log(sum)
}

// variance of the finite losses, in squares of the spacing; never quite zero.
func (l lattice) variance() float64 {
	var total, first, second float64
	for i, m := range l.mass {
		place := float64(l.first + i)
		total += m
		first += m * place
		second += m * place * place
	}
	return max(1e-12, second/total-(first/total)*(first/total))
}

// largestLoss is the largest finite loss of all parts together.
func largestLoss(parts []part) float64 {
	sum := 0.0
	for _, p := range parts {
		sum += float64(p.count) * p.forward.end()
	}
	return sum
}

// roughSpacing is for a first look: a quarter of the root mean square of the total
// variations, or a tenth of the deviation if the losses are Gaussian and small.
func roughSpacing(parts []part) float64 {
	total, steps := 0.0, 0
	for _, p := range parts {
		total = math.Hypot(total, math.Sqrt(float64(p.count))*p.forward.finite())
		steps += p.count
	}
	return total / math.Sqrt(float64(steps)) / 4
}

// coarsest is the largest spacing that is fine enough after a first look, finer if
// that is possible with so many points over the width of the sum. A split of mass within a cell adds at most
// spacing^2/4 of variance, and spacing^2/6 when it is spread over the cell: with a
// hundredth of a step's deviation that costs a relative 1e-5 of epsilon. Rare
// large losses, as those of small samples, can account for nearly all of the
// deviation: the bulk gets its own hundredth, a tenth of the first spacing, while
// that is not too dear.
func (s sum) coarsest(width, points float64) float64 {
	step := s.deviation() / math.Sqrt(float64(s.steps))
	bulk := max(s.spacing/10, width/maxCells)
	return max(min(width/points, step/100, bulk), width*float64(len(s.lattices)+8)/maxPoints/8)
}

// alignedSpacing returns the best spacing between coarsest and two thirds of it. An atom
// on the grid is not split at all. Of the spacings that put the weightiest atom
// at the end of a loss on the grid, it is the one that splits the others least.
func alignedSpacing(parts []part, coarsest float64) float64 {
	ends, weights := make([]float64, len(parts)), make([]float64, len(parts))
	anchor, weightiest := coarsest, 0.0
	for i, p := range parts {
		ends[i] = p.forward.end()
		jump := p.forward(max(0, ends[i]-coarsest)) - p.forward(ends[i])
		weights[i] = float64(p.count) * jump
		if weights[i] > weightiest && ends[i] > coarsest {
			anchor, weightiest = ends[i], weights[i]
		}
	}
	best, least := coarsest, math.Inf(1)
	cellsToEnd := math.Ceil(anchor / coarsest)
	for k := range 1 + int(min(cellsToEnd/2, 4096)) {
		spacing := anchor / (cellsToEnd + float64(k))
		split := 0.0
		for i, end := range ends {
			off := math.Abs(end/spacing - math.Round(end/spacing))
			if off > 1e-9 { // otherwise it is on the grid, to rounding
				split += weights[i] * off * (1 - off) * spacing * spacing
			}
		}
		if split < least {
			best, least = spacing, split
		}
	}
	return best
}
