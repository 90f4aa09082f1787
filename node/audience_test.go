package node

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/peering"
	"p2pnode/storage"
)

// The owner's limit ends the releases of a day. The owner learns who listened, also after
// a restart.
func TestDailyReleases(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(4, 1)), 20), func(c *datadir.Config) { c.DailyReleases = 2 })
	stop := start(t, n)
	friend, _ := listener(t, waitForAddrs(t, n))
	require.Eventually(t, "the cap is reached", func() bool { return strings.Contains(status(t, n).Waits, "daily_releases") })
	check := func(when string) {
		b, err := n.Budget(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Listeners) != 1 || b.Listeners[0].Peer != friend.self.String() || b.Listeners[0].Releases != 2 ||
			b.Listeners[0].First == 0 || b.Listeners[0].Last < b.Listeners[0].First || b.Cohorts[0].Releases != 2 {
			t.Errorf("%s: listeners %+v of %d releases", when, b.Listeners, b.Cohorts[0].Releases)
		}
	}
	check("running")
	stop()
	check("at rest")
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, n.dir)
	check("after a restart")
	start(t, n)
	require.Eventually(t, "the cap holds in the next run", func() bool { return strings.Contains(status(t, n).Waits, "daily_releases") })
	check("in the next run")
}

// Releases wait for strangers, and the owner learns for how many. A node on the local
// network does not count as a stranger.
func TestStrangersAreWaitedFor(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, nil)
	start(t, n)
	friend, _ := listener(t, waitForAddrs(t, n))
	require.Eventually(t, "they are neighbours", func() bool { return status(t, n).Listening == 1 })
	hood := n.session.hood
	nobody := testNode(t, lineTask(), nil, nil).self
	stranger := neighbour{Edge: peering.Edge{Peer: gossip.ID(nobody), Since: -2 * time.Hour}, id: nobody, live: true}
	got := hood.waits([]neighbour{stranger, stranger})
	if want := "waits for 2 listeners of different networks that have been neighbours for an hour"; !strings.HasPrefix(got, want) || !strings.Contains(got, "has 0") {
		t.Errorf("it says %q", got)
	}
	if l := hood.listener(stranger, hood.origins, time.Now()); l.Known || l.Age < 2*time.Hour || l.Network != "" {
		t.Errorf("a stranger is %+v", l)
	}
	local := neighbour{Edge: peering.Edge{Peer: gossip.ID(friend.self)}, id: friend.self, live: true}
	if l := hood.listener(local, hood.origins, time.Now()); !l.Known || l.Network != "127.0.0.0/16" {
		t.Errorf("a node of this machine is %+v", l)
	}
	if got := hood.waits([]neighbour{stranger, local}); got != "" {
		t.Errorf("with a node of this machine it says %q", got)
	}
	stranger.live = false
	if got := hood.waits([]neighbour{stranger}); got != "" {
		t.Errorf("with nobody there it says %q", got)
	}
}

// Machines of one network are not strangers, whatever their addresses: a server without a
// private address may run three nodes, and a home may have public addresses of IPv6.
func TestNearby(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"192.168.7.3", "192.168.7.4", true},
		{"10.1.2.3", "203.0.113.5", true},
		{"fe80::1", "fe80::2", true},
		{"203.0.113.5", "203.0.113.5", true},
		{"203.0.113.6", "203.0.113.5", false},
		{"2001:db8:1:2::5", "2001:db8:1:2:abc::7", true},
		{"2001:db8:1:3::5", "2001:db8:1:2::5", false},
		{"203.0.113.5", "2001:db8:1:2::5", false},
	} {
		if got := nearby(netip.MustParseAddr(c.from), netip.MustParseAddr(c.to)); got != c.want {
			t.Errorf("from %s to %s: nearby is %v", c.from, c.to, got)
		}
	}
	if nearby(netip.Addr{}, netip.Addr{}) {
		t.Error("a connection without addresses is nearby")
	}
}

// The number of listeners that are kept is bounded; the latest are kept.
func TestAudienceIsBounded(t *testing.T) {
	t.Parallel()
	var a audience
	now := time.Unix(1_800_000_000, 0)
	if at := a.again(now, 1); !at.IsZero() {
		t.Error("a cap is reached before any release")
	}
	for i := range maxListeners + 10 {
		a.note(now.Add(time.Duration(i)*time.Second), []learner.Edge{{Peer: learner.ID(fmt.Sprintf("%05d", i)), Live: true}, {Peer: "dead"}})
	}
	kept := a.stored()
	if len(kept.Listeners) != maxListeners || kept.Listeners[0].Peer != "00010" || len(kept.Releases) != maxDaily ||
		slices.ContainsFunc(kept.Listeners, func(l api.Listener) bool { return l.Releases != 1 }) {
		t.Errorf("%d listeners from %q, %d releases", len(kept.Listeners), kept.Listeners[0].Peer, len(kept.Releases))
	}
	last := now.Add((maxListeners + 9) * time.Second)
	if at := a.again(last, 10); !at.Equal(now.Add(maxListeners*time.Second + day)) {
		t.Errorf("the next release is for %v", at)
	}
	if at := a.again(last.Add(day), 10); !at.IsZero() {
		t.Error("the cap holds for longer than a day")
	}
}

