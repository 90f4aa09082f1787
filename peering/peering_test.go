package peering

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// byRule is a task's graph, small.
func byRule(rule string, degree int) learner.Graph {
	g := learner.Graph{Rule: rule, Degree: degree}
	switch rule {
	case "profile":
		g.Gamma, g.Profile = 0.1, 2
	case "released":
		g.Gamma = 0.5
	}
	return g
}

// config is that of a node called self, with sources of its own.
func config(g learner.Graph, seed uint64) Config {
	return Config{
		Self: "self", Graph: g, Look: 5 * time.Second, Renew: time.Minute,
		Choices: rand.NewPCG(seed, 1), View: rand.NewPCG(seed, 2),
	}
}

// node is a Neighbourhood with a clock.
type node struct {
	*Neighbourhood
	clock time.Duration
}

func newNode(g learner.Graph, change ...func(*Config)) *node {
	c := config(g, 1)
	for _, f := range change {
		f(&c)
	}
	return &node{New(c), 0}
}

func (n *node) step(in Input) Output { return n.Step(n.clock, in) }

func (n *node) wait(d time.Duration) { n.clock += d }

// stranger is a peer nobody has heard of.
func stranger(k int) learner.ID { return learner.ID(fmt.Sprintf("peer %03d", k)) }

// sees makes the node know peers with these public vectors.
func (n *node) sees(vectors ...[]float64) []learner.ID {
	ids := make([]learner.ID, len(vectors))
	for i, v := range vectors {
		ids[i] = stranger(i)
		n.step(Seen{graph.Entry{Peer: ids[i], End: graph.End{Vector: v}}})
	}
	return ids
}

// asked is a request for an edge.
func asked(from learner.ID, vector ...float64) Asked {
	return Asked{Request{Kind: Ask, Own: graph.Entry{Peer: from, End: graph.End{Vector: vector}}}}
}

// joined lets peers ask for an edge and get it.
func (n *node) joined(t *testing.T, ids ...learner.ID) {
	t.Helper()
	for _, id := range ids {
		if out := n.step(asked(id)); out.Reply.Answer != Accepted {
			t.Fatalf("%s is declined: %s", id, out.Reply.Reason)
		}
	}
}

// asks are the calls that ask for an edge.
func asks(out Output) (to []learner.ID) {
	for _, c := range out.Calls {
		if c.Kind == Ask {
			to = append(to, c.To.Peer)
		}
	}
	return to
}

// agrees is the answer to a call of a peer that agrees to everything.
func agrees(c Call) Answered {
	id := c.To.Peer
	return Answered{From: id, Reply: Reply{Answer: Accepted, Own: graph.Entry{Peer: id}, Turn: c.Turn + 1}}
}

func declined(from learner.ID) Answered {
	return Answered{From: from, Reply: Reply{Own: graph.Entry{Peer: from}}}
}

// The nearest are asked, as many as are missing; those being asked count as found.
func TestSeekAsksTheNearest(t *testing.T) {
	n := newNode(byRule("profile", 2))
	n.step(Declared{graph.End{Vector: []float64{1, 0}}})
	ids := n.sees([]float64{1, 0.3}, []float64{1, 0.1}, nil, []float64{-1, 0}, []float64{1, 0.2})
	n.window.answered() // or it would ask one at a time
	got := asks(n.step(Tick{}))
	if !slices.Equal(got, []learner.ID{ids[1], ids[4]}) {
		t.Fatalf("%v are asked, want %v and %v", got, ids[1], ids[4])
	}
	if again := asks(n.step(Tick{})); len(again) != 0 {
		t.Errorf("%d more are asked meanwhile", len(again))
	}
	for _, id := range got {
		n.step(declined(id))
	}
	if got = asks(n.step(Tick{})); len(got) != 1 || got[0] != ids[0] {
		t.Errorf("%v are asked after the nearest declined, want %v", got, ids[0])
	}
	n.step(declined(ids[0]))
	n.wait(21 * time.Second)
	if got = asks(n.step(Tick{})); len(got) != 2 || got[0] != ids[1] {
		t.Errorf("%v are asked some time after, want the nearest again", got)
	}
}

