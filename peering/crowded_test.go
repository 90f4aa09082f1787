package peering

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// A peer without a place names the one that asked before, and that one is asked next, once.
func TestThoseWhoAskInVainMeet(t *testing.T) {
	full := newNode(byRule("random", 1))
	full.joined(t, "a")
	if out := full.step(asked("b")); out.Reply.Answer != Declined || out.Reply.Known != nil {
		t.Fatalf("the first is told %+v", out.Reply)
	}
	if out := full.step(asked("b")); out.Reply.Known != nil {
		t.Errorf("a peer is told of itself: %+v", out.Reply)
	}
	hidden := asked("c")
	hidden.Hidden = true
	out := full.step(hidden)
	if len(out.Reply.Known) != 1 || out.Reply.Known[0].Peer != "b" {
		t.Fatalf("the next is told %+v", out.Reply)
	}
	if out := full.step(asked("d")); out.Reply.Known[0].Peer != "b" {
		t.Errorf("a peer that nobody can reach is named: %+v", out.Reply)
	}

	n := newNode(byRule("random", 2))
	n.sees(make([][]float64, 8)...)
	first := asks(n.step(Tick{}))[0]
	refusal := Answered{From: first, Reply: Reply{Own: graph.Entry{Peer: first}, Known: out.Reply.Known}}
	if out := n.step(refusal); out.Next != n.clock {
		t.Errorf("it asks the peer that was named after %v", out.Next-n.clock)
	}
	if got := asks(n.step(Tick{})); !slices.Contains(got, "b") {
		t.Errorf("%v are asked, want the peer that was named", got)
	}
	n.step(declined("b"))
	if got := asks(n.step(Tick{})); slices.Contains(got, "b") {
		t.Error("it is asked again at once")
	}
}

// A node that knows enough peers hears of no more by exchanging again.
func TestWhoKnowsEnoughIsInNoHurry(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.sees(make([][]float64, 4)...)
	n.pace = pace{next: time.Hour, pause: time.Minute}
	n.joined(t, "a neighbour")
	if n.pace.next != time.Hour {
		t.Error("a new edge makes it exchange")
	}
}

// crowded is a network whose nodes begin one after another and know only the first few,
// which so have no place for most of the others.
type crowded struct {
	nodes  []*node
	index  map[learner.ID]int
	agenda []arrival
	calls  int
}

// arrival is an input that reaches a node.
type arrival struct {
	at   time.Duration
	who  int
	in   Input
	from int
}

const (
	crowdedFirst = 7
	crowdedDelay = 50 * time.Millisecond
)

func newCrowded(n, degree int, seed uint64) *crowded {
	c := &crowded{index: map[learner.ID]int{}}
	for i := range n {
		id := stranger(i)
		c.index[id] = i
		c.nodes = append(c.nodes, newNode(byRule("random", degree), func(conf *Config) {
			conf.Self, conf.Choices, conf.View = id, rand.NewPCG(seed, uint64(2*i)), rand.NewPCG(seed, uint64(2*i+1))
		}))
		c.agenda = append(c.agenda, arrival{at: time.Duration(i) * 25 * time.Millisecond, who: i, in: Tick{}})
	}
	return c
}

// run goes on until nobody misses neighbours, or until the time is over, and returns how
// many still do.
func (c *crowded) run(until time.Duration) (missing int) {
	next := make([]time.Duration, len(c.nodes))
	look := time.Duration(len(c.nodes)) * 25 * time.Millisecond
	for len(c.agenda) > 0 && c.agenda[0].at <= until {
		a := c.agenda[0]
		c.agenda = c.agenda[1:]
		if _, tick := a.in.(Tick); tick && a.at < next[a.who] {
			continue // it was set to a later time since
		}
		c.nodes[a.who].clock = a.at
		next[a.who] = max(c.take(a), a.at)
		c.add(arrival{at: next[a.who], who: a.who, in: Tick{}})
		if a.at > look {
			if look += time.Second; c.missing() == 0 {
				break
			}
		}
	}
	return c.missing()
}

func (c *crowded) missing() (count int) {
	for _, n := range c.nodes {
		if n.missing() {
			count++
		}
	}
	return count
}

// take lets a node take an input in, and returns when it looks next.
func (c *crowded) take(a arrival) time.Duration {
	n := c.nodes[a.who]
	out := n.step(a.in)
	if out.Alone {
		for k := range 2 {
			if j := (a.who + k) % crowdedFirst; j != a.who {
				out.Next = n.step(Seen{graph.Entry{Peer: stranger(j)}}).Next
			}
		}
	}
	if out.Reply != nil {
		c.add(arrival{a.at + crowdedDelay, a.from, Answered{From: n.self, Reply: *out.Reply}, a.who})
	}
	for _, call := range out.Calls {
		c.calls++
		c.add(arrival{a.at + crowdedDelay, c.index[call.To.Peer], Asked{call.Request}, a.who})
	}
	return out.Next
}

// add enters an arrival behind those of the same time.
func (c *crowded) add(a arrival) {
	i, _ := slices.BinarySearchFunc(c.agenda, a.at+1, func(b arrival, at time.Duration) int { return cmp.Compare(b.at, at) })
	c.agenda = slices.Insert(c.agenda, i, a)
}

// Most of 300 nodes are told of a few that have no place left. They find each other all the
// same: within seconds of the last one's start, with twenty requests for ten neighbours. When
// nobody brings those together that ask in vain, more than 100 still seek by then, and each has
// made 31 requests. The seeds are fixed, so the test cannot fail by chance.
func TestCrowdedStart(t *testing.T) {
	for seed := range uint64(3) {
		c := newCrowded(300, 10, seed)
		if missing := c.run(25 * time.Second); missing > 0 {
			t.Errorf("seed %d: %d nodes still seek", seed, missing)
		}
		if each := float64(c.calls) / 300; each > 20 {
			t.Errorf("seed %d: %.1f requests a node", seed, each)
		}
		t.Logf("seed %d: %.1f requests a node", seed, float64(c.calls)/300)
	}
}
