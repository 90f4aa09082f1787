package peering

import (
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// Of a named peer the latest address counts, also where nothing new was released since.
func TestANamedPeerMoves(t *testing.T) {
	n := newNode(byRule("released", 2), func(c *Config) { c.Only = []learner.ID{"friend"} })
	for _, address := range []string{"old", "new"} {
		n.step(Seen{graph.Entry{Peer: "friend", End: graph.End{Round: 5, Vector: []float64{1}}, Passport: []byte(address)}})
	}
	if got := string(n.named["friend"].Passport); got != "new" {
		t.Errorf("it is looked for at the %s address", got)
	}
}

// A peer that asks for an exchange may bring a named one's entry.
func TestNamedPeersAreKeptFromARequest(t *testing.T) {
	n := newNode(byRule("random", 2), func(c *Config) { c.Only = []learner.ID{"friend"} })
	n.step(Asked{Request{Kind: Exchange, Own: graph.Entry{Peer: "a"}, Known: []graph.Entry{{Peer: "friend"}}}})
	if n.Candidates() != 1 {
		t.Errorf("%d candidates, want the friend", n.Candidates())
	}
}

// A named peer that declined is left alone for a while as any other is.
func TestANamedPeerIsLeftAlone(t *testing.T) {
	n := newNode(byRule("random", 2), func(c *Config) { c.Only = []learner.ID{"friend"} })
	n.step(Seen{graph.Entry{Peer: "friend"}})
	if got := asks(n.step(Tick{})); !slices.Equal(got, []learner.ID{"friend"}) {
		t.Fatalf("%v are asked, want the friend", got)
	}
	n.step(declined("friend"))
	n.wait(time.Second)
	if got := asks(n.step(Tick{})); len(got) > 0 {
		t.Errorf("%v are asked again at once", got)
	}
}

// An edge that comes or goes makes the node look at once, and its exchanges frequent.
func TestAChangeMakesHaste(t *testing.T) {
	n := newNode(byRule("random", 2))
	for what, in := range map[string]Input{
		"comes": asked("a"),
		"goes":  Asked{Request{Kind: Farewell, Own: graph.Entry{Peer: "b"}, Turn: 9}},
	} {
		n.joined(t, "b")
		n.wait(time.Minute)
		n.step(Tick{})
		n.pace = pace{next: time.Hour, pause: time.Minute}
		if out := n.step(in); out.Next != n.clock || n.pace != (pace{}) {
			t.Errorf("an edge %s: it looks %v later, exchanges %+v", what, out.Next-n.clock, n.pace)
		}
		n.wait(time.Minute)
	}
}

// A request under way is an edge to come: nobody else is asked for it meanwhile.
func TestARequestUnderWayIsANeighbour(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.sees(nil, nil, nil)
	n.window.answered() // or there is no room for a second one
	first := asks(n.step(Tick{}))
	n.wait(time.Hour)
	if more := asks(n.step(Tick{})); len(first) != 1 || len(more) > 0 {
		t.Errorf("%v are asked, and then %v", first, more)
	}
}

// Who gets no answer asks nobody for a while.
func TestNoAnswerMakesItRest(t *testing.T) {
	n := newNode(byRule("random", 10))
	n.sees(make([][]float64, 5)...)
	first := asks(n.step(Tick{}))
	if len(first) != 1 {
		t.Fatalf("%v are asked", first)
	}
	n.step(Answered{From: first[0], Failed: true})
	if more := asks(n.step(Tick{})); len(more) > 0 {
		t.Errorf("%v are asked at once", more)
	}
	n.wait(2 * time.Second)
	if more := asks(n.step(Tick{})); len(more) != 1 {
		t.Errorf("%v are asked after a rest", more)
	}
}

// Connections to strangers come and go, and mean nothing.
func TestConnectionsOfStrangers(t *testing.T) {
	n := newNode(byRule("random", 1))
	for _, in := range []Input{Connected{"a"}, Lost{"a"}, Answered{From: "a", Failed: true}} {
		if out := n.step(in); len(out.Calls)+len(out.Drops) > 0 || out.Changed {
			t.Errorf("%T of a stranger: %+v", in, out)
		}
	}
}

// The connection to somebody who is a neighbour no more ends a while after, and that is
// said once.
func TestAConnectionOutlastsItsEdge(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.joined(t, "a")
	n.step(Asked{Request{Kind: Farewell, Own: graph.Entry{Peer: "a"}, Turn: 9}})
	n.pace.next = time.Hour // no exchange
	if out := n.step(Tick{}); len(out.Parts) > 0 {
		t.Error("it ends at once")
	}
	n.wait(2 * time.Second)
	if out := n.step(Tick{}); !slices.Equal(out.Parts, []learner.ID{"a"}) {
		t.Errorf("it parts from %v, want a", out.Parts)
	}
	if out := n.step(Tick{}); len(out.Parts) > 0 {
		t.Error("it ends twice")
	}
}

// Entries are believed again when the pause is over, to the moment.
func TestBelievedAgainOnTime(t *testing.T) {
	n := newNode(byRule("random", 2))
	for _, tells := range []learner.ID{"first", "second"} {
		n.step(Asked{Request{Kind: Exchange, Own: graph.Entry{Peer: "a"}, Known: []graph.Entry{{Peer: tells}}}})
		if n.view.Count(func(id learner.ID) bool { return id == tells }) != 1 {
			t.Errorf("the %s is not believed", tells)
		}
		n.wait(10 * time.Second)
	}
}

// Only failures in a row make a peer forgotten.
func TestAnAnswerForgivesFailures(t *testing.T) {
	n := newNode(byRule("random", 10))
	n.step(Seen{graph.Entry{Peer: "a"}})
	fails := func() {
		for range 2 {
			n.under("a", Exchange)
			n.step(Answered{From: "a", Failed: true})
		}
	}
	fails()
	n.under("a", Ask)
	n.step(Answered{From: "a", Reply: Reply{Own: graph.Entry{Peer: "a"}, Hidden: true}})
	fails()
	if n.view.Len() != 1 {
		t.Error("a peer that answers now and then is forgotten")
	}
}

// The first agreement of two peers has turn 1, no matter which of them asked.
func TestTurnsBeginAtOne(t *testing.T) {
	n := newNode(byRule("random", 2))
	if r := n.step(asked("a")).Reply; r.Turn != 1 {
		t.Errorf("it answers with turn %d", r.Turn)
	}
	n.step(Seen{graph.Entry{Peer: "b"}})
	for _, c := range n.step(Tick{}).Calls {
		if c.Kind == Ask && c.Turn != 0 {
			t.Errorf("it asks %s with turn %d", c.To.Peer, c.Turn)
		}
	}
}

// A node that leaves waits for what could still make an edge, not for an exchange.
func TestLeavingWaitsForNoExchange(t *testing.T) {
	for kind, over := range map[Kind]bool{Exchange: true, Ask: false} {
		n := newNode(byRule("random", 1))
		n.under("a", kind)
		if n.step(Leave{}); n.Departure().Over != over {
			t.Errorf("with a request of kind %d under way it is over: %v", kind, n.Departure().Over)
		}
	}
}

// One connection that is still needed keeps no other.
func TestConnectionsEndEachForItself(t *testing.T) {
	n := newNode(byRule("random", 1))
	for _, id := range []learner.ID{"a", "b"} {
		n.under(id, Ask)
		n.step(Answered{From: id, Reply: Reply{Own: graph.Entry{Peer: id}, Hidden: true}, Dialled: true})
	}
	n.under("a", Exchange)
	n.pace.next = time.Hour // no exchange
	n.wait(2 * time.Second)
	if out := n.step(Tick{}); !slices.Equal(out.Parts, []learner.ID{"b"}) {
		t.Errorf("it parts from %v, want b", out.Parts)
	}
}

// An edge that two agree on again before its farewell was said stands.
func TestAnEdgeAgreedOnAgainStands(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.joined(t, "a")
	n.replace("a")
	n.wait(20 * time.Second)
	n.joined(t, "a")
	for _, c := range n.step(Tick{}).Calls {
		if c.Kind == Farewell {
			t.Errorf("%s is told farewell", c.To.Peer)
		}
	}
}

// What is public of the node from now on makes it look at once, and its exchanges frequent.
func TestADeclarationMakesHaste(t *testing.T) {
	n := newNode(byRule("profile", 2))
	n.wait(time.Minute)
	n.step(Tick{})
	n.pace = pace{next: time.Hour, pause: time.Minute}
	if out := n.step(Declared{graph.End{Vector: []float64{1, 0}}}); out.Next != n.clock || n.pace != (pace{}) {
		t.Errorf("it looks %v later, exchanges %+v", out.Next-n.clock, n.pace)
	}
}

// A connection that was there before the request is not this node's to end.
func TestConnectionsOfOthersStay(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.under("a", Ask)
	n.step(Answered{From: "a", Reply: Reply{Own: graph.Entry{Peer: "a"}, Hidden: true}})
	n.wait(2 * time.Second)
	if out := n.step(Tick{}); len(out.Parts) > 0 {
		t.Errorf("it parts from %v", out.Parts)
	}
}

// Who asks is known from then on, unless it cannot be called.
func TestWhoAsksIsKnown(t *testing.T) {
	for hidden, known := range map[bool]int{false: 1, true: 0} {
		n := newNode(byRule("random", 0))
		q := asked("a")
		q.Hidden = hidden
		n.step(q)
		if n.view.Len() != known {
			t.Errorf("hidden %v: %d are known", hidden, n.view.Len())
		}
	}
}

// A neighbour that was lost is looked after at once.
func TestALossMakesHaste(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.joined(t, "a")
	n.step(Tick{})
	n.wait(time.Minute)
	n.next = time.Hour
	if out := n.step(Lost{"a"}); out.Next != n.clock {
		t.Errorf("it looks %v later", out.Next-n.clock)
	}
}

// A renewal that gives an edge another weight makes the node look at once, one that does
// not lets it rest.
func TestANewWeightMakesHaste(t *testing.T) {
	n := newNode(byRule("profile", 1))
	n.step(Declared{graph.End{Vector: []float64{1, 0}}})
	n.step(asked("a", 1, 0))
	for _, c := range []struct {
		y     float64
		haste bool
	}{{0, false}, {0.2, true}} {
		n.wait(time.Minute)
		n.next = time.Hour
		out := n.step(asked("a", 1, c.y))
		if haste := out.Next == n.clock; out.Reply.Answer != Accepted || haste != c.haste || out.Changed != c.haste {
			t.Errorf("asked by (1, %v) it looks %v later, changed %v", c.y, out.Next-n.clock, out.Changed)
		}
	}
}

// A server is named, and is no candidate of its own when others tell of it.
func TestAServerIsNotItsOwnCandidate(t *testing.T) {
	n := newNode(byRule("random", 2), func(c *Config) { c.Servers = []learner.ID{"self", "other"} })
	n.step(Asked{Request{Kind: Exchange, Own: graph.Entry{Peer: "a"}, Known: []graph.Entry{{Peer: "self"}, {Peer: "other"}}}})
	if got := asks(n.step(Tick{})); slices.Contains(got, "self") || n.named["self"].Peer != "" {
		t.Errorf("%v are asked", got)
	}
}

// A node that leaves says so to those who ask for an edge.
func TestWhoLeavesSaysSo(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.step(Leave{})
	if r := n.step(asked("a")).Reply; r.Answer != Declined || r.Reason != "this node leaves" {
		t.Errorf("%+v", r)
	}
}