// Of each peer there is one request at a time; one that comes back while a request
// is under way is asked again after that.
func TestOneRequestAtATime(t *testing.T) {
	n := newNode(byRule("random", 10), func(c *Config) { c.Edges = []Edge{{Peer: "a neighbour", Weight: 1}} })
	n.sees(make([][]float64, 20)...)
	n.step(Connected{"a neighbour"})
	first := asks(n.step(Tick{}))
	if len(first) != 2 || first[0] != "a neighbour" { // the window begins at one
		t.Fatalf("%v are asked, want the neighbour and one candidate", first)
	}
	n.step(Lost{"a neighbour"})
	n.step(Connected{"a neighbour"})
	n.window.answered() // there is room for one more
	n.wait(time.Hour / 2)
	again := asks(n.step(Tick{}))
	if len(again) != 1 || slices.Contains(first, again[0]) {
		t.Errorf("%v are asked before the first have answered, want one other", again)
	}
	for _, id := range slices.Concat(first, again) {
		n.step(Answered{From: id, Reply: Reply{Answer: Later}})
	}
	n.window.answered()
	if again = asks(n.step(Tick{})); len(again) != 3 || again[0] != "a neighbour" {
		t.Errorf("%v are asked afterwards, want the neighbour and two candidates", again)
	}
}

// A node that lacks neighbours and knows nobody to ask looks again when that may have
// changed: when its next exchange is due, when it may ask a peer again that refused, and
// soon after it has heard of one.
func TestWhoHasNobodyToAskRests(t *testing.T) {
	n := newNode(byRule("random", 2))
	due := func(when string, want time.Duration) {
		t.Helper()
		n.pace.pause = time.Minute
		if got := n.step(Tick{}).Next - n.clock; got != want {
			t.Errorf("%s: it rests for %v, want %v", when, got, want)
		}
	}
	n.pace.next = time.Hour
	due("nobody known", 5*time.Second)
	n.pace.next = n.clock + 3*time.Second
	due("an exchange due soon", 3*time.Second)
	n.pace.next = time.Hour
	n.contact("a").retryAt = n.clock + 2*time.Second
	due("a peer that refused", 2*time.Second)
	due("looked at once more", 2*time.Second)
	n.step(Tick{})
	if out := n.step(Seen{graph.Entry{Peer: "b"}}); out.Next > n.clock+time.Second {
		t.Errorf("it asks a new peer after %v", out.Next-n.clock)
	}
}

// A node that has its neighbours looks at them seldom, and often as soon as there is a
// cause.
func TestRests(t *testing.T) {
	for _, c := range []struct{ look, renew time.Duration }{{5 * time.Second, time.Minute}, {10 * time.Second, 5 * time.Minute}} {
		n := newNode(byRule("profile", 1), func(f *Config) { f.Look, f.Renew = c.look, c.renew })
		n.step(Declared{graph.End{Vector: []float64{1, 0}}})
		rests := func(when string, want time.Duration) {
			t.Helper()
			if got := n.step(Tick{}).Next - n.clock; got != want {
				t.Errorf("%s: it rests for %v, want %v", when, got, want)
			}
		}
		quiet := pace{next: time.Hour, pause: time.Minute} // it has exchanged with all that it knows
		n.pace = quiet
		rests("a neighbour missing and nobody to ask", c.look)
		n.step(asked("a", 1, 0))
		n.pace = quiet
		rests("with its neighbour", c.look)
		n.pace.pause = c.look
		rests("hardly any longer without exchanges", c.look)
		n.visits["b"] = n.clock
		rests("a guest to part from", time.Second)
		delete(n.visits, "b")
		n.links[0].met = false
		rests("its neighbour not met", time.Second)
		n.links[0].met = true
		if got := n.renewal(n.links[0]); got != c.renew {
			t.Errorf("an edge is renewed every %v, want %v", got, c.renew)
		}
		if out := n.step(Declared{graph.End{Round: 1, Vector: []float64{1, 0}}}); out.Next != n.clock {
			t.Error("a release does not wake it")
		}
		rests("just after a release", time.Second)
	}
}

