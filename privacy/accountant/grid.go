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
// profile is nowhere below the part's, but for what lies beyond a loss so large
// that delta grows by cut at most when it is called infinite.
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
// keeps the digits that differences of numbers near 1 would lose. What lies below
// its last dot is raised to it.
func (p part) discretise(spacing, cut float64) lattice {
	above := dots(p.forward, spacing, cut)
	below := dots(p.backward, spacing, cut)
	growth, shrink := math.Expm1(spacing), -math.Expm1(-spacing)
	masses := func(d []float64, i int) float64 { // at i > 0
		m := (d[i-1] - d[i]) / shrink
		if i+1 < len(d) {
			m -= (d[i] - d[i+1]) / growth
		}
		return m
	}
	last, lowest := len(above)-1, len(below)-1
	l := lattice{first: -lowest, mass: make([]float64, lowest+1+last), infinite: above[last]}
	for i := 1; i <= lowest; i++ {
		l.mass[lowest-i] = math.Exp(-spacing*float64(i)) * masses(below, i)
	}
	for i := 1; i <= last; i++ {
		l.mass[lowest+i] = masses(above, i)
	}
	// The changes of slope on both sides of 0 meet at 1 - delta(0).
	l.mass[lowest] = 1 - above[0] - (above[0]-above[1])/growth - (below[0]-below[1])/growth
	return l
}

// dots returns the profile at 0, spacing, 2 spacing, ... up to where it is within
// cut of its value at infinity; two of them at least.
func dots(f profile, spacing, cut float64) []float64 {
	d := make([]float64, max(1, cells(f, spacing, cut))+1)
	for i := range d {
		d[i] = f(spacing * float64(i))
	}
	return d
}

// cells is how many cells of the grid lie between 0 and the last dot, maxCells+1
// at most.
func cells(f profile, spacing, cut float64) int {
	limit := f(math.Inf(1)) + cut
	return sort.Search(maxCells+1, func(i int) bool { return f(spacing*float64(i)) <= limit })
}

// logMoment is ln E[e^{order loss}] over the finite losses.
func (l lattice) logMoment(order, spacing float64) float64 {
	ratio, sum := math.Exp(-math.Abs(order)*spacing), 0.0
	largest := order * spacing * float64(l.first)
	if order > 0 {
		largest = order * spacing * float64(l.first+len(l.mass)-1)
		for _, m := range l.mass {
			sum = sum*ratio + m
		}
	} else {
		for i := len(l.mass) - 1; i >= 0; i-- {
			sum = sum*ratio + l.mass[i]
		}
	}
	return largest + math.Log(sum)
}

// spread is the scale of the loss of all parts together, near its standard
// deviation when each part's loss is small, and less otherwise: that of Gaussian
// noise of the same total variation.
func spread(parts []part) (total float64, steps int) {
	for _, p := range parts {
		s := 2.5 * p.forward.finite()
		total += s * s * float64(p.count)
		steps += p.count
	}
	return math.Sqrt(total), steps
}

// largestLoss is the largest finite loss of all parts together.
func largestLoss(parts []part) float64 {
	sum := 0.0
	for _, p := range parts {
		sum += float64(p.count) * p.forward.end()
	}
	return sum
}

// spacingFor returns the spacing of the grid. A split of mass within a cell adds
// at most spacing^2/4 of variance, and spacing^2/6 when it is spread over the
// cell: a hundredth of a step's spread costs a relative 1e-5 of epsilon. A finer
// grid is used as long as it is cheap.
//
// An atom on the grid is not split at all. Of the spacings between the one chosen
// and half of it, which put the weightiest atom at the end of a loss on the grid,
// the one that splits the others least is best.
func spacingFor(parts []part) float64 {
	const cheap = 1 << 15 // points
	total, steps := spread(parts)
	width := min(2*largestLoss(parts), 16*total)
	coarsest := min(width/cheap, total/math.Sqrt(float64(steps))/100)

	ends, weights, anchor := make([]float64, len(parts)), make([]float64, len(parts)), 0
	for i, p := range parts {
		ends[i] = p.forward.end()
		jump := p.forward(max(0, ends[i]-coarsest)) - p.forward(ends[i])
		weights[i] = float64(p.count) * jump
		if weights[i] > weights[anchor] {
			anchor = i
		}
	}
	best, least := coarsest, math.Inf(1)
	cellsToEnd := math.Ceil(ends[anchor] / coarsest)
	for k := range min(4096, int(min(cellsToEnd, maxCells))) {
		spacing := ends[anchor] / (cellsToEnd + float64(k))
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
