package learner

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"
)

// What Listens says of one edge is what Neighbours says of all.
func TestListensIsNeighbours(t *testing.T) {
	one, other := testAgent(t, nil), testAgent(t, nil)
	edges := []Edge{{Peer: "b", Weight: 2, Live: true}, {Peer: "c", Weight: 1}, {Peer: "d", Weight: 3, Live: true}}
	one.Neighbours(0, edges)
	other.Neighbours(0, edges)
	r := rand.New(rand.NewPCG(1, 5))
	for range 100 {
		k := r.IntN(len(edges))
		edges[k].Live = r.IntN(2) == 0
		got, want := one.Listens(1, k, edges[k].Live), other.Neighbours(1, edges)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(one.edges, other.edges) || one.listening != other.listening {
			t.Fatalf("with the edges %v: %v, listening %v; want %v, %v", edges, got, one.listening, want, other.listening)
		}
	}
}

// Rows that lie one behind the other are named at once, and nothing between others.
func TestRowsAreShownTogether(t *testing.T) {
	block := make([]float64, 20)
	slots := []slot{{x: block[:3]}, {x: block[3:6]}, {}, {x: block[6:9]}, {x: block[12:15]}, {x: block[9:12]}}
	type shown struct {
		at   unsafe.Pointer
		size uintptr
	}
	var got []shown
	showRows(func(at unsafe.Pointer, size uintptr) { got = append(got, shown{at, size}) }, slots)
	want := []shown{{unsafe.Pointer(&block[0]), 72}, {unsafe.Pointer(&block[12]), 24}, {unsafe.Pointer(&block[9]), 24}}
	if !slices.Equal(got, want) {
		t.Errorf("shown are %v, want %v", got, want)
	}
	showRows(func(unsafe.Pointer, uintptr) { t.Error("an empty slot is shown") }, []slot{{}, {}})
}