// A neighbour that is away for less than the time between two looks is asked all the
// same.
func TestShortAbsenceIsNoticed(t *testing.T) {
	n := newNode(byRule("random", 1))
	n.joined(t, "a")
	if got := asks(n.step(Tick{})); len(got) != 0 {
		t.Fatalf("a young edge is renewed with %v", got)
	}
	n.step(declined("a")) // to exchange
	n.step(Lost{"a"})
	if out := n.step(Connected{"a"}); out.Next != n.clock {
		t.Error("a neighbour that is back does not wake it")
	}
	if got := asks(n.step(Tick{})); len(got) != 1 || got[0] != "a" {
		t.Errorf("%v are asked, want the neighbour that is back", got)
	}
}

// An edge is asked for again soon after a release that changes its weight, or when the
// other end was a stranger, and once for each release.
func TestEdgesFollowReleases(t *testing.T) {
	g := byRule("released", 2)
	n := newNode(g)
	before := graph.End{Round: 1, Vector: []float64{1, 0, 0}}
	like, unknown := graph.End{Round: 1, Vector: []float64{1, 0.1, 0}}, graph.End{}
	for name, c := range map[string]struct {
		own, theirs graph.End
		want        time.Duration
	}{
		"nothing new":               {before, like, n.renewEvery},
		"no other weight":           {graph.End{Round: 2, Vector: before.Vector}, like, n.renewEvery},
		"another weight":            {graph.End{Round: 2, Vector: []float64{0, 1, 0}}, like, 2 * time.Second},
		"stranger, nothing new":     {before, unknown, n.renewEvery},
		"stranger, a later release": {graph.End{Round: 2, Vector: before.Vector}, unknown, 2 * time.Second},
	} {
		l := &link{met: true, terms: agree(g, before, c.theirs, 1, "self")}
		n.own = c.own
		if got := n.renewal(l); got != c.want {
			t.Errorf("%s: asked for again after %v, want %v", name, got, c.want)
		}
	}
}

// However many ask, a node takes on twice its degree, and of strangers half of that.
func TestEdgesAreBounded(t *testing.T) {
	for closed, want := range map[bool]int{false: 2, true: 4} {
		n := newNode(byRule("random", 2))
		n.closed = closed
		accepted := 0
		for k := range 16 {
			if n.step(asked(stranger(k))).Reply.Answer == Accepted {
				accepted++
			}
		}
		if accepted != want || len(n.Edges()) != want {
			t.Errorf("closed %v: %d accepted, %d edges, want %d", closed, accepted, len(n.Edges()), want)
		}
	}
}

// A neighbour that asks again and again, each time with another profile, does
// not make this node write again and again.
func TestRenewalsArePaced(t *testing.T) {
	n := newNode(byRule("profile", 10))
	n.step(Declared{graph.End{Vector: []float64{1, 0}}})
	for i := range 50 {
		answer := n.step(asked("a", 50, float64(i))).Reply.Answer
		if want := map[bool]Answer{true: Accepted, false: Later}[i == 0]; answer != want {
			t.Fatalf("request %d is answered with %d", i, answer)
		}
	}
	if w := n.Edges()[0].Weight; w != 1 {
		t.Errorf("weight %v, want that of the first request", w)
	}
	n.wait(time.Second)
	if answer := n.step(asked("a", 1, 1)).Reply.Answer; answer != Accepted || n.Edges()[0].Weight == 1 {
		t.Errorf("after a while it is answered with %d", answer)
	}
}

