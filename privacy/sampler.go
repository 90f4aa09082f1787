package privacy

import (
	"math/bits"
	"math/rand/v2"
)

// sampler draws exactly from laws over the integers, using only uniform integers:
// without floating point there is no rounding through which a value could leak.
type sampler struct{ words rand.Source }

// uniform returns an integer in [0, n), n >= 1, each with probability 1/n.
func (s sampler) uniform(n uint64) uint64 {
	value, _ := s.pair(n, 1)
	return value
}

// pair returns an integer in [0, a) and one in [0, b), each pair with probability
// 1/ab, for 1 <= ab < 2^64. A word w is w ab = value 2^64 + rest, and each value
// comes from as many words whose rest is at least 2^64 mod ab; it is the number of
// the pair. Lemire, "Fast Random Integer Generation in an Interval" (2019).
func (s sampler) pair(a, b uint64) (first, second uint64) {
	for n := a * b; ; {
		first, rest := bits.Mul64(s.words.Uint64(), a)
		second, rest := bits.Mul64(rest, b)
		if rest >= n || rest >= -n%n {
			return first, second
		}
	}
}

// zeros returns how many zeros come before the first one among random bits: n with
// probability 2^-(n+1).
func (s sampler) zeros() (n uint64) {
	for {
		if word := s.words.Uint64(); word != 0 {
			return n + uint64(bits.LeadingZeros64(word))
		}
		n += 64
	}
}

// gaussian draws from the discrete Gaussian, P[n] proportional to
// exp(-n^2/(2 sigma^2)), for 1 <= sigma <= 2^40.
func (s sampler) gaussian(sigma uint64) int64 { return gaussianStairs.draw(s, sigma) }

// laplace draws from the discrete Laplace law, P[n] proportional to
// exp(-|n|/scale), for 1 <= scale <= 2^40.
func (s sampler) laplace(scale uint64) int64 { return laplaceStairs.draw(s, scale) }
