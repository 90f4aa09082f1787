package graph

import (
	"fmt"
	"testing"

	"p2pnode/learner"
)

func testSamplers(n int, seed uint64) samplers {
	r := source(seed)
	s := make(samplers, n)
	for i := range s {
		s[i].net, s[i].peer = r.Uint64(), r.Uint64()
	}
	return s
}

// count is how many of the places hold a peer for which of holds.
func (s samplers) count(of func(Entry) bool) (n int) {
	for i := range s {
		if s[i].held && of(s[i].Entry) {
			n++
		}
	}
	return n
}

// A crowd of ten thousand in 64 parts of the network, each of whom is heard of a
// hundred times, has no more places than its parts are of all parts: 64 of 128, of
// 400 places. The standard deviation is 10; five of them make a false failure rarer than 1e-6.
func TestFrequencyBuysNoPlace(t *testing.T) {
	s := testSamplers(400, 1)
	hostile := func(e Entry) bool { return e.Peer[0] == 's' }
	for turn := range uint32(20) {
		for i := range 64 {
			s.hear(Entry{Peer: name(i), Net: fmt.Sprint("home ", i)}, turn)
		}
		for i := range 1000 {
			s.hear(Entry{Peer: learner.ID(fmt.Sprint("s", i)), Net: fmt.Sprint("hole ", i%64)}, turn)
		}
	}
	if got := s.count(hostile); got < 150 || got > 250 {
		t.Errorf("the crowd holds %d of %d places", got, len(s))
	}
}

// Who has been held for long stays in three of four places for as long again, however
// many come.
func TestAge(t *testing.T) {
	s := testSamplers(20, 2)
	hostile := func(e Entry) bool { return e.Peer[0] == 's' }
	for i := range 50 {
		s.hear(Entry{Peer: name(i)}, 0)
	}
	for turn := uint32(40); turn < 80; turn++ {
		for i := range 5000 {
			s.hear(Entry{Peer: learner.ID(fmt.Sprint("s", i))}, turn)
		}
	}
	if got := s.count(hostile); got != s.change() {
		t.Errorf("the crowd holds %d places after as long again, want %d", got, s.change())
	}
}

// Who is found to be elsewhere than it said gives its places back.
func TestRelocate(t *testing.T) {
	s := testSamplers(5, 3)
	s.hear(Entry{Peer: "a", Net: "64.1.0.0/16"}, 0)
	s.relocate(Entry{Peer: "a", Net: "64.1.0.0/16"})
	if s.count(func(Entry) bool { return true }) != 5 {
		t.Error("it lost a place where it is")
	}
	s.relocate(Entry{Peer: "a", Net: "64.2.0.0/16"})
	if s.count(func(Entry) bool { return true }) != 0 {
		t.Error("it has a place where it is not")
	}
}

// Requests of many do not fill a view: what an exchange may change of the sample is
// bounded by those that the node begins itself.
func TestManyCannotFlushASample(t *testing.T) {
	v := NewView("self", learner.Graph{Rule: "random", Degree: 10}, LimitsFor(10), source(4))
	for i := range 40 {
		v.Add(Entry{Peer: name(i)})
	}
	v.Partner()
	before, _ := ids(v)
	for k := range 200 {
		from := Entry{Peer: learner.ID(fmt.Sprint("s", k))}
		var known []Entry
		for i := range 9 {
			known = append(known, Entry{Peer: learner.ID(fmt.Sprint("s", 9*k+i+200))})
		}
		v.Answer(from, known)
		v.Hear(from)
	}
	after, _ := ids(v)
	if left := common(before, after); left < len(before)-LimitsFor(10).Exchange {
		t.Errorf("%d of %d are left in the sample", left, len(before))
	}
}