// Neighbours that are away keep nobody out, and those beyond the bound are
// given up, the longest away first; all of them after an hour.
func TestAbsentNeighboursMakeRoom(t *testing.T) {
	n := newNode(byRule("random", 1))
	var away []learner.ID
	for k := range 4 {
		away = append(away, stranger(k))
		n.joined(t, away[k])
		n.wait(time.Minute)
		n.step(Tick{}) // the others are seen
		n.step(Lost{away[k]})
		n.step(Tick{})
	}
	if len(n.Edges()) != 2 {
		t.Errorf("%d edges are kept, want two", len(n.Edges()))
	}
	n.joined(t, "here")
	var dropped []learner.ID
	for _, d := range n.step(Tick{}).Drops {
		dropped = append(dropped, d.Peer)
	}
	if !slices.Equal(dropped, away[2:3]) {
		t.Errorf("%v are given up, want the longest away of %v", dropped, away[2:])
	}
	n.wait(time.Hour + time.Second)
	if out := n.step(Tick{}); len(out.Drops) != 1 || out.Drops[0].Peer != away[3] {
		t.Errorf("%v are given up after an hour, want %s", out.Drops, away[3])
	}
}

// Who does not answer is forgotten, at once if there are others enough.
func TestCandidatesAreForgotten(t *testing.T) {
	n := newNode(byRule("random", 10))
	fails := func(id learner.ID) {
		n.calls[id] = &call{Call: Call{To: graph.Entry{Peer: id}, Request: Request{Kind: Exchange}}}
		n.step(Answered{From: id, Failed: true})
	}
	n.step(Seen{graph.Entry{Peer: "silent"}})
	for i := range 3 {
		if n.view.Len() != 1 {
			t.Fatalf("forgotten after %d failures", i)
		}
		fails("silent")
	}
	if n.view.Len() != 0 {
		t.Error("not forgotten after three failures")
	}
	for k := range 514 {
		n.step(Seen{graph.Entry{Peer: stranger(k)}})
		fails(stranger(k))
	}
	if known := n.view.Len(); known >= 2*n.graph.Degree {
		t.Errorf("%d of the silent are known still", known)
	}
	if len(n.contacts) != 512 {
		t.Errorf("%d contacts are remembered, want 512", len(n.contacts))
	}
}

// A peer that asks for an edge and gives it up, again and again, does not make the
// node write each time; after a while it may have its edge.
func TestNobodyMakesANodeWriteAtWill(t *testing.T) {
	n := newNode(byRule("random", 10))
	writes := 0
	for range 50 {
		for _, in := range []Input{asked("a"), Asked{Request{Kind: Farewell, Own: graph.Entry{Peer: "a"}, Turn: 1 << 40}}} {
			out := n.step(in)
			writes += len(out.Keeps) + len(out.Drops)
		}
	}
	if writes != 2 {
		t.Errorf("one peer made the node write %d times", writes)
	}
	if got := n.step(asked("a")).Reply.Answer; got != Later {
		t.Errorf("the answer is %d", got)
	}
	n.wait(20 * time.Second)
	if got := n.step(asked("a")).Reply.Answer; got != Accepted {
		t.Errorf("after a while the answer is %d", got)
	}
}

// A partner that exchanges once a second, each time with names nobody has heard of,
// replaces little of what the node knows.
func TestAGreedyPartnerReplacesLittle(t *testing.T) {
	n := newNode(byRule("random", 10))
	honest := n.sees(make([][]float64, 20)...)
	for range 10 {
		known := make([]graph.Entry, 16)
		for i := range known {
			known[i].Peer = learner.ID(fmt.Sprintf("made up at %v, %d", n.clock, i))
		}
		q := Request{Kind: Exchange, Own: graph.Entry{Peer: "greedy"}, Hidden: true, Known: known}
		if out := n.step(Asked{q}); len(out.Reply.Known) == 0 {
			t.Error("the partner is told of nobody")
		}
		n.wait(time.Second)
	}
	left := n.view.Count(func(id learner.ID) bool { return slices.Contains(honest, id) })
	if left < len(honest)/2 {
		t.Errorf("%d of %d are left", left, len(honest))
	}
}

