package peering

import (
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// A neighbour whose renewal no longer fits is given up, by whichever end notices, and
// the other end is told why.
func TestARenewalThatFitsNoMoreEndsTheEdge(t *testing.T) {
	for _, asks := range []bool{true, false} {
		n := newNode(byRule("profile", 2))
		n.step(Declared{graph.End{Vector: []float64{1, 0}}})
		if out := n.step(asked("a", 1, 0)); out.Reply.Answer != Accepted {
			t.Fatalf("declined: %s", out.Reply.Reason)
		}
		n.wait(time.Second)
		var out Output
		if asks {
			out = n.step(asked("a", -1, 0))
			if out.Reply.Answer != Declined || out.Reply.Reason != notTogether {
				t.Errorf("the answer is %d, %q", out.Reply.Answer, out.Reply.Reason)
			}
		} else {
			n.under("a", Ask)
			out = n.step(Answered{From: "a", Reply: Reply{Answer: Accepted, Turn: 9, Own: graph.Entry{Peer: "a", End: graph.End{Vector: []float64{-1, 0}}}}})
		}
		if len(n.links) != 0 || len(out.Drops) != 1 || out.Drops[0] != (Drop{"a", notTogether}) || !out.Changed {
			t.Errorf("asks %v: %d edges, %+v", asks, len(n.links), out)
		}
	}
}

// A neighbour that declines the renewal of an edge has none.
func TestADeclinedRenewalEndsTheEdge(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.joined(t, "a")
	n.under("a", Ask)
	if out := n.step(declined("a")); len(n.links) != 0 || len(out.Drops) != 1 || out.Drops[0].Reason != "declined" {
		t.Errorf("%d edges, %+v", len(n.links), out.Drops)
	}
}

// An edge whose peer went is neither up nor counted, and is asked for when it is back.
func TestAPeerThatComesBackIsAsked(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.joined(t, "a")
	n.pace.next = time.Hour // no exchange
	n.step(Lost{"a"})
	n.wait(time.Second)
	n.step(Tick{})
	if l := n.link("a"); l.up || !n.missing() {
		t.Fatalf("after it went: up %v, missing %v", l.up, n.missing())
	}
	n.wait(time.Second)
	n.step(Connected{"a"})
	if got := asks(n.step(Tick{})); len(got) != 1 || !n.link("a").up || n.missing() {
		t.Errorf("after it came back: %v are asked, up %v, missing %v", got, n.link("a").up, n.missing())
	}
}

// A renewal that changes the weight is told, and looked at at once; one that changes
// nothing is not.
func TestANewWeightIsTold(t *testing.T) {
	n := newNode(byRule("profile", 2))
	n.step(Declared{graph.End{Vector: []float64{1, 0}}})
	n.step(asked("a", 1, 0))
	n.wait(time.Minute)
	if out := n.step(asked("a", 1, 0)); out.Reply.Answer != Accepted || out.Changed {
		t.Errorf("the same weight: answer %d, changed %v", out.Reply.Answer, out.Changed)
	}
	n.wait(time.Minute)
	if out := n.step(asked("a", 1, 0.2)); out.Reply.Answer != Accepted || !out.Changed {
		t.Errorf("another weight: answer %d, changed %v", out.Reply.Answer, out.Changed)
	}
}

// Leaving twice is leaving once.
func TestLeavingTwice(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.joined(t, "a", "b")
	n.step(Leave{})
	n.step(Leave{})
	if d := n.Departure(); !d.Begun || d.Neighbours != 2 {
		t.Errorf("%+v", d)
	}
}

// Named peers' entries are kept from an exchange too, and one that is not named hides
// none that comes after it.
func TestNamedPeersAreKeptFromAnExchange(t *testing.T) {
	n := newNode(byRule("random", 2), func(c *Config) { c.Only = []learner.ID{"friend"} })
	n.under("friend", Exchange)
	n.step(Answered{From: "friend", Reply: Reply{
		Own:   graph.Entry{Peer: "stranger"},
		Known: []graph.Entry{{Peer: "another"}, {Peer: "friend", Age: 7}},
	}})
	if e, known := n.named["friend"]; !known || e.Age != 7 || len(n.named) != 1 {
		t.Errorf("%d named peers, the friend's entry %+v", len(n.named), e)
	}
}

// An edge is renewed soon after its ends were connected and then seldom, and soon again when
// the peer was away.
func TestRenewalsBecomeRare(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.joined(t, "a")
	n.pace.next = 100 * time.Hour // no exchange
	renewed := func() (minutes []int) {
		begun := n.clock
		for range 40 * 60 {
			n.wait(time.Second)
			for _, c := range n.step(Tick{}).Calls {
				minutes = append(minutes, int((n.clock - begun).Minutes()))
				n.step(agrees(c))
			}
		}
		return minutes
	}
	want := []int{1, 6, 11, 16, 21, 26, 31, 36}
	if got := renewed(); !slices.Equal(got, want) {
		t.Errorf("renewed after %v minutes, want %v", got, want)
	}
	n.step(Lost{"a"})
	n.step(Connected{"a"})
	if got, want := renewed(), append([]int{0}, want...); !slices.Equal(got, want) {
		t.Errorf("when the peer came back, renewed after %v minutes, want %v", got, want)
	}
}

// A renewal without an answer is repeated after a while, not at the next look.
func TestARenewalWithoutAnAnswerIsRepeatedLater(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.joined(t, "a")
	n.pace.next = time.Hour // no exchange
	n.wait(time.Minute + time.Second)
	if got := asks(n.step(Tick{})); len(got) != 1 {
		t.Fatalf("%v are asked for a renewal", got)
	}
	n.step(Answered{From: "a", Failed: true})
	var again []int
	for after := range 30 {
		if len(asks(n.step(Tick{}))) > 0 {
			again = append(again, after)
		}
		n.wait(time.Second)
	}
	if !slices.Equal(again, []int{21}) {
		t.Errorf("asked again after %v s, want 21", again)
	}
}
