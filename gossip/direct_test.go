package gossip

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

// directRules are such as a learner in rounds and one with masks could have.
func directRules() learner.Rules {
	return learner.Rules{
		learner.KindModel: {Reals: 3, Radius: 2, Last: 1000, Degree: 10},
		learner.KindAck:   {Reals: 1, Radius: 1, Last: 1000, Degree: 10},
		learner.KindMask:  {Ring: 3, Attempt: 8},
	}
}

func newDirectNode(t testing.TB) *node {
	c := testConfig()
	c.Rules, c.Depth = directRules(), 4
	return startNode(t, newKey(t), c)
}

func friends(t testing.TB) (a, b *node) {
	t.Helper()
	a, b = newDirectNode(t), newDirectNode(t)
	befriend(t, a, b)
	waitForListeners(t, a, b)
	waitForListeners(t, b, a)
	return a, b
}

func ack(to peer.ID, round uint64) learner.Message {
	return learner.Message{To: ID(to), Kind: learner.KindAck, Round: round, Degree: 2, Real: []float64{1}}
}

func send(t testing.TB, n *node, m learner.Message) {
	t.Helper()
	if err := n.Send(m); err != nil {
		t.Fatal(err)
	}
}

// collect takes messages until there are count of them.
func collect(t testing.TB, n *node, count int) (got []learner.Message) {
	t.Helper()
	for len(got) < count {
		got = append(got, take(t, n)...)
	}
	return got
}