// Who may be a neighbour: by the owner's list, and by the roles of learner polar.
func TestWhoMayBeANeighbour(t *testing.T) {
	listed := newNode(byRule("random", 2), func(c *Config) { c.Only = []learner.ID{"friend"} })
	if got := listed.step(asked("stranger")).Reply.Answer; got == Accepted {
		t.Error("a stranger gets an edge")
	}
	if r := listed.step(asked("friend")).Reply; r.Answer != Accepted {
		t.Errorf("the friend is declined: %s", r.Reason)
	}
	client := newNode(byRule("random", 2), func(c *Config) { c.Servers = []learner.ID{"server"} })
	if client.suits("stranger") || !client.suits("server") {
		t.Error("a client takes another client, or no server")
	}
	server := newNode(byRule("random", 2), func(c *Config) { c.Servers = []learner.ID{"server", "self"} })
	if !server.suits("stranger") || !server.suits("server") {
		t.Error("a server takes not everybody")
	}
}

// A list of members keeps strangers out, though others tell of them, and ends the edges of
// those who are members no longer.
func TestMembers(t *testing.T) {
	n := newNode(byRule("random", 2))
	n.step(Members{[]learner.ID{"a", "b"}})
	n.joined(t, "a", "b")
	if got := n.step(asked("c")).Reply.Answer; got == Accepted {
		t.Error("a stranger gets an edge")
	}
	n.step(Seen{graph.Entry{Peer: "c"}})
	n.step(Asked{Request{Kind: Exchange, Own: graph.Entry{Peer: "b"}, Known: []graph.Entry{{Peer: "d"}}}})
	for range 10 {
		for _, c := range n.step(Tick{}).Calls {
			if c.To.Peer != "a" && c.To.Peer != "b" {
				t.Errorf("%s is called, and is no member", c.To.Peer)
			}
			n.step(agrees(c))
		}
		n.wait(time.Minute) // it has its neighbours
	}
	if known := n.view.Count(func(id learner.ID) bool { return id != "a" && id != "b" }); n.Candidates() > 0 || known > 0 {
		t.Errorf("%d candidates, and nobody else is a member", n.Candidates())
	}
	n.step(Asked{Request{Kind: Exchange, Own: graph.Entry{Peer: "b"}, Known: []graph.Entry{{Peer: "d"}}}})
	out := n.step(Members{[]learner.ID{"b", "d"}})
	if len(out.Drops) != 1 || out.Drops[0].Peer != "a" || len(n.Edges()) != 1 || !out.Changed {
		t.Errorf("%+v after a ceased to be a member", out)
	}
	if got := asks(n.step(Tick{})); !slices.Contains(got, "d") {
		t.Errorf("%v are asked, and the new member is not", got)
	}
}

// A node that knows nobody says so, and asks who is named then at once.
func TestWhoIsAloneAsksToBeToldOfOthers(t *testing.T) {
	n := newNode(byRule("random", 2))
	if out := n.step(Tick{}); !out.Alone || len(out.Calls) > 0 {
		t.Fatalf("%+v of a node that knows nobody", out)
	}
	if out := n.step(Seen{graph.Entry{Peer: "self"}}); out.Next == n.clock {
		t.Error("a node meets itself")
	}
	if out := n.step(Seen{graph.Entry{Peer: "a"}}); out.Next != n.clock {
		t.Error("it is not woken by the first it hears of")
	}
	if got := asks(n.step(Tick{})); len(got) != 1 || got[0] != "a" {
		t.Errorf("%v are asked", got)
	}
}

// Connections that were made for a request end a while after it, unless an edge came
// of it or another request is under way.
func TestVisitsEnd(t *testing.T) {
	n := newNode(byRule("random", 1))
	for _, id := range []learner.ID{"a", "b", "c"} {
		n.calls[id] = &call{Call: Call{To: graph.Entry{Peer: id}, Request: Request{Kind: Exchange}}}
		n.step(Answered{From: id, Reply: Reply{Own: graph.Entry{Peer: id}, Hidden: true}, Dialled: id != "b"})
	}
	n.joined(t, "c")
	if out := n.step(Tick{}); len(out.Parts) > 0 {
		t.Errorf("it parts from %v at once", out.Parts)
	}
	n.wait(2 * time.Second)
	delete(n.calls, "a")
	if out := n.step(Tick{}); !slices.Equal(out.Parts, []learner.ID{"a"}) {
		t.Errorf("it parts from %v, want a", out.Parts)
	}
}
