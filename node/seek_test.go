package node

import (
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// profileTask is lineTask with neighbours chosen by public profiles.
func profileTask(degree int) *learner.Task {
	task := lineTask()
	task.Graph = learner.Graph{Rule: "profile", Degree: degree, Gamma: 0.1, Profile: 2}
	return task
}

// sees makes a node know so many peers with these public vectors.
func (h *neighbourhood) sees(t *testing.T, vectors ...[]float64) []peer.ID {
	t.Helper()
	ids := make([]peer.ID, len(vectors))
	for i, v := range vectors {
		ids[i] = randomPeer(t)
		h.view.Add(graph.Entry{Peer: gossip.ID(ids[i]), End: graph.End{Vector: v}, Passport: gossip.NewPassport(someAddr())})
	}
	return ids
}

// The nearest are asked, as many as are missing; those being asked count as found.
func TestSeekAsksTheNearest(t *testing.T) {
	h := attachedSession(t, testNode(t, profileTask(2), nil, func(c *Config) { c.Profile = []float64{1, 0} })).hood
	ids := h.sees(t, []float64{1, 0.3}, []float64{1, 0.1}, nil, []float64{-1, 0}, []float64{1, 0.2})
	now := time.Now()
	h.window.answered() // or it would ask one at a time
	asked := h.choose(now)
	if len(asked) != 2 || asked[0].to.ID != ids[1] || asked[1].to.ID != ids[4] || asked[0].kind != gossip.EdgeAsk {
		t.Fatalf("%v are asked, want %v and %v", asked, ids[1], ids[4])
	}
	if again := h.choose(now); len(again) != 0 {
		t.Errorf("%d more are asked meanwhile", len(again))
	}
	for _, e := range asked {
		h.answered(e)
		h.declined(e.to.ID)
	}
	if asked = h.choose(now); len(asked) != 1 || asked[0].to.ID != ids[0] {
		t.Errorf("%v are asked after the nearest declined, want %v", asked, ids[0])
	}
	h.answered(asked[0])
	if asked = h.choose(now.Add(sulk + time.Second)); len(asked) != 2 || asked[0].to.ID != ids[1] {
		t.Errorf("%v are asked some time after, want the nearest again", asked)
	}
}

// Of each peer there is one request at a time; one that comes back while a request
// is under way is asked again after that.
func TestOneRequestAtATime(t *testing.T) {
	first, second := testNode(t, lineTask(), nil, nil), testNode(t, lineTask(), nil, nil)
	h, other := attachedSession(t, first).hood, attachedSession(t, second)
	if err := h.host.Connect(t.Context(), peer.AddrInfo{ID: second.self, Addrs: other.host.Addrs()}); err != nil {
		t.Fatal(err)
	}
	h.links[second.self] = &link{terms: terms{weight: 1}}
	for range 20 {
		h.found(peer.AddrInfo{ID: randomPeer(t), Addrs: someAddr()})
	}
	now := time.Now()
	asks := func(now time.Time) (out []errand) {
		for _, e := range h.due(now) {
			if e.kind == gossip.EdgeAsk {
				out = append(out, e)
			}
		}
		return out
	}
	out := asks(now)
	if len(out) != 2 || out[0].to.ID != second.self { // the window begins at one
		t.Fatalf("%d requests, want the neighbour's and one to a candidate", len(out))
	}
	h.links[second.self].up = false // it went away
	h.window.answered()             // and there is room for one more
	again := asks(now.Add(time.Hour))
	if len(again) != 1 || slices.ContainsFunc(out, func(e errand) bool { return e.to.ID == again[0].to.ID }) {
		t.Errorf("%d more requests before the first are answered, want one in the place of the neighbour", len(again))
	}
	clear(h.asking)
	if again = asks(now); len(again) != 3 || again[0].to.ID != second.self {
		t.Errorf("%d requests afterwards, want the neighbour's and two", len(again))
	}
}

// A node that has its neighbours looks at them seldom, and often as soon as there is a
// cause. One of low power renews less often.
func TestSeekRests(t *testing.T) {
	for _, c := range []struct {
		power       string
		look, renew time.Duration
	}{
		{PowerNormal, 5 * time.Second, time.Minute},
		{PowerLow, 10 * time.Second, 5 * time.Minute},
	} {
		h := attachedSession(t, testNode(t, profileTask(1), nil, func(f *Config) { f.SetPower(c.power); f.Profile = []float64{1, 0} })).hood
		rests := func(when string, want time.Duration) {
			t.Helper()
			if got := h.rest(); got != want {
				t.Errorf("%s power, %s: it rests for %v, want %v", c.power, when, got, want)
			}
		}
		id := randomPeer(t)
		l := &link{terms: terms{weight: 1}, up: true, met: true}
		h.pace.pause = time.Minute
		rests("a neighbour missing", seekEvery)
		h.links[id] = l
		rests("with its neighbour", c.look)
		h.guests[id] = time.Now()
		rests("a guest to part from", seekEvery)
		delete(h.guests, id)
		l.met = false
		rests("its neighbour not met", seekEvery)
		l.met = true
		if got := h.renewal(l); got != c.renew {
			t.Errorf("%s power: an edge is renewed every %v, want %v", c.power, got, c.renew)
		}
		for len(h.woken) > 0 {
			<-h.woken
		}
		h.declare(graph.End{Round: 1, Vector: []float64{1, 0}})
		if rests("just after a release", seekEvery); len(h.woken) != 1 {
			t.Errorf("%s power: a release does not wake it", c.power)
		}
	}
}

// A neighbour that is away for less than the time between two looks is asked all the
// same.
func TestShortAbsenceIsNoticed(t *testing.T) {
	first, second := testNode(t, lineTask(), nil, nil), testNode(t, lineTask(), nil, nil)
	h, other := attachedSession(t, first).hood, attachedSession(t, second)
	defer h.watch()()
	connect := func() {
		t.Helper()
		if err := h.host.Connect(t.Context(), peer.AddrInfo{ID: second.self, Addrs: other.host.Addrs()}); err != nil {
			t.Fatal(err)
		}
	}
	renewals := func() []errand {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.renewals(time.Now())
	}
	connect()
	h.mu.Lock()
	h.links[second.self] = &link{terms: terms{weight: 1}, up: true, met: true, asked: time.Now()}
	h.mu.Unlock()
	if e := renewals(); len(e) != 0 {
		t.Fatalf("%d renewals of a young edge", len(e))
	}
	if err := h.host.Network().ClosePeer(second.self); err != nil {
		t.Fatal(err)
	}
	connect() // before anybody is told of the loss, or after
	var asked []errand
	eventually(t, "the neighbour is asked once it is back", func() bool {
		asked = append(asked, renewals()...)
		return len(asked) > 0
	})
	if len(asked) != 1 || asked[0].to.ID != second.self {
		t.Errorf("%v are asked, want the neighbour", asked)
	}
}

// An edge is asked for again soon after a release that changes its weight, or when the
// other end was a stranger, and once for each release.
func TestEdgesFollowReleases(t *testing.T) {
	task := lineTask()
	task.Graph = learner.Graph{Rule: "released", Degree: 2, Gamma: 0.5}
	h := attachedSession(t, testNode(t, task, nil, nil)).hood
	before := graph.End{Round: 1, Vector: []float64{1, 0, 0}}
	like, stranger := graph.End{Round: 1, Vector: []float64{1, 0.1, 0}}, graph.End{}
	for name, c := range map[string]struct {
		own, theirs graph.End
		want        time.Duration
	}{
		"nothing new":               {before, like, h.power.renew},
		"no other weight":           {graph.End{Round: 2, Vector: before.Vector}, like, h.power.renew},
		"another weight":            {graph.End{Round: 2, Vector: []float64{0, 1, 0}}, like, renewAfter},
		"stranger, nothing new":     {before, stranger, h.power.renew},
		"stranger, a later release": {graph.End{Round: 2, Vector: before.Vector}, stranger, renewAfter},
	} {
		l := &link{met: true, terms: agree(task.Graph, before, c.theirs, 1, h.host.ID())}
		h.end = c.own
		if got := h.renewal(l); got != c.want {
			t.Errorf("%s: asked for again after %v, want %v", name, got, c.want)
		}
	}
}

// A peer that its owner adds before it is there becomes a neighbour when it comes,
// also where nothing else would lead to it.
func TestPeerAddedBeforeItIsThere(t *testing.T) {
	t.Parallel()
	quiet := func(c *Config) { c.DHT = "off" }
	a := testNode(t, lineTask(), nil, quiet)
	port := freePort(t)
	b := testNode(t, lineTask(), nil, func(c *Config) { quiet(c); c.Listen = []string{"/ip4/127.0.0.1/tcp/" + port} })
	start(t, a)
	if _, err := a.Addrs(t.Context()); err != nil {
		t.Fatal(err)
	}
	added, err := a.AddPeer(t.Context(), "/ip4/127.0.0.1/tcp/"+port+"/p2p/"+b.self.String())
	if err != nil || added.Connected || !added.Running {
		t.Fatalf("%+v, %v", added, err)
	}
	start(t, b)
	eventually(t, "neighbours", func() bool { return status(t, a).Listening == 1 && status(t, b).Listening == 1 })
}
