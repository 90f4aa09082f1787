package peering

import (
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// exchanged is the answer to an exchange of a peer that knows nobody.
func exchanged(from learner.ID) Answered {
	return Answered{From: from, Reply: Reply{Own: graph.Entry{Peer: from}, Hidden: true}}
}

// rested is a node with a neighbour, long after anything happened.
func rested(t *testing.T, g learner.Graph) *node {
	t.Helper()
	n := newNode(g)
	n.joined(t, "a")
	n.wait(time.Minute)
	n.step(Tick{})
	n.step(Answered{From: "a", Failed: true})
	n.wait(time.Minute)
	n.next = n.clock + time.Hour
	return n
}

// What changes nothing lets the node rest.
func TestNothingNewWakesNobody(t *testing.T) {
	for what, in := range map[string]Input{
		"an exchange that is over":             exchanged("b"),
		"a neighbour that is connected anyway": Connected{"a"},
		"one more peer":                        Seen{graph.Entry{Peer: "c"}},
	} {
		n := rested(t, byRule("random", 1))
		n.step(Seen{graph.Entry{Peer: "b"}})
		n.next = n.clock + time.Hour
		n.under("b", Exchange)
		if out := n.step(in); out.Next == n.clock || out.Changed {
			t.Errorf("%s: it looks at once, or its edges have changed: %v", what, out.Changed)
		}
	}
}

// A neighbour that is connected and has not said what it holds is asked at once, and so is
// one that said so and was away.
func TestComingWakes(t *testing.T) {
	for name, change := range map[string]func(l *link){
		"not met":  func(l *link) { l.met = false },
		"not here": func(l *link) { l.up = false },
	} {
		n := rested(t, byRule("random", 1))
		change(n.link("a"))
		if out := n.step(Connected{"a"}); out.Next != n.clock {
			t.Errorf("%s: it looks %v later", name, out.Next-n.clock)
		}
	}
}

// Only a node that leaves has told anybody, and is done with it.
func TestWhoStaysTakesNoLeave(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.joined(t, "a")
	n.replace("a")
	for _, c := range n.step(Tick{}).Calls {
		n.step(exchanged(c.To.Peer))
	}
	if got := n.Departure(); got != (Departure{}) {
		t.Errorf("%+v of a node that stays", got)
	}
}

// Whom the node refuses it knows no more, named or not.
func TestTheRefusedAreForgotten(t *testing.T) {
	n := newNode(byRule("random", 2), func(c *Config) { c.Only = []learner.ID{"friend"} })
	for _, id := range []learner.ID{"friend", "b"} {
		n.step(Seen{graph.Entry{Peer: id}})
	}
	if known := n.Known(); !slices.Equal(known, []learner.ID{"b", "friend"}) && !slices.Equal(known, []learner.ID{"friend", "b"}) {
		t.Errorf("%v are known, want each once", known)
	}
	n.step(Refused{[]learner.ID{"friend", "b"}})
	n.step(Seen{graph.Entry{Peer: "b"}})
	if known := n.Known(); len(known) > 0 || len(n.named) > 0 {
		t.Errorf("%v are known, %d are named", known, len(n.named))
	}
	if r := n.step(asked("friend")).Reply; r.Answer != Declined {
		t.Errorf("one of them is answered with %d", r.Answer)
	}
}

// A neighbour that signed two models for one round is one no more.
func TestARefusedNeighbourIsGivenUp(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.joined(t, "a", "b")
	out := n.step(Refused{[]learner.ID{"a", "c"}})
	if _, linked := n.Edge("a"); linked || len(out.Drops) != 1 || out.Drops[0].Peer != "a" || len(n.Edges()) != 1 {
		t.Errorf("%+v, and %d edges", out.Drops, len(n.Edges()))
	}
}

// A node that has no place for others goes on with the neighbour that it has.
func TestAFullNodeRenews(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.joined(t, "a")
	n.wait(time.Minute)
	if r := n.step(asked("b")).Reply; r.Answer != Declined {
		t.Fatalf("another is answered with %d", r.Answer)
	}
	if r := n.step(asked("a")).Reply; r.Answer != Accepted {
		t.Errorf("the neighbour is answered with %d: %s", r.Answer, r.Reason)
	}
}

// A named peer is known also while it has no place among the others.
func TestANamedPeerIsKnown(t *testing.T) {
	n := newNode(byRule("random", 2), func(c *Config) { c.Only = []learner.ID{"friend"} })
	n.step(Seen{graph.Entry{Peer: "friend"}})
	n.view.Remove("friend")
	if known := n.Known(); !slices.Equal(known, []learner.ID{"friend"}) {
		t.Errorf("%v are known", known)
	}
}

// Of two agreements with one turn, that which the later peer in order answered stands: nodes
// of every version must choose the same.
func TestOfCrossingAgreementsOneStands(t *testing.T) {
	a, b := terms{turn: 3, by: "a"}, terms{turn: 3, by: "b"}
	if !a.before(&b) || b.before(&a) || a.before(&a) {
		t.Error("the other one stands")
	}
	if later := (terms{turn: 4, by: "a"}); !b.before(&later) || later.before(&b) {
		t.Error("an earlier turn stands")
	}
}

// Other nodes hear these numbers, also of another version.
func TestNumbersOnTheWire(t *testing.T) {
	if got := []Kind{Exchange, Ask, Farewell}; !slices.Equal(got, []Kind{1, 2, 3}) {
		t.Errorf("the kinds of requests are %d", got)
	}
	if got := []Answer{Declined, Accepted, Later}; !slices.Equal(got, []Answer{0, 1, 2}) {
		t.Errorf("the answers are %d", got)
	}
	if finalTurn != 9_007_199_254_740_992 {
		t.Errorf("the last turn is %d", uint64(finalTurn))
	}
}

// A node with one neighbour has left when that one knows.
func TestLeavingIsOverWhenTheLastKnows(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.joined(t, "a")
	n.step(Leave{})
	if n.Departure().Over {
		t.Error("it is over before anybody was told")
	}
	n.step(Tick{})
	if n.Departure().Over {
		t.Error("it is over before the neighbour has answered")
	}
	n.step(exchanged("a"))
	if got := n.Departure(); got != (Departure{Begun: true, Neighbours: 1, Told: 1, Over: true}) {
		t.Errorf("%+v", got)
	}
}

// A named neighbour is no candidate any more.
func TestANamedNeighbourIsNoCandidate(t *testing.T) {
	n := newNode(byRule("random", 2), func(c *Config) { c.Only = []learner.ID{"friend"} })
	n.step(Seen{graph.Entry{Peer: "friend"}})
	if n.joined(t, "friend"); n.Candidates() != 0 {
		t.Errorf("%d candidates", n.Candidates())
	}
}

// Where a neighbour is is known whichever end asked, and from each renewal.
func TestWhereANeighbourIs(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.under("a", Ask)
	n.step(Answered{From: "a", Reply: Reply{Answer: Accepted, Turn: 1, Own: graph.Entry{Peer: "a", Net: "here"}}})
	if got := n.link("a").net; got != "here" {
		t.Errorf("the one it asked is at %q", got)
	}
	n.wait(time.Minute)
	n.step(Asked{Request{Kind: Ask, Turn: 1, Own: graph.Entry{Peer: "a", Net: "there"}}})
	if got := n.link("a").net; got != "there" {
		t.Errorf("the one that asked is at %q", got)
	}
}

// An edge is as old as the time since it was agreed on, whenever that was.
func TestAgesCountFromTheAgreement(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.wait(time.Hour)
	n.joined(t, "a")
	n.pace = pace{next: 2 * time.Hour, pause: time.Hour} // no exchange
	n.wait(30 * time.Second)
	if out := n.step(Tick{}); len(out.Calls) > 0 {
		t.Errorf("%+v half a minute after, and a minute is the time of renewals", out.Calls)
	}
	got := n.graphLinks()[0]
	if want := (graph.Link{Peer: "a", Weight: 1, Known: got.Known, Up: true, Theirs: true, Stranger: true, Age: 30 * time.Second}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	n.wait(30 * time.Second)
	if out := n.step(Tick{}); len(out.Calls) > 0 {
		t.Error("it is renewed before a minute is over")
	}
	n.wait(1)
	if out := n.step(Tick{}); !slices.Equal(asks(out), []learner.ID{"a"}) {
		t.Error("it is not renewed after a minute")
	}
}

// Each answer to a request for an edge makes room for one more at a time, up to two.
func TestAnswersMakeRoom(t *testing.T) {
	n := newNode(byRule("random", 10))
	n.sees(make([][]float64, 8)...)
	for _, want := range []int{1, 2, 2} {
		calls := slices.DeleteFunc(n.step(Tick{}).Calls, func(c Call) bool { return c.Kind != Ask })
		if len(calls) != want {
			t.Fatalf("%d are asked, want %d", len(calls), want)
		}
		for _, c := range calls {
			n.step(agrees(c))
		}
	}
}

// Neighbours are exchanged for better ones while the node has declared something within the
// time of two renewals, to the moment, and never by one that declared nothing.
func TestNeighboursAreExchangedForAWhile(t *testing.T) {
	n := newNode(byRule("profile", 1))
	n.wait(time.Second)
	if n.step(Declared{}); n.open() {
		t.Error("of a node that declared nothing")
	}
	n.step(Declared{graph.End{Vector: []float64{1, 0}}})
	for _, c := range []struct {
		wait time.Duration
		open bool
	}{{0, true}, {2*time.Minute - 1, true}, {1, false}} {
		n.wait(c.wait)
		n.step(Seen{graph.Entry{Peer: "self"}})
		if n.open() != c.open {
			t.Errorf("at %v: %v", n.clock, n.open())
		}
	}
}

// The weight of an edge has changed when it is a tenth of what it was away.
func TestAChangeOfWeightIsRelative(t *testing.T) {
	g := byRule("released", 2)
	n := newNode(g)
	before, theirs := graph.End{Round: 1, Vector: []float64{1, 0}}, graph.End{Round: 1, Vector: []float64{0.65, 0.7599342}}
	l := &link{met: true, terms: agree(g, before, theirs, 1, "self")}
	for _, c := range []struct {
		vector []float64
		most   float64
		moved  bool
	}{{[]float64{0.99944, 0.03333}, 0.06, false}, {[]float64{0.99538, 0.09602}, 0.16, true}} {
		n.own = graph.End{Round: 2, Vector: c.vector}
		change := graph.Weight(g, n.own, theirs)/l.weight - 1
		if l.weight < 0.45 || l.weight > 0.55 || change < c.most-0.02 || change > c.most {
			t.Fatalf("the test is wrong: weight %v changes by %v", l.weight, change)
		}
		if n.moved(l) != c.moved {
			t.Errorf("by %.3f of %.3f: %v", change, l.weight, n.moved(l))
		}
	}
}

// The causes of an early look, one at a time.
func TestCausesOfAnEarlyLook(t *testing.T) {
	for name, c := range map[string]struct {
		cause func(n *node)
		early bool
	}{
		"none":                  {func(*node) {}, false},
		"a search that began":   {func(n *node) { n.pace.pause = time.Second }, true},
		"a farewell to say":     {func(n *node) { n.farewells["b"] = 1 }, true},
		"a request":             {func(n *node) { n.under("b", Exchange) }, true},
		"a visit":               {func(n *node) { n.visits["b"] = 0 }, true},
		"a farewell in a visit": {func(n *node) { n.farewells["b"], n.visits["b"] = 1, 0 }, true},
		"a farewell after a request": {func(n *node) {
			n.under("b", Exchange)
			n.farewells["b"] = 1
		}, true},
		"a neighbour not met": {func(n *node) { n.link("a").met = false }, true},
		"one of an earlier run that is away": {func(n *node) {
			n.add(&link{peer: "b"})
		}, false},
	} {
		n := rested(t, byRule("random", 1))
		n.pace.pause = time.Hour
		clear(n.visits)
		c.cause(n)
		if early := n.rest() == time.Second; early != c.early || !early && n.rest() != 5*time.Second {
			t.Errorf("%s: it rests for %v", name, n.rest())
		}
	}
}

// Who vouches for a peer.
func TestStrangers(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*Config)
		members  []learner.ID
		stranger bool
	}{
		"nobody":    {func(*Config) {}, nil, true},
		"a key":     {func(c *Config) { c.Closed = true }, nil, false},
		"a list":    {func(*Config) {}, []learner.ID{"a"}, false},
		"the task":  {func(c *Config) { c.Servers = []learner.ID{"a"} }, nil, false},
		"the owner": {func(c *Config) { c.Only = []learner.ID{"a"} }, nil, false},
	} {
		n := newNode(byRule("random", 2), c.change)
		if c.members != nil {
			n.step(Members{c.members})
		}
		if n.stranger("a") != c.stranger {
			t.Errorf("%s vouches, and it is a stranger: %v", name, n.stranger("a"))
		}
	}
}

