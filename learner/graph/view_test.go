package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"p2pnode/learner"
)

var profiles = learner.Graph{Rule: "profile", Degree: 3, Gamma: 1, Profile: 3}

func name(i int) learner.ID { return learner.ID(fmt.Sprintf("%04d", i)) }

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// randomEntry draws a peer's entry with a profile of its own.
func randomEntry(i int, r *rand.Rand) Entry {
	return Entry{Peer: name(i), End: End{Vector: []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}}}
}

func testView(l Limits) *View {
	v := NewView("self", profiles, l, source(1))
	v.SetOwn(End{Vector: []float64{1, 0, 0}})
	return v
}

func anybody(learner.ID) bool { return true }

func peers(entries []Entry) []learner.ID {
	var out []learner.ID
	for _, e := range entries {
		out = append(out, e.Peer)
	}
	return out
}

// Whatever the order in which entries pass by, the nearest are the most similar of
// all of them, as a sort of everything says.
func TestNearestAreTheMostSimilarSeen(t *testing.T) {
	r := source(2)
	for trial := range 50 {
		v := testView(Limits{Random: 5, Nearest: 8, Exchange: 6, MaxAge: 10})
		var all []Entry
		for i := range 40 {
			all = append(all, randomEntry(i, r))
		}
		for range 60 {
			var batch []Entry
			for range 6 {
				batch = append(batch, all[r.IntN(len(all))])
			}
			v.Merge(batch)
		}
		for part := range slices.Chunk(all, 6) {
			v.Merge(part)
		}
		slices.SortFunc(all, func(a, b Entry) int {
			return heaviest(ranked{weight: Weight(profiles, v.own, a.End)}, ranked{weight: Weight(profiles, v.own, b.End)})
		})
		if got, want := peers(v.Best(8, anybody)), peers(all[:8]); !slices.Equal(got, want) {
			t.Fatalf("trial %d: nearest %v, want %v", trial, got, want)
		}
	}
}

func TestNewerReplacesOlder(t *testing.T) {
	vector := func(x float64) []float64 { return []float64{1, x, 0} }
	for _, c := range []struct {
		name     string
		old, new Entry
		vector   []float64
		age      uint32
	}{
		{"a newer round", Entry{End: End{Round: 3, Vector: vector(1)}}, Entry{End: End{Round: 4, Vector: vector(2)}, Age: 5}, vector(2), 0},
		{"an older round", Entry{End: End{Round: 3, Vector: vector(1)}, Age: 5}, Entry{End: End{Round: 2, Vector: vector(2)}}, vector(1), 0},
		{"the same, younger", Entry{End: End{Round: 3, Vector: vector(1)}, Age: 5}, Entry{End: End{Round: 3, Vector: vector(2)}, Age: 4}, vector(2), 4},
		{"the same, older", Entry{End: End{Round: 3, Vector: vector(1)}, Age: 5}, Entry{End: End{Round: 3, Vector: vector(2)}, Age: 6}, vector(1), 5},
		{"nothing about a known one", Entry{End: End{Vector: vector(1)}, Age: 5}, Entry{}, vector(1), 0},
		{"something about an unknown one", Entry{Age: 5}, Entry{End: End{Vector: vector(1)}, Age: 5}, vector(1), 5},
		{"something old about one that somebody unknown has just named", Entry{Age: 1}, Entry{End: End{Vector: vector(1)}, Age: 5}, vector(1), 1},
	} {
		for _, l := range []Limits{{Nearest: 4, Exchange: 4, MaxAge: 9}, {Random: 4, Exchange: 4, MaxAge: 9}} {
			v := testView(l)
			c.old.Peer, c.new.Peer = "a", "a"
			v.Add(c.old)
			v.Add(c.new)
			got := v.Best(1, anybody)
			if l.Random == 0 && c.old.Vector == nil && len(got) == 1 && got[0].Age == c.new.Age {
				continue // unknown ones have no place among the nearest
			}
			if len(got) != 1 || !slices.Equal(got[0].Vector, c.vector) || got[0].Age != c.age {
				t.Errorf("%s, %+v: %+v", c.name, l, got)
			}
		}
	}
}

// What is not heard of again is forgotten; what is, stays.
func TestOldEntriesDieOut(t *testing.T) {
	v := testView(Limits{Random: 4, Nearest: 4, Exchange: 8, MaxAge: 5})
	r := source(3)
	v.Add(randomEntry(1, r), randomEntry(2, r), Entry{Peer: name(3)})
	for k := range 6 {
		if v.Len() != 3 {
			t.Fatalf("%d peers after %d exchanges", v.Len(), k)
		}
		v.Partner()
		if k == 3 {
			v.Merge([]Entry{{Peer: name(3)}})
		}
	}
	if got := peers(v.Best(9, anybody)); !slices.Equal(got, []learner.ID{name(3)}) {
		t.Errorf("left: %v", got)
	}
	v.Remove(name(3))
	if _, _, ok := v.Partner(); ok || v.Len() != 0 {
		t.Error("an empty view has a partner")
	}
}

