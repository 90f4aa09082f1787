package learner

import (
	"math/rand/v2"
	"reflect"
	"testing"
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
