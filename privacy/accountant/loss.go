package accountant

import "math"

// Loss is the distribution of the privacy loss of a composition, rounded
// pessimistically onto a grid. Make one with [Compose]. It does not change, and
// can be shared.
type Loss struct{ directions []direction }

// Delta returns a delta for which the composition is (epsilon, delta)-DP, for any
// real epsilon; 1 when epsilon is NaN. It is precise where it is near the delta
// that was given to [Compose] or above, less and less so far below either.
func (l *Loss) Delta(epsilon float64) float64 {
	if len(l.directions) == 0 || math.IsNaN(epsilon) {
		return 1
	}
	worst := 0.0
	for _, d := range l.directions {
		worst = max(worst, d.delta(epsilon))
	}
	return worst
}

// Epsilon returns an epsilon >= 0 for which the composition is (epsilon,
// delta)-DP, +Inf when there is none.
func (l *Loss) Epsilon(delta float64) float64 {
	if len(l.directions) == 0 || !(delta >= 0) {
		return math.Inf(1)
	}
	worst := 0.0
	for _, d := range l.directions {
		worst = max(worst, d.epsilon(delta))
	}
	return worst
}

// Excess bounds the probability that the loss of something exceeds epsilon, given its
// profile: a delta for each epsilon. A loss L above epsilon adds at least 1 -
// e^{e-epsilon} to delta(e) = E[max(0, 1 - e^{e-L})] for each e < epsilon, so that
//
//	P[L > epsilon] <= min over t > 0 of delta(epsilon - t) / (1 - e^-t),
//
// and no less follows from the profile alone. The grid of a [Loss] keeps its profile,
// and not the probability itself. It is 1 when epsilon is NaN.
func Excess(epsilon float64, profile func(epsilon float64) float64) float64 {
	least := 1.0
	if math.IsNaN(epsilon) {
		return least
	}
	for k := range 200 {
		t := math.Exp(float64(k-160) / 20) // 3e-4 to 7
		least = min(least, profile(epsilon-t)/-math.Expm1(-t))
	}
	return least
}

// direction is the loss of the composition in one direction: mass[i] is the
// probability of the loss spacing (first+i). Rounding has disturbed the tilted
// masses, e^{tilt loss - logScale} times as large, by a total of about rounding.
type direction struct {
	spacing  float64
	first    int
	mass     []float64
	infinite float64 // probability of an infinite loss, what was cut included
	certain  float64 // that of a truly infinite one
	largest  float64 // largest finite loss

	tilt, logScale, rounding float64
}

// untilt is the factor from tilted probabilities to those of the loss; 0 where it
// is so large that rounding has the better of them.
func (d direction) untilt(loss float64) float64 {
	if exponent := d.logScale - d.tilt*loss; exponent < 40 {
		return math.Exp(exponent)
	}
	return 0
}

// noise is what rounding may have taken from the probability of the losses above
// epsilon.
func (d direction) noise(epsilon float64) float64 {
	return d.rounding * math.Exp(min(40, d.logScale-d.tilt*epsilon))
}

// delta is infinite + sum over losses above epsilon of mass (1 - e^{eps-loss}).
func (d direction) delta(epsilon float64) float64 {
	if epsilon >= d.largest {
		return d.certain
	}
	sum := d.infinite + d.noise(epsilon)
	for i := len(d.mass) - 1; i >= 0; i-- {
		loss := d.spacing * float64(d.first+i)
		if loss <= epsilon || sum >= 1 {
			break
		}
		sum -= d.mass[i] * math.Expm1(epsilon-loss)
	}
	return min(1, max(d.certain, sum))
}

// epsilon inverts delta from the largest loss down. Between two losses delta is
// mass - e^{eps-loss} weight, with mass the probability of the losses above and
// weight the sum of theirs times e^{loss-loss'}.
func (d direction) epsilon(delta float64) float64 {
	switch {
	case d.certain > delta:
		return math.Inf(1)
	case d.infinite > delta:
		return d.largest
	}
	mass, weight, decay := d.infinite, 0.0, math.Exp(-d.spacing)
	for i := len(d.mass) - 1; i >= 0; i-- {
		loss := d.spacing * float64(d.first+i)
		if loss <= 0 {
			break
		}
		next := max(0, loss-d.spacing)
		if i == 0 {
			next = 0
		}
		mass += d.mass[i]
		weight = weight*decay + d.mass[i]
		excess := mass + d.noise(next) - delta
		if excess > weight*math.Exp(next-loss) {
			if excess < weight { // otherwise only the noise is over delta, and the loss itself is safe
				loss += math.Log(excess / weight)
			}
			return min(d.largest, loss)
		}
	}
	return 0
}
