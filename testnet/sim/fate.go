package sim

import (
	"math"
	"math/bits"
	"time"

	"p2pnode/learner"
)

// posted is all that the fate of a message depends on, with the seed.
type posted struct {
	from, to int32
	at       time.Duration
	kind     learner.Kind
	round    uint64
}

// way is the part of the fate of all messages from one agent to another that they have
// in common.
func (c *Config) way(from, to int32) uint64 {
	return mix(c.Seed*increment ^ uint64(from)<<32 ^ uint64(to))
}

// copies says when a message arrives: not at all if it is lost, and up to twice. It is
// a hash, so that both ends find the same, and nothing need be stored for a delivery.
// A copy that does not arrive does so at [learner.Never].
func (c *Config) copies(m posted) (first, second time.Duration) {
	return c.copiesOn(c.way(m.from, m.to), m.at, m.kind, m.round)
}

// copiesOn is copies of a message on its way.
func (c *Config) copiesOn(way uint64, sent time.Duration, kind learner.Kind, round uint64) (first, second time.Duration) {
	word := mix(way ^ uint64(sent) ^ round<<40 ^ uint64(kind)<<60)
	if c.Loss > 0 && chance(word) < c.Loss {
		return learner.Never, learner.Never
	}
	first = sent + c.delay(exponential(word))
	if c.Duplicate == 0 {
		return first, learner.Never
	}
	if word = mix(word); chance(word) >= c.Duplicate {
		return first, learner.Never
	}
	return first, sent + c.delay(exponential(word))
}

// delay is how long a delivery takes, of an exponential number of mean 1.
func (c *Config) delay(exponential float64) time.Duration {
	least := c.leastDelay()
	return least + time.Duration(float64(c.Latency-least)*exponential)
}

func (c *Config) leastDelay() time.Duration { return c.Latency / 2 }

// longestDelay is that of the largest number that exponential returns.
func (c *Config) longestDelay() time.Duration { return c.delay(exponentialBits*math.Ln2) + 1 }

// increment is that of SplitMix64 (Steele, Lea, Flood 2014), and mix its step.
const increment = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z += increment
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// chance is a number in [0, 1) from the upper half of a random word.
func chance(word uint64) float64 { return float64(word>>32) * 0x1p-32 }

// exponentialBits are how many bits an exponential number is made from: none is larger
// than 16.6, which one in 17 million would be.
const exponentialBits = 24

// logs are the logarithms of 1 + k/logSteps, k from 0 to logSteps.
var logs = func() (list [logSteps + 1]float64) {
	for k := range list {
		list[k] = math.Log1p(float64(k) / logSteps)
	}
	return list
}()

const logBits, logSteps = 8, 1 << logBits

// exponential is an exponential number of mean 1 from the lower half of a random word:
// minus the logarithm of a uniform number, which a straight line between two logs is off
// by less than 2e-6. One is drawn for every delivery.
func exponential(word uint64) float64 {
	n := uint32(word&(1<<exponentialBits-1) + 1)
	octave := bits.Len32(n) - 1
	rest := n<<(31-octave) - 1<<31 // of n over its octave, less 1, in units of 2^-31
	k, between := rest>>(31-logBits), rest&(1<<(31-logBits)-1)
	log := logs[k] + (logs[k+1]-logs[k])*float64(between)*0x1p-23
	return float64(exponentialBits-octave)*math.Ln2 - log
}
