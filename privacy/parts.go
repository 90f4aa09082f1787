package privacy

import (
	"fmt"
	"math"
)

// maxParts is the largest number of parts in which the noise of one release can be
// drawn. Every account is charged for what so many parts cost more than one draw; it is
// less than 10^-(10^12) of epsilon.
const maxParts = 64

// Part draws one of parts parts of the noise of m, in grid units, a number for each
// coordinate: independent discrete Gaussians, each with 1/parts of the variance,
// rounded up. Each member of a committee draws one part. Added up, that many parts
// protect as the noise of m does: partsApart, in charge.go, has the proof. More parts,
// or anything else that is independent of them, only process the sum further. Every
// call draws anew.
//
// It panics unless m is a Gaussian mechanism of [Mechanism.Bounded] and parts is from 1
// to 64.
func (n *LiveNoise) Part(m Mechanism, parts int) []int64 {
	defer n.words.forget()
	return part(sampler{n.words}, m, parts)
}

// Part is [LiveNoise.Part] with reproducible noise.
func (n *SeededNoise) Part(m Mechanism, parts int) []int64 {
	return part(sampler{&n.words}, m, parts)
}

// PartStd is the standard deviation of one part, in real units: of the noise of
// [LiveNoise.Part], whose conditions it has.
func (m Mechanism) PartStd(parts int) float64 {
	return math.Ldexp(float64(m.partScale(parts)), m.grid)
}

func part(draws sampler, m Mechanism, parts int) []int64 {
	scale := m.partScale(parts)
	noise := make([]int64, m.dim)
	for j := range noise {
		noise[j] = draws.gaussian(scale)
	}
	return noise
}

// partScale is the least whole number whose square, times parts, is no less than
// sigma squared. Both are below 2^63: sigma is at most 2^30 units.
func (m Mechanism) partScale(parts int) uint64 {
	if m.noise != Gaussian || m.distance == 0 {
		panic("privacy: only the noise of a bounded Gaussian mechanism is drawn in parts")
	}
	if parts < 1 || parts > maxParts {
		panic(fmt.Sprintf("privacy: noise in %d parts, choose 1 to %d", parts, maxParts))
	}
	sigma, n := uint64(m.sigma), uint64(parts)
	scale := uint64(math.Sqrt(float64(sigma * sigma / n)))
	for scale*scale*n < sigma*sigma {
		scale++
	}
	return scale
}
