package ring_test

import (
	"slices"
	"sync"
	"testing"

	"p2pnode/internal/ring"
)

func number(n uint64) uint64 { return n }

func TestReadersSeeWhatIsKept(t *testing.T) {
	r := ring.New[uint64](3)
	if values, first, _ := r.From(7); len(values) != 0 || first != 0 {
		t.Errorf("an empty ring has %v from %d on", values, first)
	}
	for range 5 {
		r.Add(number)
	}
	for from, want := range map[uint64][]uint64{0: {2, 3, 4}, 2: {2, 3, 4}, 4: {4}, 5: nil, 9: nil} {
		values, first, _ := r.From(from)
		if !slices.Equal(values, want) || first != max(2, min(from, 5)) {
			t.Errorf("from %d on: %v, the first is %d; want %v", from, values, first, want)
		}
	}
}

// One writer does not wait for readers, and they see everything in order or know what they
// lost.
func TestReadersFollow(t *testing.T) {
	const all = 20000
	r := ring.New[uint64](16)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for next := uint64(0); next < all; {
				values, first, more := r.From(next)
				if first < next {
					t.Errorf("number %d comes again after %d", first, next)
				}
				for i, v := range values {
					if v != first+uint64(i) {
						t.Errorf("number %d is %d", first+uint64(i), v)
					}
				}
				if next = first + uint64(len(values)); next < all {
					<-more
				}
			}
		})
	}
	for range all {
		r.Add(number)
	}
	readers.Wait()
}
