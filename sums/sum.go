package sums

import (
	"errors"
	"fmt"
	"math"

	"p2pnode/privacy"
)

// Terms are everything that a private sum depends on, and its name is made from them.
// Each device takes them from its own task; nobody sends them.
type Terms struct {
	Task         Digest // hash of the task
	Recipe       string // what is summed, with all constants
	Catalogue    Digest // hash of the public list of keys; zero: none
	Epoch, Round uint64
	Committee    Committee
	Distance     float64 // how far a record moves a device's vector: l2, in real units
	Std          float64 // of the noise that honest members alone add up to, in real units
	Dimension    int
	Contributors int // the largest number in a list, 1 to 2^20
	Records      int // the largest number for one contributor, 1 to 2^20
}

// Sum is one private sum: valid terms, and what follows from them. It is immutable and
// may be shared.
type Sum struct {
	Terms
	ID        Digest            // its name, which is in every signature, key and derivation
	Mechanism privacy.Mechanism // what a contributor pays for
	// Limit is the largest coordinate of a contribution, in grid units, at which all
	// contributors together stay inside the ring.
	Limit   int64
	classes []Class
}

// mostDimension keeps a contribution, and the messages with a vector, below 64 MiB.
const mostDimension = 1 << 23

// New returns the sum of the terms. Its errors name the term that is invalid.
func New(t Terms) (*Sum, error) {
	if err := t.Committee.validate(); err != nil {
		return nil, err
	}
	switch {
	case len(t.Recipe) < 1 || len(t.Recipe) > 1<<16:
		return nil, fmt.Errorf("sums: the recipe has %d bytes, choose 1 to 65536", len(t.Recipe))
	case t.Dimension < 1 || t.Dimension > mostDimension:
		return nil, fmt.Errorf("sums: dimension is %d, choose 1 to %d", t.Dimension, mostDimension)
	case t.Contributors < 1 || t.Contributors > 1<<20:
		return nil, fmt.Errorf("sums: %d contributors at most, choose 1 to 2^20", t.Contributors)
	case t.Records < 1 || t.Records > privacy.MaxSlots:
		return nil, fmt.Errorf("sums: %d records at most, choose 1 to 2^20", t.Records)
	}
	m, err := privacy.NewGaussian(t.Distance/2, t.Std)
	if err != nil {
		return nil, err
	}
	if m, err = m.Bounded(t.Distance, t.Dimension); err != nil {
		return nil, err
	}
	s := &Sum{Terms: t, Mechanism: m, classes: t.Committee.Classes()}
	// The noise of all members takes far less than half of the ring.
	s.Limit = min(1<<52, (1<<62)/int64(t.Contributors))
	s.ID = s.name()
	return s, nil
}

// name is the digest of all terms and of the grid that follows from them.
func (s *Sum) name() Digest {
	var w writer
	w.fixed(s.Task[:])
	w.variable([]byte(s.Recipe))
	w.fixed(s.Catalogue[:])
	w.u64(s.Epoch)
	w.u64(s.Round)
	w.u8(s.Committee.Colluding)
	w.u8(len(s.Committee.Members))
	for _, m := range s.Committee.Members {
		w.fixed(m[:])
	}
	w.float(s.Mechanism.Distance())
	w.float(s.Mechanism.Scale())
	w.float(s.Mechanism.Unit())
	w.u8(64) // bits of the ring
	w.u32(uint32(s.Dimension))
	w.u32(uint32(s.Contributors))
	w.u32(uint32(s.Records))
	return hash("sum", w)
}

// Noise is the standard deviation of the noise in each coordinate of the opened sum:
// all members' parts.
func (s *Sum) Noise() float64 {
	return s.Mechanism.PartStd(s.Committee.Honest()) * math.Sqrt(float64(len(s.Committee.Members)))
}

var errDimension = errors.New("sums: the vector has not the dimension of the sum")