// An exchange says whether it brought somebody nearer: a new peer does, the same
// one again does not, nor does one that is too far for a full layer.
func TestMergeSaysWhoIsNearer(t *testing.T) {
	v := NewView("self", learner.Graph{Rule: "profile", Degree: 1, Gamma: 0.1}, Limits{Random: 2, Nearest: 1, Exchange: 8, MaxAge: 5}, source(5))
	v.SetOwn(End{Vector: []float64{1, 0}})
	for _, c := range []struct {
		entry Entry
		want  bool
	}{
		{Entry{Peer: name(1)}, false},
		{Entry{Peer: name(2), End: End{Vector: []float64{1, 0.2}}}, true},
		{Entry{Peer: name(2), End: End{Vector: []float64{1, 0.2}}}, false},
		{Entry{Peer: name(3), End: End{Vector: []float64{1, 0.5}}}, false},
		{Entry{Peer: name(4), End: End{Vector: []float64{1, 0.1}}}, true},
	} {
		if got := v.Merge([]Entry{c.entry}); got != c.want {
			t.Errorf("%s brings somebody nearer: %v, want %v", c.entry.Peer, got, c.want)
		}
	}
	if v.Merge(nil) {
		t.Error("nothing brings somebody nearer")
	}
}

// Each peer is asked in its turn, the oldest first.
func TestPartnerIsTheOldest(t *testing.T) {
	v := NewView("self", learner.Graph{Rule: "random", Degree: 3}, Limits{Random: 6, Exchange: 4, MaxAge: 20}, source(1))
	for i := range 6 {
		v.Add(Entry{Peer: name(i)})
	}
	for range 3 {
		var asked []learner.ID
		for range 18 { // half of them are of the samplers, which hold some of the six
			to, offer, ok := v.Partner()
			if !ok || len(offer) != 3 || slices.Contains(peers(offer), to.Peer) {
				t.Fatalf("partner %v, offer %v", to.Peer, peers(offer))
			}
			asked = append(asked, to.Peer)
			to.Age = 0
			v.Merge([]Entry{to})
		}
		if slices.Sort(asked); len(slices.Compact(asked)) != 6 {
			t.Errorf("asked %v", asked)
		}
	}
}

// An offer starts with random entries; the rest are the most similar to the
// receiver, as a sort of everything known says.
func TestOfferSuitsTheReceiver(t *testing.T) {
	r := source(4)
	for range 50 {
		v := testView(Limits{Random: 10, Nearest: 10, Exchange: 9, MaxAge: 20})
		for i := range 30 {
			v.Add(randomEntry(i, r))
		}
		from := randomEntry(99, r)
		weight := func(e Entry) float64 { return Weight(profiles, from.End, e.End) }
		known := v.Best(99, anybody)
		reply := v.Answer(from, nil)
		if len(reply) != 8 {
			t.Fatalf("%d entries", len(reply))
		}
		known = slices.DeleteFunc(known, func(e Entry) bool { return slices.Contains(peers(reply[:2]), e.Peer) })
		slices.SortFunc(known, func(a, b Entry) int { return heaviest(ranked{weight: weight(a)}, ranked{weight: weight(b)}) })
		if got, want := peers(reply[2:]), peers(known[:6]); !slices.Equal(got, want) {
			t.Fatalf("suited %v, want %v", got, want)
		}
	}
}

func TestUnknownComeLast(t *testing.T) {
	v := testView(Limits{Random: 9, Nearest: 2, Exchange: 9, MaxAge: 9})
	v.Add(Entry{Peer: "unknown"}, Entry{Peer: "near", End: End{Vector: []float64{2, 0, 0}}},
		Entry{Peer: "far", End: End{Vector: []float64{0, 1, 0}}}, Entry{Peer: "middle", End: End{Vector: []float64{1, 1, 0}}},
		Entry{Peer: "nonsense", End: End{Vector: []float64{math.NaN(), 1, 0}}}, Entry{Peer: "short", End: End{Vector: []float64{1}}})
	if got := peers(v.Best(9, anybody)); !slices.Equal(got, []learner.ID{"near", "middle", "far", "unknown"}) {
		t.Errorf("best %v", got)
	}
	v.SetOwn(End{Vector: []float64{0, 1, 0}})
	if got := peers(v.Best(2, anybody)); !slices.Equal(got, []learner.ID{"far", "middle"}) {
		t.Errorf("after a change of mind: %v", got)
	}
	if got := peers(v.Best(9, func(id learner.ID) bool { return id == "unknown" })); !slices.Equal(got, []learner.ID{"unknown"}) {
		t.Errorf("only unknown: %v", got)
	}
}

// Sightings of discovery get in even where the sample is full, one each.
func TestAddMakesRoom(t *testing.T) {
	v := testView(Limits{Random: 3, Exchange: 4, MaxAge: 9})
	v.Add(Entry{Peer: "a", Age: 1}, Entry{Peer: "b", Age: 3}, Entry{Peer: "c", Age: 2})
	v.Add(Entry{Peer: "d"})
	got, _ := ids(v)
	if slices.Sort(got); !slices.Equal(got, []learner.ID{"a", "c", "d"}) {
		t.Errorf("sample %v", got)
	}
}