// If a clock was years ahead when releases were made and is right again, the next release
// is delayed by a day at most, also when the node is restarted.
func TestAClockThatWasAheadDelaysADay(t *testing.T) {
	var a audience
	right := time.Unix(1_800_000_000, 0)
	for i := range 3 {
		a.note(right.Add(87_600*time.Hour+time.Duration(i)*time.Second), []learner.Edge{{Peer: "somebody", Live: true}})
	}
	kept := a.stored()
	for range 3 { // however often it looks
		if at := a.again(right, 2); !at.Equal(right.Add(day)) {
			t.Fatalf("the next release is for %v", at)
		}
	}
	if at := a.again(right.Add(day), 2); !at.IsZero() {
		t.Errorf("after a day it is for %v", at)
	}
	if kept.Releases[0] == a.stored().Releases[0] {
		t.Error("what was handed out before has changed, or what is stored has not")
	}
}

// If a clock was ahead when a listener was noted, the listener's age begins with the run
// that notices it. Setting a clock meanwhile makes nobody older or younger.
func TestAgesFollowTheClockOfTheRun(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, nil)
	peers := []string{testNode(t, lineTask(), nil, nil).self.String(), testNode(t, lineTask(), nil, nil).self.String()}
	require.NoError(t, n.store.SaveEdges(nil, storage.Edge{Peer: peers[0], Weight: 1, Since: time.Now().Add(9 * time.Hour).Unix()}))
	require.NoError(t, n.store.SaveEdges(nil, storage.Edge{Peer: peers[1], Weight: 1, Since: time.Now().Add(-2 * time.Hour).Unix()}))
	start(t, n)
	waitForAddrs(t, n)
	hood := n.session.hood
	var list []neighbour
	require.Eventually(t, "the edges are there", func() bool { list = hood.neighbours(); return len(list) == 2 })
	for _, e := range list {
		least := map[string]time.Duration{peers[0]: time.Hour, peers[1]: 3 * time.Hour}[string(e.Peer)]
		later := time.Now().Add(time.Hour) // of the run, whatever the wall clock says
		if age := hood.listener(e, hood.origins, later).Age; age < least || age > least+10*time.Minute {
			t.Errorf("after an hour the age is %v, want %v", age, least)
		}
	}
}

// An edge that was made while the clock was behind is dated by the clock as it was set since, and
// is stored again when it is renewed: a stranger is not a neighbour of years after a restart.
func TestAgesOfEdgesAfterTheClockWasSet(t *testing.T) {
	const years = 10 * 365 * 24 * time.Hour
	s := attachedSession(t, testNode(t, lineTask(), nil, nil))
	from := randomPeer(t)
	stored := func() time.Duration {
		t.Helper()
		var age time.Duration
		s.hood.look(func(*peering.Neighbourhood) {
			s.hood.save()
			edges, err := s.hood.store.Edges()
			if err != nil || len(edges) != 1 {
				t.Fatalf("%+v are stored, %v", edges, err)
			}
			age = time.Since(time.Unix(edges[0].Since, 0))
		})
		return age
	}
	s.hood.look(func(*peering.Neighbourhood) { s.hood.start = s.hood.start.Round(0).Add(-years) })
	s.hood.answer(t.Context(), from, gossip.EdgeRequest{Kind: gossip.EdgeAsk})
	if age := stored(); age > time.Hour {
		t.Errorf("an edge of a moment is stored as one of %v", age)
	}
	if list := s.hood.neighbours(); len(list) != 1 || time.Since(time.Unix(list[0].since, 0)) > time.Hour {
		t.Errorf("an edge of a moment is shown as %+v", list)
	}
	s.hood.look(func(*peering.Neighbourhood) { // it was stored before the clock was set
		e := s.hood.edges[from]
		e.Since -= int64(years.Seconds())
		s.hood.unsaved[from] = true
		now := s.hood.now
		s.hood.now = func() time.Duration { return now() + 2*time.Second }
	})
	if age := stored(); age < time.Hour {
		t.Fatalf("it is stored as one of %v", age)
	}
	s.hood.answer(t.Context(), from, gossip.EdgeRequest{Kind: gossip.EdgeAsk, Turn: 1})
	if age := stored(); age > time.Hour {
		t.Errorf("after a renewal it is stored as one of %v", age)
	}
}

// An edge that was stored before the clock was set, by a node that was killed before it could
// store it again, has no time that can be right: it begins with the next run.
func TestAgeOfAnEdgeOf1970(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	require.NoError(t, n.store.SaveEdges(nil, storage.Edge{Peer: randomPeer(t).String(), Weight: 1, Since: 90}))
	hood := attachedSession(t, n).hood
	list := hood.neighbours()
	if age := hood.listener(list[0], hood.origins, time.Now()).Age; age > time.Hour {
		t.Errorf("its age is %v", age)
	}
	if at := time.Unix(list[0].since, 0); time.Since(at) > time.Hour {
		t.Errorf("it is shown as one since %v", at)
	}
}
