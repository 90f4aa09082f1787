package draft

import (
	"math"
	"math/rand/v2"
	"slices"
)

// sketch estimates the number of different texts from the smallest of their hashes. It
// is exact as long as it holds all hashes; after that it is off by 1/sqrt(hashes),
// about 3 % (Bar-Yossef et al. 2002, algorithm 2).
type sketch struct{ least []uint64 } // sorted, each once

// hashes is how many hashes a sketch keeps.
const hashes = 1024

func (s *sketch) add(text string) {
	sum := hash(text)
	at, found := slices.BinarySearch(s.least, sum)
	switch {
	case found || at == hashes:
		return
	case len(s.least) == hashes:
		s.least = s.least[:hashes-1]
	}
	s.least = slices.Insert(s.least, at, sum)
}

// hash is FNV-1a followed by the last step of SplitMix64, which mixes the bits: for
// short texts the high bits of FNV-1a are alike.
func hash(text string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return mixBits(h)
}

// mixBits is the last step of SplitMix64.
func mixBits(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// count is how many different texts were added.
func (s *sketch) count() int {
	if len(s.least) < hashes {
		return len(s.least)
	}
	return int((hashes - 1) / (float64(s.least[hashes-1]) / math.MaxUint64))
}

// sample keeps some of what is added; each is equally likely to be kept (Vitter 1985,
// algorithm R).
type sample[T any] struct {
	kept []T
	most int
	seen int
	dice *rand.Rand
}

// samples is how many numbers are kept of a column.
const samples = 256

func newSample[T any](most int) sample[T] {
	return sample[T]{most: most, dice: rand.New(rand.NewPCG(1, uint64(most)))}
}

func (s *sample[T]) add(v T) {
	if to := s.next(); to != nil {
		*to = v
	}
}

// next is where to put what comes next; nil if it is not kept.
func (s *sample[T]) next() *T {
	s.seen++
	if len(s.kept) < s.most {
		var none T
		s.kept = append(s.kept, none)
		return &s.kept[len(s.kept)-1]
	}
	if i := s.dice.IntN(s.seen); i < s.most {
		return &s.kept[i]
	}
	return nil
}

// median is the median of the numbers; NaN without numbers.
func median(numbers []float64) float64 {
	if len(numbers) == 0 {
		return math.NaN()
	}
	return slices.Sorted(slices.Values(numbers))[len(numbers)/2]
}