func TestDirectedMessagesArriveInBothDirections(t *testing.T) {
	a, b := friends(t)
	mask := learner.Message{To: ID(b.id()), Kind: learner.KindMask, Round: 7, Attempt: 3, Ring: []uint64{0, math.MaxUint64, 1}}
	send(t, a, mask)
	send(t, b, ack(a.id(), 9))
	mask.From = ID(a.id())
	if got := collect(t, b, 1); len(got) != 1 || !same(got[0], mask) {
		t.Errorf("got %+v, want %+v", got, mask)
	}
	want := ack(a.id(), 9)
	want.From = ID(b.id())
	if got := collect(t, a, 1); len(got) != 1 || !same(got[0], want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	waitForStats(t, a, func(s Stats) bool { return s == Stats{DirectSent: 1, DirectTaken: 1} })
}

// A stream serves many messages, keeps their order, and is opened once.
func TestDirectedMessagesKeepTheirOrder(t *testing.T) {
	a, b := friends(t)
	for round := uint64(1); round <= 100; round++ {
		send(t, a, ack(b.id(), round))
		got := collect(t, b, 1)
		if len(got) != 1 || got[0].Round != round {
			t.Fatalf("got %+v, want round %d", got, round)
		}
	}
	streams := 0
	for _, c := range a.host.Network().ConnsToPeer(b.id()) {
		for _, s := range c.GetStreams() {
			if s.Protocol() == directProtocol("net") {
				streams++
			}
		}
	}
	if streams != 1 {
		t.Errorf("%d streams are open, want 1", streams)
	}
}

// What was sent through a broken connection is lost; a new one is used as soon as
// there is one.
func TestDirectedMessagesSurviveABrokenConnection(t *testing.T) {
	a, b := friends(t)
	send(t, a, ack(b.id(), 1))
	collect(t, b, 1)
	if err := a.host.Network().ClosePeer(b.id()); err != nil {
		t.Fatal(err)
	}
	require.Nothing(t, func() string {
		if a.host.Network().Connectedness(b.id()) == network.Connected {
			return "still connected"
		}
		return ""
	})
	send(t, a, ack(b.id(), 2)) // there is nowhere to send it
	waitForStats(t, a, func(s Stats) bool { return s.Dropped == 1 })
	connect(t, a.host, b.host)
	send(t, a, ack(b.id(), 3))
	if got := collect(t, b, 1); got[0].Round != 3 {
		t.Errorf("got round %d, want 3", got[0].Round)
	}
}

// A receiver that was restarted gets what is sent after it came back.
func TestDirectedMessagesReachARestartedPeer(t *testing.T) {
	a, b := friends(t)
	send(t, a, ack(b.id(), 1))
	collect(t, b, 1)
	key := b.host.Peerstore().PrivKey(b.id())
	b.stop()
	c := testConfig()
	c.Rules, c.Depth = directRules(), 4
	again := startNode(t, key, c)
	befriend(t, again, a)
	round := uint64(1)
	require.Nothing(t, func() string { // the first may go into the dead connection
		round++
		send(t, a, ack(again.id(), round))
		if again.Stats().DirectTaken == 0 {
			return "nothing arrives"
		}
		return ""
	})
}

func TestSendRefusesWhatIsNotDirected(t *testing.T) {
	a, b := friends(t)
	toNobody := ack(b.id(), 1)
	toNobody.To = "nobody"
	broadcast := ack(b.id(), 1)
	broadcast.To = ""
	shared := model(1, 0, 0, 0)
	shared.To = ID(b.id())
	long := learner.Message{To: ID(b.id()), Kind: learner.KindMask, Round: 1, Ring: make([]uint64, maxMessageSize/8)}
	for name, m := range map[string]learner.Message{
		"to nobody": toNobody, "broadcast": broadcast, "a model": shared, "round 0": ack(b.id(), 0), "too large": long,
	} {
		if a.Send(m) == nil {
			t.Errorf("%s: sent", name)
		}
	}
	a.stop()
	if a.Send(ack(b.id(), 1)) == nil {
		t.Error("sent after the end")
	}
}

// A peer that nobody can reach fills its queue, and costs no more than that.
func TestDirectedQueuesAreBounded(t *testing.T) {
	a, stranger := newDirectNode(t), testPeer(t)
	refused := 0
	for round := range uint64(100 * directQueue) {
		if a.Send(ack(stranger, round+1)) != nil {
			refused++
		}
	}
	require.Nothing(t, func() string {
		if s := a.Stats(); s.Dropped != 100*directQueue {
			return fmt.Sprintf("%d messages are dropped, want all", s.Dropped)
		}
		return ""
	})
	if n := a.Reasons()[QueueFull] + a.Reasons()[StreamFailed]; n != 100*directQueue {
		t.Errorf("%d messages met a full queue or a broken stream, want all", n)
	}
	t.Logf("%d of %d refused at once", refused, 100*directQueue)
}

func TestDirectedMessagesOfStrangersAreIgnored(t *testing.T) {
	victim, friend := friends(t)
	stranger := newDirectNode(t)
	connect(t, stranger.host, victim.host)
	send(t, stranger, ack(victim.id(), 1))
	waitForStats(t, victim, func(s Stats) bool { return s.Ignored == 1 })
	checkReason(t, victim, NotFollowed, 1)
	send(t, friend, ack(victim.id(), 1))
	if got := collect(t, victim, 1); len(got) != 1 || got[0].From != ID(friend.id()) {
		t.Errorf("got %+v", got)
	}
}

func FuzzDecodeDirected(f *testing.F) {
	for _, m := range []learner.Message{
		{To: "me", Kind: learner.KindAck, Round: 1, Degree: 3, Real: []float64{1}},
		{To: "me", Kind: learner.KindMask, Round: math.MaxUint64, Attempt: 8, Ring: []uint64{1, 2, math.MaxUint64}},
	} {
		data, err := encodeDirected(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	rules := directRules()
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeDirected(data, "author", "me", rules)
		if err != nil {
			if !errors.Is(err, errMalformed) {
				t.Fatalf("%v does not wrap errMalformed", err)
			}
			return
		}
		rule, ok := rules[m.Kind]
		if !ok || len(m.Real) != rule.Reals || len(m.Ring) != rule.Ring || m.Attempt > rule.Attempt || m.Degree > rule.Degree || m.Round == 0 {
			t.Fatalf("accepted %+v", m)
		}
		again, err := encodeDirected(m)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeDirected(again, "author", "me", rules); err != nil || !same(back, m) {
			t.Fatalf("%+v became %+v (%v)", m, back, err)
		}
	})
}

// Every field survives the wire, broadcast and directed.
func TestDirectedMessagesDecodeToTheSameBits(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		n, k := random.IntN(50), 1+random.IntN(50)
		m := learner.Message{
			From: "author", To: "me", Kind: learner.KindMasked, Round: 1 + random.Uint64N(math.MaxUint64),
			Attempt: random.Uint32(), Degree: random.IntN(200), NoiseStd: random.ExpFloat64(),
			Real: make([]float64, n), Ring: make([]uint64, k),
		}
		for i := range m.Real {
			m.Real[i] = random.NormFloat64() * math.Exp(100*random.NormFloat64())
		}
		for i := range m.Ring {
			m.Ring[i] = random.Uint64()
		}
		data, err := encodeDirected(m)
		if err != nil {
			t.Fatal(err)
		}
		rules := learner.Rules{learner.KindMasked: {Reals: n, Ring: k, Radius: math.Inf(1), Attempt: math.MaxUint32, Degree: 200}}
		if got, err := decodeDirected(data, "author", "me", rules); err != nil || !same(got, m) {
			t.Fatalf("got %+v, sent %+v (%v)", got, m, err)
		}
	}
}
