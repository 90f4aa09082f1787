package peering

import (
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// An edge that is agreed on while the node leaves is given up too, and counted.
func TestLeaveTellsWhoAgreesMeanwhile(t *testing.T) {
	n := newNode(byRule("random", 10))
	n.joined(t, "old")
	for _, id := range []learner.ID{"old", "late"} {
		n.step(Seen{graph.Entry{Peer: id}})
		n.request(&call{Call: Call{graph.Entry{Peer: id}, Request{Kind: Ask}}})
	}
	if out := n.step(Leave{}); len(out.Drops) != 1 || len(n.Edges()) != 0 {
		t.Errorf("%+v of a node that leaves", out)
	}
	if out := n.step(Tick{}); len(out.Calls) > 0 {
		t.Errorf("%d more requests to peers that are being asked", len(out.Calls))
	}
	for _, id := range []learner.ID{"old", "late"} {
		n.step(Answered{From: id, Reply: Reply{Answer: Accepted, Own: graph.Entry{Peer: id}, Turn: 3}})
	}
	if r := n.step(asked("another")).Reply; r.Answer != Declined {
		t.Errorf("a node that leaves answers %d", r.Answer)
	}
	farewells := n.step(Tick{}).Calls
	for _, c := range farewells {
		if c.Kind != Farewell || c.Turn != finalTurn {
			t.Errorf("%+v is no farewell for good", c)
		}
		if n.Departure().Over {
			t.Error("it is over before all were told")
		}
		n.step(Answered{From: c.To.Peer, Reply: Reply{Own: graph.Entry{Peer: c.To.Peer}}})
	}
	if d := n.Departure(); d != (Departure{Begun: true, Neighbours: 2, Told: 2, Over: true}) || len(farewells) != 2 {
		t.Errorf("%+v after %d farewells", d, len(farewells))
	}
	n.wait(time.Hour)
	if out := n.step(Tick{}); len(out.Calls) > 0 {
		t.Errorf("%d requests of a node that has left", len(out.Calls))
	}
	if d := n.Departure(); n.step(Leave{}).Next != n.next || n.Departure() != d {
		t.Errorf("leaving again: %+v", n.Departure())
	}
}

// A node with nobody to tell has left at once; one whose neighbour does not answer has
// told nobody.
func TestLeaveOfTheLonely(t *testing.T) {
	n := newNode(byRule("random", 1))
	if n.step(Leave{}); !n.Departure().Over {
		t.Error("it waits for nobody")
	}
	n = newNode(byRule("random", 1), func(c *Config) { c.Edges = []Edge{{Peer: "a", Weight: 1}} })
	n.step(Leave{})
	n.step(Tick{})
	n.step(Answered{From: "a", Failed: true})
	if d := n.Departure(); d != (Departure{Begun: true, Neighbours: 1, Over: true}) {
		t.Errorf("%+v", d)
	}
}
