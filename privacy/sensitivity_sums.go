package privacy

import "math"

// The sensitivities of what private sums add up: how far, in l2 norm, replacing one
// record of a device moves the device's vector. Its number of record slots is public
// and stays. They are for [Mechanism.Bounded], which adds what rounding to the grid
// costs, and are rounded up themselves. All are +Inf if the numbers make no sense.

// ItemsSensitivity is that of votes for keys: a record adds, at its own key, count to
// one coordinate and a vote in [-vote, vote] to another,
//
//	D = max(2 vote, sqrt(2 (count^2 + vote^2))).
//
// If the record's key stays, only the vote moves, by 2 vote at most. If the key
// changes, four coordinates move, by count and at most vote at the old key and at the
// new one. Two keys that share a bucket move less than either. It holds whatever else
// the device adds, if a record's count and vote depend on that record alone: nothing
// may be deduplicated, and what is taken off a rating is a constant of the task.
func ItemsSensitivity(count, vote float64) float64 {
	if !(count >= 0 && vote > 0) {
		return math.Inf(1)
	}
	return outward(max(2*vote, math.Sqrt2*math.Hypot(count, vote)))
}

// GramSensitivity is that of the sums of a linear regression: a record adds
// (alpha svec(x x'), x y') with |x| <= radius and |y| <= target, where y is a number, or
// several numbers that the record's label alone gives. svec is the upper triangle of a
// symmetric matrix, with what is off the diagonal times sqrt 2, so that its l2 norm is the
// Frobenius norm. With R = radius and c = target,
//
//	D^2 = 4 R^2 c^2                                       if 2 alpha^2 R^2 <= c^2
//	D^2 = 2 alpha^2 R^4 + 2 R^2 c^2 + c^4 / (2 alpha^2)   otherwise,
//
// which is attained. Arguments that are not positive have no bound, +Inf. Let x, y be replaced by z, v, and p = |x|^2, q = |z|^2, u = x'z.
// The distance squared is
//
//	alpha^2 (p^2 + q^2 - 2u^2) + |x y' - z v'|^2.
//
// The second term is |x|^2 |y|^2 + |z|^2 |v|^2 - 2 u y'v, convex in y and v, so it is largest
// where both are of length c: at most c^2 (p + q + 2|u|). The whole then grows with p and
// q, and |u| <= sqrt(pq) binds less as they grow, so p = q = R^2 and 0 <= |u| <= R^2. What
// remains is
// 2 alpha^2 R^4 + 2 c^2 R^2 + 2 c^2 |u| - 2 alpha^2 u^2, largest at |u| = c^2/(2 alpha^2)
// or, when that is over R^2, at R^2.
func GramSensitivity(alpha, radius, target float64) float64 {
	if !(alpha > 0 && radius > 0 && target > 0) {
		return math.Inf(1)
	}
	if a := math.Sqrt2 * alpha * radius; a > target {
		return outward(math.Hypot(math.Hypot(a*radius, math.Sqrt2*radius*target), target/alpha*(target/math.Sqrt2)))
	}
	return outward(2 * radius * target)
}

// MomentsSensitivity is that of a device's second moments: its m record slots give
// vectors v with |v| <= clip, r is their mean, shortened to the length most, and the
// device adds svec of
//
//	m/(m+half) (r r' - sum over records of v v' / m^2).
//
// A device with fewer than least slots adds zero, so that D is the largest, over
// m >= least, of
//
//	m/(m+half) (H(most, 2 clip/m) + sqrt2 clip^2/m^2).
//
// The mean moves by 2 clip/m at most, and shortening brings no two vectors further
// apart; [outerDistance] is H. Of the other sum one term is replaced, by Frobenius
// distance sqrt(|v|^4 + |w|^4 - 2 (v'w)^2) <= sqrt2 clip^2. As H(most, d) <= 2 most d,
// all is at most (4 most clip + sqrt2 clip^2/m) / (m+half), which falls with m: the
// search ends where that is below the best.
//
// If clip is no bound on every |v|, or the mean is over other records than the m, it
// does not hold. So that the search is short, it is +Inf too for a clip over 2^16
// times most and for a half over 2^32.
func MomentsSensitivity(clip, most, half float64, least int) float64 {
	if !(clip > 0 && clip <= most*(1<<16) && half >= 0 && half <= 1<<32 && least >= 1) || math.IsInf(most, 1) {
		return math.Inf(1)
	}
	best := 0.0
	for m := float64(least); ; m++ {
		if plain := (4*most*clip + math.Sqrt2*clip*clip/m) / (m + half); plain <= best {
			return outward(best)
		}
		best = max(best, m/(m+half)*(outerDistance(most, 2*clip/m)+math.Sqrt2*clip*clip/(m*m)))
	}
}

// outerDistance is H(rho, d), the largest Frobenius distance of r r' and s s' over
// |r|, |s| <= rho with |r - s| <= d:
//
//	H = sqrt2 rho^2                        if d >= sqrt2 rho
//	H = d sqrt(2 rho^2 - d^2/2)            otherwise, or, if it is larger,
//	    d (2 rho - d)                      when d <= rho.
//
// Let a = |r|^2 >= b = |s|^2 and e = |r - s|. Then r's = (a + b - e^2)/2, and the
// distance squared is
//
//	a^2 + b^2 - 2 (r's)^2 = (a - b)^2/2 + e^2 (a + b) - e^4/2.
//
// With b and e fixed it grows with a, until a = rho^2 or r and s lie on one line,
// where the distance is a - b = e (sqrt a + sqrt b), which grows with a too. With
// a = rho^2 it is convex in b, so largest at an end: at b = rho^2 it is
// e sqrt(2 rho^2 - e^2/2), and on one line e (2 rho - e). Both grow with e,
// up to sqrt2 rho^2 at e = sqrt2 rho and rho^2 at e = rho; beyond rho the second is
// below the first.
func outerDistance(rho, d float64) float64 {
	if d >= math.Sqrt2*rho {
		return math.Sqrt2 * rho * rho
	}
	h := d * math.Sqrt(2*rho*rho-d*d/2)
	if d <= rho {
		h = max(h, d*(2*rho-d))
	}
	return h
}

// outward rounds up what a dozen roundings have led to.
func outward(x float64) float64 { return x * (1 + 0x1p-48) }
