package privacy

import (
	"math/bits"
	"math/rand/v2"
)

// sampler draws exactly from laws over the integers, using uniform integers and
// nothing else: no floating point, so no rounding that a value could leak by.
// Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy"
// (2020), algorithms 1 to 3. The time a draw takes depends on its value.
type sampler struct{ words rand.Source }

// uniform returns an integer in [0, n), n >= 1, each with probability 1/n.
// Lemire, "Fast Random Integer Generation in an Interval" (2019).
func (s sampler) uniform(n uint64) uint64 {
	high, low := bits.Mul64(s.words.Uint64(), n)
	if low < n {
		for reject := -n % n; low < reject; {
			high, low = bits.Mul64(s.words.Uint64(), n)
		}
	}
	return high
}

// chance returns true with probability n/d, 0 <= n <= d, d >= 1. What is certain
// takes no random word: that saves a tenth of a Gaussian draw.
func (s sampler) chance(n, d uint64) bool { return n == d || s.uniform(d) < n }

// chanceExp returns true with probability exp(-n/d), 0 <= n <= d, d >= 1.
//
// The number K of the first failure among trials of probability n/(d k),
// k = 1, 2, ..., exceeds k with probability (n/d)^k/k!, so K is odd with
// probability sum (-n/d)^k/k! = exp(-n/d) (von Neumann; algorithm 1).
func (s sampler) chanceExp(n, d uint64) bool {
	k := uint64(1)
	for s.chance(n, d*k) {
		k++
	}
	return k&1 == 1
}

// chanceExpHalfSquare returns true with probability exp(-(n/d)^2/2), by the
// same series. A trial of probability (n/d)^2/(2k) is two trials, so that no
// number exceeds 64 bits.
func (s sampler) chanceExpHalfSquare(n, d uint64) bool {
	k := uint64(1)
	for s.chance(n, d) && s.chance(n, 2*d*k) {
		k++
	}
	return k&1 == 1
}

// laplace draws from the discrete Laplace law, P[n] proportional to
// exp(-|n|/scale), for 1 <= scale <= 2^40. Values beyond 2^62 would need a
// geometric draw over 2^22: probability exp(-2^22).
func (s sampler) laplace(scale uint64) int64 {
	rest, turns, negative := s.laplaceParts(scale)
	return signed(rest+turns*scale, negative)
}

// gaussian draws from the discrete Gaussian, P[n] proportional to
// exp(-n^2/(2 sigma^2)), for 1 <= sigma <= 2^40.
//
// It is algorithm 3 with t = sigma, which is exact for any t: draw Y from the
// discrete Laplace law of scale sigma and accept it with probability
// exp(-(|Y|-sigma)^2/(2 sigma^2)); about three quarters are accepted.
func (s sampler) gaussian(sigma uint64) int64 {
	for {
		rest, turns, negative := s.laplaceParts(sigma)
		if s.accept(rest, turns, sigma) {
			return signed(rest+turns*sigma, negative)
		}
	}
}

// laplaceParts draws n from the discrete Laplace law, as |n| = rest + turns*scale
// with rest < scale, and its sign (algorithm 2).
func (s sampler) laplaceParts(scale uint64) (rest, turns uint64, negative bool) {
	for {
		rest = s.uniform(scale)
		if !s.chanceExp(rest, scale) {
			continue
		}
		turns = 0
		for s.chanceExp(1, 1) {
			turns++
		}
		negative = s.words.Uint64()&1 == 1
		if !negative || rest != 0 || turns != 0 { // zero has one sign only
			return rest, turns, negative
		}
	}
}

func signed(size uint64, negative bool) int64 {
	if negative {
		return -int64(size)
	}
	return int64(size)
}

// accept returns true with probability exp(-d^2/(2 sigma^2)), where
// d = | rest + turns*sigma - sigma | = r + q*sigma: the product of
// exp(-q^2/2), exp(-q r/sigma) and exp(-(r/sigma)^2/2).
func (s sampler) accept(rest, turns, sigma uint64) bool {
	q, r := turns-1, rest
	if turns == 0 {
		q, r = 0, sigma-rest
	}
	for range q * q {
		if !s.chanceExp(1, 2) {
			return false
		}
	}
	for range q {
		if !s.chanceExp(r, sigma) {
			return false
		}
	}
	return s.chanceExpHalfSquare(r, sigma)
}
