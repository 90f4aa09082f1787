package privacy

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	randv2 "math/rand/v2"
	"slices"
)

// Answer is the door's answer to a query.
type Answer struct {
	// Sum is the noisy sum of the admitted cohorts' clipped gradients, in real units,
	// one number for each coordinate; nil if nothing was admitted.
	Sum     []float64
	Slots   int      // record slots in the sum; for a subsampled sum those of its batch
	Cohorts []Cohort // the cohorts in it, in the order of the query

	units []int64 // Sum before scaling; AnswerInto reuses its memory
}

// Exhausted reports whether no cohort could pay, so that there is nothing to release.
func (a Answer) Exhausted() bool { return a.Sum == nil }

// LiveNoise draws from the operating system's generator. It is the only noise with
// which the guarantee holds, and the only one a durable door has. Between two answers
// it holds no random words for later noise, so that two copies of a machine's memory,
// each resumed, do not draw the same noise. Make it with [NewLiveNoise]; it is not safe
// for concurrent use.
type LiveNoise struct {
	words *systemWords // shared by copies; empty between answers
}

// NewLiveNoise returns a source of noise for real nodes.
func NewLiveNoise() *LiveNoise { return &LiveNoise{new(systemWords)} }

// Answer adds up the sums, adds one draw of the mechanism's noise to each coordinate,
// and returns the result in real units. Every call draws anew: pay for each. With no
// sums the answer is exhausted. With an unprotected mechanism there is no noise. From a
// subsampled sum, a random batch is added; a sum so small that its batch is empty adds
// nothing, but its cohort is in the answer. Sums that would bring the number of slots
// over [MaxSlots] are left out, and their cohorts with them; so is every bounded sum
// after the first 1024.
//
// It panics if a sum was made by another mechanism than m, if dimensions differ or if a
// cohort comes twice: each would break the guarantee. [Mechanism.CheckSums] finds that
// before anything is paid.
func (n *LiveNoise) Answer(m Mechanism, sums []Sum) Answer {
	defer n.words.forget()
	var a Answer
	answer(&a, sampler{n.words}, m, sums)
	a.units = nil
	return a
}

// SeededNoise is reproducible and only for simulation and tests: anybody who knows the
// seed can subtract the noise. It is not safe for concurrent use.
type SeededNoise struct{ words randv2.ChaCha8 }

// NewSeededNoise returns the noise of a seed: the same seed and the same calls
// give the same bits.
func NewSeededNoise(seed uint64) *SeededNoise {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return &SeededNoise{*randv2.NewChaCha8(key)}
}

// Answer is [LiveNoise.Answer] with reproducible noise.
func (n *SeededNoise) Answer(m Mechanism, sums []Sum) Answer {
	var a Answer
	n.AnswerInto(&a, m, sums)
	a.units = nil
	return a
}

// AnswerInto is Answer in the memory of a, whose content is overwritten, for
// simulations that take millions of answers. n may be nil for a mechanism that draws
// nothing.
func (n *SeededNoise) AnswerInto(a *Answer, m Mechanism, sums []Sum) {
	if n == nil && !m.Draws() {
		answer(a, sampler{}, m, sums)
		return
	}
	answer(a, sampler{&n.words}, m, sums)
}

// answer writes the answer into a, in the memory it has.
func answer(a *Answer, draws sampler, m Mechanism, sums []Sum) {
	*a = Answer{Sum: a.Sum[:0], Cohorts: a.Cohorts[:0], units: a.units[:0]}
	if len(sums) == 0 {
		a.Sum, a.Cohorts = nil, nil
		return
	}
	a.units = slices.Grow(a.units, len(sums[0].total))[:len(sums[0].total)]
	total := a.units
	clear(total)
	sums = m.Fitting(sums)
	for i := range sums {
		part := &sums[i]
		taken := m.taken(part.slots)
		if wrong := part.mistake(&m, len(total), a.Cohorts); wrong != "" {
			panic(wrong)
		}
		a.Slots += taken
		a.Cohorts = append(a.Cohorts, part.cohort)
		if m.slots > 0 {
			part.addBatch(total, taken, draws)
		} else {
			add(total, part.total)
		}
	}
	if m.Protected() {
		m.addNoise(total, draws)
	}
	// One rounding, to 53 bits, of a number that is already private; scaling by
	// a power of two is exact.
	a.Sum = slices.Grow(a.Sum, len(total))[:len(total)]
	sum, unit := a.Sum[:len(total)], math.Ldexp(1, m.grid)
	for j, n := range total {
		sum[j] = float64(n) * unit
	}
}

