package accountant

import "math"

// bisect narrows (lo, hi), where above is false at lo, true at hi and changes
// once between, down to neighbouring numbers.
func bisect(lo, hi float64, above func(float64) bool) (float64, float64) {
	for {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			return lo, hi
		}
		if above(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
}

// minimise returns about where f is least in [lo, hi]: the best of 64 places,
// refined among its neighbours.
func minimise(lo, hi float64, f func(float64) float64) float64 {
	const places = 64
	space := (hi - lo) / (places - 1)
	best, least := lo, math.Inf(1)
	for i := range places {
		x := lo + float64(i)*space
		if y := f(x); y < least {
			best, least = x, y
		}
	}
	return golden(max(lo, best-space), min(hi, best+space), f)
}

// golden returns about where f, which falls and then rises, is least in [lo, hi], by
// golden section search, to about 1e-5 of the interval. (It approaches the ends
// themselves but never tries them.)
func golden(lo, hi float64, f func(float64) float64) float64 {
	const ratio = 2 - math.Phi // 0.38
	left, right := lo+ratio*(hi-lo), hi-ratio*(hi-lo)
	atLeft, atRight := f(left), f(right)
	for range 24 {
		if atLeft <= atRight {
			hi, right, atRight = right, left, atLeft
			left = lo + ratio*(hi-lo)
			atLeft = f(left)
		} else {
			lo, left, atLeft = left, right, atRight
			right = hi - ratio*(hi-lo)
			atRight = f(right)
		}
	}
	if atLeft <= atRight {
		return left
	}
	return right
}
