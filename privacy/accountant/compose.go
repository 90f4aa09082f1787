package accountant

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// MaxGroups is the most different steps of a composition, Gaussian ones counting as one.
const MaxGroups = 1 << 10

const (
	maxSteps  = 1 << 20 // the most steps of a composition
	maxCells  = 1 << 19 // the most cells of one step's grid; a step that would need more gets a coarser grid
	maxPoints = 1 << 22 // the most points of a transform; likewise
	cheap     = 1 << 14 // points of one transform
)

// Group is Count identical steps.
type Group struct {
	Step  Step
	Count int
}

// Compose returns the loss of all steps together, whatever their order. delta is
// where its epsilon will be asked for, 1e-300 to 1/2: the computation is precise
// there, and pessimistic everywhere. To find delta at an epsilon, compose at a
// rough guess of it first, and at the answer once more.
//
// Invalid arguments, steps of different adjacency, more than 2^20 steps and more
// than 1024 different ones are an error. Time and memory are bounded; ordinary
// compositions take some ten milliseconds.
func Compose(delta float64, groups ...Group) (*Loss, error) {
	if err := CheckBudget(1, delta); err != nil {
		return nil, fmt.Errorf("accountant: composing: %w", err)
	}
	merged, sampling, err := merge(groups)
	if err != nil {
		return nil, err
	}
	there, back := make([]part, len(merged)), make([]part, len(merged))
	for i, g := range merged {
		forward, backward := g.Step.directions()
		there[i] = part{forward, backward, g.Count}
		back[i] = part{backward, forward, g.Count}
	}
	loss := &Loss{directions: []direction{compose(delta, there, cheap)}}
	if sampling == Poisson {
		loss.directions = append(loss.directions, compose(delta, back, cheap))
	}
	return loss, nil
}

// merge checks the groups and joins those of identical steps. Gaussian steps are
// one Gaussian step, whose mu squared is the sum of theirs (Dong, Roth, Su 2022,
// corollary 3.3).
func merge(groups []Group) (merged []Group, sampling Sampling, err error) {
	var squares float64
	total, index := 0, make(map[Step]int)
	for _, g := range groups {
		if g.Count < 0 || g.Count > maxSteps-total {
			return nil, 0, fmt.Errorf("accountant: a group has %d steps, choose 0 to %d in all", g.Count, maxSteps)
		}
		total += g.Count
		switch s := g.Step.(type) {
		case nil:
			return nil, 0, fmt.Errorf("accountant: a group has no step, give one")
		case senseless:
			return nil, 0, fmt.Errorf("%s", string(s))
		case gaussian:
			squares += float64(g.Count) * s.mu * s.mu
			continue
		case subsampled:
			if sampling != 0 && sampling != s.sampling {
				return nil, 0, fmt.Errorf("accountant: steps sampled with and without replacement have different neighbours, compose them apart")
			}
			sampling = s.sampling
		}
		if i, known := index[g.Step]; known {
			merged[i].Count += g.Count
		} else if g.Count > 0 {
			index[g.Step] = len(merged)
			merged = append(merged, g)
		}
	}
	if squares > 0 {
		if squares > math.MaxFloat64 {
			return nil, 0, fmt.Errorf("accountant: the Gaussian steps protect nothing, choose more noise")
		}
		merged = append(merged, Group{gaussian{math.Sqrt(squares)}, 1})
	}
	if len(merged) > MaxGroups {
		return nil, 0, fmt.Errorf("accountant: %d different steps, choose %d at most", len(merged), MaxGroups)
	}
	return merged, sampling, nil
}

// compose returns the loss of the parts in one direction: the discretised losses
// convolved by Fourier transform, exponentially tilted towards the losses that
// decide at delta, which would drown in rounding otherwise. The grid has about so
// many points, or more if that is too coarse.
func compose(delta float64, parts []part, points float64) direction {
	// What is cut off, and rounding, are below a relative 1e-8 of delta: a part of
	// it each for the steps that hardly tell anything, whose whole total variation
	// is called infinite loss, for the ends of the single losses, and for that of
	// their sum.
	slack := min(1e-13, 1e-8*delta) / 4
	var faint, clear []part
	for _, p := range parts {
		if p.forward.finite()*float64(p.count) <= max(minMass, slack/float64(len(parts))) {
			faint = append(faint, p)
		} else {
			clear = append(clear, p)
		}
	}
	d := direction{mass: []float64{1}, spacing: 1, largest: largestLoss(parts)}
	d.certain = infiniteLoss(parts, math.Inf(1))
	d.infinite = infiniteLoss(faint, 0)
	if len(clear) == 0 {
		return d
	}
	rough := discretise(clear, roughSpacing(clear), slack)
	low, high := rough.window(math.Log(slack))
	s := discretise(clear, alignedSpacing(clear, rough.coarsest(high-low, points)), slack)
	s.cover(low, high)

	d.infinite += s.infiniteLoss() + slack
	d.spacing, d.first = s.spacing, s.first
	d.tilt = rough.tilt(math.Log(delta))
	d.logScale = s.logMoment(d.tilt)
	d.rounding = 0x1p-50 * math.Sqrt(float64(s.steps))
	d.mass = s.convolve(d.tilt)
	for i := range d.mass {
		d.mass[i] *= d.untilt(float64(d.first+i) * d.spacing)
	}
	return d
}

// infiniteLoss is the probability that any step has an infinite loss, if the
// profile at epsilon counts as that.
func infiniteLoss(parts []part, epsilon float64) float64 {
	none := 0.0
	for _, p := range parts {
		none += float64(p.count) * math.Log1p(-p.forward(epsilon))
	}
	return 0 - math.Expm1(none) // not -0
}