// Fitting returns the sums that one answer has room for, as [LiveNoise.Answer] says; the others
// wait for another one, and must not be paid for. It does not change the slice.
func (m Mechanism) Fitting(sums []Sum) []Sum {
	var slots, taking int
	fits := func(s *Sum) bool {
		taken := m.taken(s.slots)
		if slots+taken > MaxSlots || m.distance > 0 && taking == maxBoundedSums {
			return false
		}
		slots, taking = slots+taken, taking+1
		return true
	}
	for i := range sums {
		if fits(&sums[i]) {
			continue
		}
		fitting := slices.Clone(sums[:i])
		for k := i + 1; k < len(sums); k++ {
			if fits(&sums[k]) {
				fitting = append(fitting, sums[k])
			}
		}
		return fitting
	}
	return sums // nearly always
}

// CheckSums returns an error if an Answer of these sums would panic. It also refuses a
// cohort that comes again after its sum was left out for its size.
func (m Mechanism) CheckSums(sums []Sum) error {
	cohorts := make([]Cohort, len(sums))
	for i := range sums {
		if wrong := sums[i].mistake(&m, len(sums[0].total), cohorts[:i]); wrong != "" {
			return errors.New(wrong)
		}
		cohorts[i] = sums[i].cohort
	}
	return nil
}

// mistake returns what is wrong with adding the sum to those of other cohorts, for an
// answer of dim coordinates; "" if nothing is.
func (s *Sum) mistake(m *Mechanism, dim int, others []Cohort) string {
	switch {
	case !s.alive():
		return errDead
	case s.mechanism != *m:
		return "privacy: a sum was made by another mechanism than the one that is paid for"
	case len(s.total) != dim:
		return "privacy: sums of different dimensions cannot be added"
	case slices.Contains(others, s.cohort):
		return fmt.Sprintf("privacy: cohort %d comes twice in one release", s.cohort)
	}
	return ""
}

// addNoise adds a draw to each coordinate, grid units. A truncated law is drawn by
// drawing again what is out of bounds, which is exact.
func (m Mechanism) addNoise(total []int64, draws sampler) {
	l := m.noise.law()
	if l == nil {
		panic(fmt.Sprintf("privacy: there is no law of noise %q", m.noise))
	}
	for j := range total {
		n := l.draw(draws, uint64(m.sigma))
		for m.bound != 0 && max(n, -n) > m.bound {
			n = l.draw(draws, uint64(m.sigma))
		}
		total[j] += n
	}
}

// systemWords gives random words from the operating system, read in blocks of 64: a
// system call costs more than a word, and unused words cost time too. A word is erased
// when it is used; forget erases the unused ones. The zero value is ready to use.
type systemWords struct {
	block [512]byte
	left  int // unused bytes, at the end of block
}

// Uint64 implements [randv2.Source].
func (w *systemWords) Uint64() uint64 {
	if w.left == 0 {
		rand.Read(w.block[:]) // never fails; without randomness it ends the program
		w.left = len(w.block)
	}
	next := w.block[len(w.block)-w.left:]
	word := binary.LittleEndian.Uint64(next)
	binary.LittleEndian.PutUint64(next, 0)
	w.left -= 8
	return word
}

// forget erases the words that were read and not used, so that the next word is read
// anew.
func (w *systemWords) forget() {
	clear(w.block[:])
	w.left = 0
}
