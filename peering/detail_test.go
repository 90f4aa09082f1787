package peering

import (
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// under has a request to a peer under way.
func (n *node) under(id learner.ID, kind Kind) {
	n.request(&call{Call: Call{graph.Entry{Peer: id}, Request{Kind: kind}}})
}

// Whatever became of the last request, a peer is left alone for a while, and not for
// longer.
func TestPeersAreLeftAlone(t *testing.T) {
	for name, last := range map[string]func(n *node){
		"it declined": func(n *node) { n.under("a", Ask); n.step(declined("a")) },
		"it wants to wait": func(n *node) {
			n.under("a", Ask)
			n.step(Answered{From: "a", Reply: Reply{Answer: Later, Own: graph.Entry{Peer: "a"}}})
		},
		"it did not answer": func(n *node) { n.under("a", Ask); n.step(Answered{From: "a", Failed: true}) },
		"it gave an edge up": func(n *node) {
			n.step(asked("a"))
			n.step(Asked{Request{Kind: Farewell, Own: graph.Entry{Peer: "a"}, Turn: 9}})
		},
	} {
		n := newNode(byRule("random", 2))
		n.step(Seen{graph.Entry{Peer: "a"}})
		last(n)
		n.wait(20*time.Second - 1)
		n.pace.next = time.Hour // no exchange
		if got := asks(n.step(Tick{})); len(got) > 0 || n.Candidates() > 0 {
			t.Errorf("%s: it is asked too soon", name)
		}
		n.wait(1)
		if n.step(Seen{graph.Entry{Peer: "nobody", Age: 1 << 30}}); n.Candidates() != 1 {
			t.Errorf("%s: %d candidates after a while", name, n.Candidates())
		}
		if got := asks(n.step(Tick{})); !slices.Equal(got, []learner.ID{"a"}) {
			t.Errorf("%s: %v are asked after a while", name, got)
		}
	}
}

// An edge dies an hour after its peer was there last, not after it came.
func TestDeadAfterItWasSeenLast(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.joined(t, "a")
	n.wait(2 * time.Hour)
	n.step(Tick{})
	n.step(Lost{"a"})
	n.wait(time.Hour)
	if out := n.step(Tick{}); len(out.Drops) > 0 {
		t.Error("it is given up too soon")
	}
	n.wait(1)
	if out := n.step(Tick{}); len(out.Drops) != 1 {
		t.Error("it is kept for too long")
	}
}

// A neighbour of an earlier run counts once it has said what it holds of this node, in a
// request or in an answer; it is asked as soon as it is there, and once.
func TestNeighboursOfAnEarlierRun(t *testing.T) {
	past := func(c *Config) { c.Edges = []Edge{{Peer: "a", Weight: 1, Since: -time.Hour, Invited: true}} }
	n := newNode(byRule("random", 1), past)
	if e, found := n.Edge("a"); !found || e.Met || e.Since != -time.Hour || !e.Invited {
		t.Errorf("%+v, %v", e, found)
	}
	if _, found := n.Edge("b"); found {
		t.Error("there is an edge nobody agreed on")
	}
	tell := Asked{Request{Kind: Exchange, Own: graph.Entry{Peer: "a"}}}
	if out := n.step(tell); !out.Changed || !n.Edges()[0].Met {
		t.Errorf("%+v when it has said what it holds", out)
	}
	if out := n.step(tell); out.Changed {
		t.Error("it says so twice")
	}
	n = newNode(byRule("random", 1), past)
	if out := n.step(Tick{}); len(asks(out)) > 0 {
		t.Error("it is asked before it is there")
	}
	if out := n.step(Connected{"a"}); out.Next != n.clock {
		t.Error("its coming wakes nobody")
	}
	calls := n.step(Tick{}).Calls
	if len(calls) != 1 || calls[0].To.Peer != "a" || calls[0].Kind != Ask {
		t.Fatalf("%+v", calls)
	}
	if out := n.step(agrees(calls[0])); !out.Changed || len(out.Keeps) != 1 || !out.Keeps[0].Invited {
		t.Errorf("%+v when it has answered", out)
	}
	n.wait(time.Second)
	n.pace.next = time.Hour
	if out := n.step(Tick{}); len(out.Calls) > 0 {
		t.Errorf("%+v when it has answered", out.Calls)
	}
}

// An answer that wants to wait leaves the edge in doubt: it is asked for again sooner
// than others, and not at once.
func TestDoubtIsCleared(t *testing.T) {
	for name, over := range map[string]Answered{
		"later":  {From: "a", Reply: Reply{Answer: Later, Own: graph.Entry{Peer: "a"}}},
		"silent": {From: "a", Failed: true},
	} {
		n := newNode(byRule("random", 1))
		n.joined(t, "a")
		n.under("a", Ask)
		n.step(over)
		if got := n.renewal(n.links[0]); got != 20*time.Second {
			t.Errorf("%s: asked for again after %v", name, got)
		}
		n.links[0].met = false
		if got := n.renewal(n.links[0]); got != 3*time.Second {
			t.Errorf("%s: before it was met asked for again after %v", name, got)
		}
	}
}

// The search is in a hurry after each change, then twice as slow each time.
func TestPace(t *testing.T) {
	var p pace
	var now time.Duration
	for _, pause := range []time.Duration{1, 2, 4, 8, 10, 10} {
		if !p.due(now, 10*time.Second, 0.5) {
			t.Fatalf("not due at %v", now)
		}
		now += pause * time.Second
		if p.due(now-1, 10*time.Second, 0.5) {
			t.Fatalf("due before %v", now)
		}
	}
	p.hurry()
	if !p.due(0, time.Minute, 0) || p.next != time.Second/2 {
		t.Errorf("%+v after a change", p)
	}
}

// While neighbours are missing and more peers would help, exchanges stay frequent.
func TestTheSearchGoesOn(t *testing.T) {
	slowest := func(n *node) time.Duration {
		for range 600 {
			n.wait(time.Second)
			n.step(Tick{})
		}
		return n.pace.pause
	}
	few := newNode(byRule("random", 4))
	few.step(Seen{graph.Entry{Peer: "a"}}) // it never answers
	if got := slowest(few); got != 10*time.Second {
		t.Errorf("of a node that misses neighbours: %v", got)
	}
	many := newNode(byRule("random", 4))
	many.sees(make([][]float64, 8)...)
	for id := range many.contacts {
		delete(many.contacts, id)
	}
	for k := range 8 {
		many.contact(stranger(k)).retryAt = time.Hour
	}
	if got := slowest(many); got != many.renewEvery {
		t.Errorf("of a node that knows enough: %v", got)
	}
}

// Enough is twice the degree, and everybody the owner names.
func TestEnough(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.sees(make([][]float64, 3)...)
	if n.Enough() {
		t.Error("three peers are enough")
	}
	if n.sees(make([][]float64, 4)...); !n.Enough() {
		t.Error("four peers are not enough")
	}
	n = newNode(byRule("random", 2), func(c *Config) { c.Only = []learner.ID{stranger(0), "friend"} })
	if n.sees(make([][]float64, 4)...); n.Enough() || n.Candidates() != 1 {
		t.Errorf("without the friend it is enough, or there are %d candidates", n.Candidates())
	}
	if n.step(Seen{graph.Entry{Peer: "friend"}}); !n.Enough() || n.Candidates() != 2 {
		t.Errorf("with the friend it is not enough, or there are %d candidates", n.Candidates())
	}
}

// Of a named peer the newest that it said counts.
func TestNamedPeersAreKept(t *testing.T) {
	n := newNode(byRule("released", 2), func(c *Config) { c.Only = []learner.ID{"friend"} })
	for _, c := range []struct{ round, want uint64 }{{0, 0}, {5, 5}, {3, 5}, {0, 5}, {5, 5}, {6, 6}} {
		e := graph.Entry{Peer: "friend", End: graph.End{Round: c.round}}
		if c.round > 0 {
			e.Vector = []float64{1}
		}
		n.step(Seen{e})
		if got := n.named["friend"]; got.Round != c.want || (c.want > 0) != (got.Vector != nil) {
			t.Errorf("after round %d: %+v", c.round, got)
		}
	}
}

// What one peer can have of exchanges, and how much of it is believed.
func TestExchangesArePaced(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.sees(make([][]float64, 4)...)
	exchange := func(tells learner.ID) (told, believed bool) {
		q := Request{Kind: Exchange, Own: graph.Entry{Peer: "a"}, Known: []graph.Entry{{Peer: tells}}}
		told = len(n.step(Asked{q}).Reply.Known) > 0
		return told, n.view.Count(func(id learner.ID) bool { return id == tells }) > 0
	}
	for _, c := range []struct {
		wait           time.Duration
		told, believed bool
	}{
		{0, true, true}, {time.Second/4 - 1, false, false}, {1, true, false},
		{10*time.Second - time.Second/4 - 1, true, false}, {time.Second / 4, true, true},
	} {
		n.wait(c.wait)
		tells := learner.ID("told at " + n.clock.String())
		if told, believed := exchange(tells); told != c.told || believed != c.believed {
			t.Errorf("at %v: told %v, believed %v", n.clock, told, believed)
		}
	}
}

// An answer tells of its peer, and an exchange that brings somebody nearer makes the
// search hurry.
func TestAnswersAreTakenIn(t *testing.T) {
	n := newNode(byRule("profile", 1))
	n.step(Declared{graph.End{Vector: []float64{1, 0}}})
	n.step(Tick{})
	n.under("a", Ask)
	n.step(Answered{From: "a", Reply: Reply{Answer: Later, Own: graph.Entry{Peer: "a", End: graph.End{Vector: []float64{1, 1}}}}})
	if n.view.Len() != 1 || n.pace == (pace{}) {
		t.Errorf("%d are known, pace %+v", n.view.Len(), n.pace)
	}
	n.under("a", Exchange)
	n.step(Answered{From: "a", Reply: Reply{
		Own: graph.Entry{Peer: "a", End: graph.End{Vector: []float64{1, 1}}}, Known: []graph.Entry{{Peer: "b", End: graph.End{Vector: []float64{1, 0}}}},
	}})
	if n.view.Len() != 2 || n.pace != (pace{}) {
		t.Errorf("%d are known, pace %+v", n.view.Len(), n.pace)
	}
}

// An edge that a better one pushed out is given up, and its other end is told, once it
// is not being asked for something else; if it agrees to a new edge first, it is not.
func TestBetterOnesPushOut(t *testing.T) {
	n := newNode(byRule("profile", 1))
	n.step(Declared{graph.End{Vector: []float64{1, 0}}})
	poor := n.sees([]float64{1, 1})[0]
	calls := n.step(Tick{}).Calls
	if len(calls) != 1 || calls[0].To.Peer != poor {
		t.Fatalf("%+v", calls)
	}
	over := agrees(calls[0])
	over.Reply.Own.Vector = []float64{1, 1}
	n.step(over)
	n.step(asked("good", 1, 0))
	n.under(poor, Exchange)
	turn := n.turn(poor)
	out := n.step(Tick{})
	if len(out.Drops) != 1 || out.Drops[0].Peer != poor || len(out.Calls) > 1 {
		t.Fatalf("%+v", out)
	}
	if out := n.step(Answered{From: poor, Reply: Reply{Own: graph.Entry{Peer: poor, End: graph.End{Vector: []float64{1, 1}}}}}); out.Next != n.clock {
		t.Error("it is in no hurry to tell")
	}
	i := slices.IndexFunc(n.step(Tick{}).Calls, func(c Call) bool { return c.Kind == Farewell && c.To.Peer == poor && c.Turn == turn })
	if i < 0 || turn == 0 {
		t.Errorf("%s is not told that its edge of turn %d ended", poor, turn)
	}
	if _, linked := n.Edge(poor); linked || n.Turnover() != 3 {
		t.Errorf("the edge is there still, or %d changes are counted", n.Turnover())
	}
}

// A node that leaves tells its neighbours at once, and wakes for those that agree
// meanwhile.
func TestLeaveIsPrompt(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.joined(t, "a")
	n.step(Tick{})
	n.wait(time.Millisecond)
	if out := n.step(Leave{}); out.Next != n.clock {
		t.Errorf("the next look is at %v", out.Next)
	}
}

// Of too many contacts those needed least recently are forgotten.
func TestOldestContactIsForgotten(t *testing.T) {
	n := newNode(byRule("random", 2))
	for k := range 512 {
		n.wait(1)
		n.now = n.clock
		n.contact(stranger(k))
	}
	n.wait(1)
	n.now = n.clock
	n.contact(stranger(0)) // it is needed again
	n.contact("new")
	if n.contacts[stranger(0)] == nil || n.contacts[stranger(1)] != nil || len(n.contacts) != 512 {
		t.Errorf("of %d contacts another than the oldest was forgotten", len(n.contacts))
	}
}

// A node that wants no neighbours asks nobody, exchanges nothing, and agrees to no edge.
func TestWantsNoNeighbours(t *testing.T) {
	for _, rule := range []string{"random", "profile"} {
		n := newNode(byRule(rule, 0))
		n.step(Declared{graph.End{Vector: []float64{1, 0}}})
		n.sees([]float64{1, 0}, []float64{1, 0})
		n.wait(time.Hour)
		if out := n.step(Tick{}); len(out.Calls) > 0 {
			t.Errorf("%s: it calls %+v", rule, out.Calls)
		}
		if n.step(asked("a", 1, 0)); n.Turnover() != 0 || !n.Enough() {
			t.Errorf("%s: %d edges; enough: %v", rule, n.Turnover(), n.Enough())
		}
	}
}