// sum is independent losses to be added up, on the cyclic grid of length points
// that begins at first.
type sum struct {
	lattices []lattice
	counts   []int
	steps    int
	spacing  float64
	first    int
	length   int
}

// discretise puts the parts on a grid of the given spacing, or, if that is too
// large, on a coarser one.
func discretise(parts []part, spacing, slack float64) sum {
	s := sum{spacing: spacing}
	for _, p := range parts {
		s.counts = append(s.counts, p.count)
		s.steps += p.count
	}
	cut := slack / float64(s.steps)
	for _, p := range parts {
		for above, below := p.cells(s.spacing, cut); above+below > maxCells; above, below = p.cells(s.spacing, cut) {
			s.spacing *= 2
		}
	}
	for _, p := range parts {
		s.lattices = append(s.lattices, p.discretise(s.spacing, cut))
	}
	return s
}

// infiniteLoss is the probability of an infinite loss, what was cut included.
func (s sum) infiniteLoss() float64 {
	none := 0.0
	for i, l := range s.lattices {
		none += float64(s.counts[i]) * math.Log1p(-l.infinite)
	}
	return 0 - math.Expm1(none) // not -0
}

// logMoment is K(order) = ln E[e^{order loss}] of the sum.
func (s sum) logMoment(order float64) float64 {
	k := 0.0
	for i, l := range s.lattices {
		k += float64(s.counts[i]) * l.logMoment(order, s.spacing)
	}
	return k
}

// deviation is the standard deviation of the sum.
func (s sum) deviation() float64 {
	variance := 0.0
	for i, l := range s.lattices {
		variance += float64(s.counts[i]) * l.variance()
	}
	return s.spacing * math.Sqrt(variance)
}

// quantile is the least (K(order) - logTail)/order over the orders of the given
// sign, and where: by Chernoff's bound the sum is above it, or below it, with
// probability e^logTail at most.
func (s sum) quantile(sign, logTail float64) (loss, order float64) {
	at := func(logOrder float64) float64 {
		order := sign * math.Exp(logOrder)
		return (s.logMoment(order) - logTail) / math.Abs(order)
	}
	middle := -math.Log(s.deviation())
	best := golden(middle-10, middle+10, at)
	return sign * at(best), sign * math.Exp(best)
}

// support is the range of the grid that the sum can reach.
func (s sum) support() (least, most float64) {
	for i, l := range s.lattices {
		least += float64(s.counts[i]) * float64(l.first)
		most += float64(s.counts[i]) * float64(l.first+len(l.mass)-1)
	}
	return least, most
}

// window is the range beyond which the sum lies, on either side, with probability
// e^logTail at most; a single cell if all finite losses are that rare. It serves a
// finer grid too: splits of smaller cells add less to a moment.
func (s sum) window(logTail float64) (low, high float64) {
	least, most := s.support()
	low, _ = s.quantile(-1, logTail)
	high, _ = s.quantile(1, logTail)
	low, high = max(low, least*s.spacing), min(high, most*s.spacing)
	return low, max(high, low+s.spacing)
}

// cover sets the cyclic grid to the range from low to high.
func (s *sum) cover(low, high float64) {
	least, most := s.support()
	first := max(least, math.Floor(low/s.spacing))
	last := max(first, min(most, math.Ceil(high/s.spacing)))
	s.first, s.length = int(first), fastLength(int(last-first)+1)
}

// tilt is the order of the exponential tilt: the least one under which the
// probability of the losses that decide at delta is no smaller than e^-14, so
// that rounding is below a relative 1e-8 of it; 0 for an ordinary delta.
func (s sum) tilt(logDelta float64) float64 {
	epsilon, best := s.quantile(1, logDelta)
	enough := func(order float64) bool {
		return s.logMoment(order)-order*epsilon <= logDelta+14
	}
	if logDelta >= -14 {
		return 0
	}
	low, high := 0.0, best
	for range 12 { // the least to a few percent is good enough
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// convolve returns the tilted probabilities of the sum, from first on. The grid is
// cyclic: a sum beyond its end, improbable as it is, appears at the other end.
// That only adds to delta when it was below, and is called infinite when above.
func (s sum) convolve(tilt float64) []float64 {
	transform := fourier.NewFFT(s.length)
	points := make([]float64, s.length)
	factor := make([]complex128, s.length/2+1)
	product := make([]complex128, s.length/2+1)
	for i := range product {
		product[i] = 1
	}
	shift := -s.first
	for i, l := range s.lattices {
		shift += s.counts[i] * l.first
		logScale := l.logMoment(tilt, s.spacing)
		clear(points)
		for j, m := range l.mass {
			if m != 0 {
				points[j%s.length] += m * math.Exp(tilt*s.spacing*float64(l.first+j)-logScale)
			}
		}
		transform.Coefficients(factor, points)
		for j, c := range factor {
			product[j] *= power(c, s.counts[i])
		}
	}
	transform.Sequence(points, product)
	rolled := make([]float64, s.length)
	for i, p := range points {
		rolled[((i+shift)%s.length+s.length)%s.length] = p / float64(s.length)
	}
	return rolled
}

// power is c^n by repeated squaring.
func power(c complex128, n int) complex128 {
	result := complex(1, 0)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result *= c
		}
		c *= c
	}
	return result
}

// fastLength is the least number from n on whose prime factors are 2, 3 and 5: the
// transform takes the same time per point for all of them.
func fastLength(n int) int {
	for {
		rest := n
		for _, factor := range []int{2, 3, 5} {
			for rest%factor == 0 {
				rest /= factor
			}
		}
		if rest == 1 {
			return n
		}
		n++
	}
}