// A farewell ends the agreement that it names and earlier ones, no later one.
func TestAFarewellEndsNoLaterAgreement(t *testing.T) {
	for turn, ends := range map[uint64]bool{1: false, 2: true, 3: true} {
		n := newNode(byRule("random", 2))
		q := asked("a")
		q.Turn = 1
		n.step(q)
		if got := n.turn("a"); got != 2 {
			t.Fatalf("the agreement has turn %d", got)
		}
		n.step(Asked{Request{Kind: Farewell, Own: graph.Entry{Peer: "a"}, Turn: turn}})
		if _, linked := n.Edge("a"); linked == ends {
			t.Errorf("after a farewell of turn %d there is an edge: %v", turn, linked)
		}
	}
}

// A peer that refuses and names the asker itself names nobody.
func TestNobodyIsReferredToItself(t *testing.T) {
	n := rested(t, byRule("random", 2))
	n.under("b", Ask)
	out := n.step(Answered{From: "b", Reply: Reply{Own: graph.Entry{Peer: "b"}, Known: []graph.Entry{{Peer: "self"}}}})
	if out.Next == n.clock || n.referral.Peer != "" {
		t.Errorf("it looks %v later for %q", out.Next-n.clock, n.referral.Peer)
	}
}

// A peer that another one named when it refused is asked once, whether it answers or not.
func TestAReferralIsAskedOnce(t *testing.T) {
	for name, answer := range map[string]Answered{"silent": {Failed: true}, "refuses": {Reply: Reply{}}} {
		n := rested(t, byRule("random", 2))
		n.under("b", Ask)
		n.step(Answered{From: "b", Reply: Reply{Own: graph.Entry{Peer: "b"}, Known: []graph.Entry{{Peer: "named"}}}})
		if n.referral.Peer != "named" {
			t.Fatalf("%s: %q is to be asked", name, n.referral.Peer)
		}
		n.under("named", Ask)
		answer.From = "named"
		if n.step(answer); n.referral.Peer != "" {
			t.Errorf("%s: it is to be asked again", name)
		}
	}
}

// An edge that both ends asked for was invited by neither.
func TestAnEdgeThatBothAskedForIsNotInvited(t *testing.T) {
	n := newNode(byRule("random", 1))
	id := n.sees(nil)[0]
	calls := n.step(Tick{}).Calls
	i := slices.IndexFunc(calls, func(c Call) bool { return c.Kind == Ask && c.To.Peer == id })
	if i < 0 {
		t.Fatalf("it calls %+v", calls)
	}
	n.joined(t, id) // the requests have crossed
	if e, _ := n.Edge(id); !e.Invited {
		t.Error("the other end has asked, and the edge is not invited")
	}
	n.step(agrees(calls[i]))
	if e, _ := n.Edge(id); e.Invited {
		t.Error("both have asked, and the edge is invited")
	}
}
