package learner

import (
	"math"
	"math/rand/v2"
)

// The secure consensus of learner polar (Gade and Vaidya, algorithm 2, corrected): S
// servers learn the mean of their states, and any S-2 of them together learn only the
// sum of the other two states. The printed algorithm works modulo 2|X|, which wraps the
// sum; and masks that are floating-point numbers show the low bits of the numbers they
// hide. Here states are integers and masks are uniform on Z_2^64, so that a masked
// state is uniform whatever it hides.

// sumBits is the number of the 64 bits that the sum of all states may take. The other
// bits detect masks that do not fit together: each coordinate of a sum with a mask left
// in it is uniform, and looks like a sum with probability 2^-15.
const sumBits = 48

// residues says how states are written on the ring Z_2^64.
type residues struct {
	servers int
	bits    int   // f: one unit is 2^-f
	limit   int64 // bound on each coordinate of one state, in units
}

// newResidues returns the finest units for states in [-box, box]^p: S box 2^f is less
// than 2^(sumBits-1), far below 2^63.
func newResidues(box float64, servers int) residues {
	_, exponent := math.Frexp(box * float64(servers)) // S box < 2^exponent
	r := residues{servers: servers, bits: sumBits - 1 - exponent}
	r.limit = int64(math.RoundToEven(math.Ldexp(box, r.bits)))
	return r
}

// encode rounds a state in the box to units.
func (r residues) encode(state []float64) []uint64 {
	units := make([]uint64, len(state))
	for k, x := range state {
		units[k] = uint64(int64(math.RoundToEven(math.Ldexp(x, r.bits))))
	}
	return units
}

// mean adds up the masked states of all servers, in which the masks cancel, and divides
// by their number. It returns false if the masks did not cancel: then somebody used
// masks of another attempt.
func (r residues) mean(masked ...[]uint64) ([]float64, bool) {
	mean := make([]float64, len(masked[0]))
	for k := range mean {
		var sum uint64 // wraps
		for _, share := range masked {
			sum += share[k]
		}
		total := int64(sum)
		if most := int64(r.servers) * r.limit; total > most || total < -most {
			return nil, false
		}
		mean[k] = math.Ldexp(float64(total)/float64(r.servers), -r.bits)
	}
	return mean, true
}

// masking is one server's part in one consensus. It is never saved, so its masks are
// forgotten with it.
type masking struct {
	round   uint64   // the number of the consensus, from 1
	attempt uint32   // each attempt has masks of its own
	input   []uint64 // the server's own state, the same in every attempt
	share   []uint64 // input minus the masks given away; A^J once the masks received are added
	masked  bool     // the masks received are added
}

// start begins an attempt: it draws a mask R_{J,L} for each of n other servers and
// subtracts it from the server's own share. A server that sees the share but not every
// mask sees uniform numbers.
func (m *masking) start(attempt uint32, source rand.Source, n int) (masks [][]uint64) {
	m.attempt, m.masked = attempt, false
	m.share = append([]uint64(nil), m.input...)
	masks = make([][]uint64, n)
	for i := range masks {
		masks[i] = make([]uint64, len(m.share))
		for k := range m.share {
			masks[i][k] = source.Uint64()
			m.share[k] -= masks[i][k]
		}
	}
	return masks
}

// complete adds the masks R_{L,J} received from all others, which gives A^J.
func (m *masking) complete(received [][]uint64) []uint64 {
	for _, mask := range received {
		for k, r := range mask {
			m.share[k] += r
		}
	}
	m.masked = true
	return m.share
}
