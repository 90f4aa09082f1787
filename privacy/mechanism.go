package privacy

import (
	"fmt"
	"math"
)

// Mechanism says how much one record may contribute to a sum and how much noise the sum
// gets. Both are whole numbers of grid units, and the grid is a power of two. It is a
// value: it can be copied, compared with == and shared. The zero value lets nothing
// through.
type Mechanism struct {
	noise Noise // "": the zero Mechanism
	clip  int64 // bound on one record, grid units, at most maxClip: l1 norm for Laplace laws, l2 otherwise
	sigma int64 // scale of the noise, grid units: sigma of the Gaussian, b of the Laplace law; 0: no noise
	bound int64 // noise is kept within [-bound, bound], grid units; 0: not truncated
	grid  int   // one unit is 2^grid
	// A subsampled release takes a random batch out of every slots records of a
	// cohort; 0: all of them.
	batch, slots int
	// distance, if positive, means that sums are made with NewBounded. It is the
	// distance that one record can move them, in grid units and in the norm of the
	// clip, rounding included. The sums have dim coordinates; dim is 0 if distance is.
	distance int64
	dim      int
}

const (
	// maxClip keeps the sum of MaxSlots records, 2^62 at most, and its noise
	// inside an int64.
	maxClip = 1 << 42
	// minSigma is the least sigma of any protected mechanism, in grid units. The charge
	// for the discreteness of the noise relies on it.
	minSigma = 1 << 28
	// Clip and noise stay within [smallest, largest] so that scaling by the
	// grid is exact: no result is subnormal or infinite.
	smallest, largest = 0x1p-500, 0x1p500
)

// newNoisy returns the mechanism of a law of the given scale, not truncated.
func newNoisy(law Noise, clip, scale float64) (Mechanism, error) {
	if err := checkSize("clip", clip); err != nil {
		return Mechanism{}, err
	}
	if err := checkSize("the scale of the noise", scale); err != nil {
		return Mechanism{}, err
	}
	fraction, exponent := math.Frexp(scale) // fraction in [1/2, 1)
	grid := exponent - 30
	units := math.Floor(math.Ldexp(clip, -grid))
	if units < 1 || units > maxClip {
		return Mechanism{}, fmt.Errorf("privacy: the scale of the noise is %.3g times clip, choose a ratio from 2^-12 to 2^29", scale/clip)
	}
	return Mechanism{
		noise: law,
		clip:  int64(units),
		sigma: int64(math.Ceil(math.Ldexp(fraction, 30))),
		grid:  grid,
	}, nil
}

// NewUnprotected returns a mechanism that clips and quantises as the others do,
// at a relative 2^-41 of clip, and adds no noise: there is no guarantee, and no
// [Account] admits it. The errors are those of [NewGaussian].
func NewUnprotected(clip float64) (Mechanism, error) {
	if err := checkSize("clip", clip); err != nil {
		return Mechanism{}, err
	}
	fraction, exponent := math.Frexp(clip)
	return Mechanism{noise: Unprotected, clip: int64(math.Ldexp(fraction, 42)), grid: exponent - 42}, nil
}

func checkSize(name string, v float64) error {
	if !(v >= smallest && v <= largest) { // NaN too
		return fmt.Errorf("privacy: %s is %v, choose a positive number of ordinary size", name, v)
	}
	return nil
}

// Noise is the law of the noise; "" for the zero Mechanism.
func (m Mechanism) Noise() Noise { return m.noise }

// Protected reports whether the mechanism adds noise.
func (m Mechanism) Protected() bool { return m.sigma > 0 }

// Draws reports whether an answer needs random numbers, for noise or for a batch.
func (m Mechanism) Draws() bool { return m.Protected() || m.slots > 0 }

// Clip is the bound on one record's contribution as used, after rounding to the
// grid: on its l1 norm under the Laplace laws, on its l2 norm otherwise.
func (m Mechanism) Clip() float64 { return math.Ldexp(float64(m.clip), m.grid) }

// Scale is the parameter of the law as used, after rounding to the grid: sigma of
// the Gaussian, b of the Laplace law, before any truncation; 0 when unprotected.
func (m Mechanism) Scale() float64 { return math.Ldexp(float64(m.sigma), m.grid) }

// NoiseStd is the standard deviation of the noise in each coordinate of the sum,
// real units; 0 when unprotected. It is that of the continuous law; the discrete
// one differs by a relative 1e-8 at most, the grid being so fine.
func (m Mechanism) NoiseStd() float64 {
	if !m.Protected() {
		return 0
	}
	return m.Scale() * m.noise.law().std(m.scales())
}

// sensitivity is the most that replacing one record moves a sum, grid units, in
// the norm of the clip.
func (m Mechanism) sensitivity() int64 {
	if m.distance > 0 {
		return m.distance
	}
	return 2 * m.clip
}

// l1 reports whether the clip and the sensitivity are in the l1 norm instead of l2.
func (m *Mechanism) l1() bool { return m.noise.L1() }

// Mu is what one release costs a record in Gaussian differential privacy,
// sensitivity over sigma, rounded up; +Inf when the mechanism has no such value:
// for other noise than the Gaussian, and for a random batch of the records.
func (m Mechanism) Mu() float64 {
	if m.noise != Gaussian || m.slots > 0 {
		return math.Inf(1)
	}
	return m.gaussianStep()
}

// up returns the next float64 above x, which is at least the exact value of
// the one rounded operation that gave x.
func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// down is the counterpart of up.
func down(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
