package discovery

import (
	"crypto/rand"
	"net/netip"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

// madeUp is a node that does not exist, at an address.
func madeUp(t *testing.T, at multiaddr.Multiaddr) peer.AddrInfo {
	t.Helper()
	_, public, err := crypto.GenerateEd25519Key(rand.Reader)
	require.NoError(t, err)
	id, err := peer.IDFromPublicKey(public)
	require.NoError(t, err)
	return peer.AddrInfo{ID: id, Addrs: []multiaddr.Multiaddr{at}}
}

// Of nodes that somebody makes up none is found, and who is at their addresses is, once.
func TestOnlyWhoIsThereIsMet(t *testing.T) {
	a, b, c, gone := newHost(t), newHost(t), newHost(t), newHost(t)
	nobody := gone.Addrs()[0]
	require.NoError(t, gone.Network().Close())
	g := newGreeter(a)
	stranger, other := netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	for range 20 {
		g.add(stranger, madeUp(t, b.Addrs()[0]))
		g.add(stranger, madeUp(t, nobody))
		g.add(stranger, madeUp(t, a.Addrs()[0])) // this node itself
	}
	g.add(other, infoOf(c))
	met := make(map[peer.ID]bool)
	for g.greet(t.Context()); g.calling > 0; g.greet(t.Context()) {
		who := <-g.called
		for _, p := range who.met {
			met[p.ID] = true
			if len(p.Addrs) == 0 {
				t.Errorf("%v was met nowhere", p.ID)
			}
		}
		g.welcome(who)
	}
	if len(met) != 2 || !met[b.ID()] || !met[c.ID()] {
		t.Errorf("met %v; want %v and %v", met, b.ID(), c.ID())
	}
	if most := 2*20 + greetings + 1; g.calls > most {
		t.Errorf("%d calls, though who is at an address is known from the first call on", g.calls)
	}
	if !g.failed || g.waiting > 0 || len(g.senders)+len(g.answers) > 0 {
		t.Errorf("%d answers of %d senders wait, and some calls met nobody: %v", g.waiting, len(g.senders), g.failed)
	}
}

// One address that answers for many nodes does not keep those waiting that another answers for.
// The test fails by chance with a probability of 2^-40.
func TestAnswersAreSharedByAddresses(t *testing.T) {
	g := newGreeter(newHost(t))
	loud, quiet := netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")
	at := multiaddr.StringCast("/ip4/10.0.0.2/tcp/1")
	for range 2 * maxAnswersOf {
		g.add(loud, madeUp(t, at))
	}
	if g.waiting != maxAnswersOf {
		t.Fatalf("%d answers of one address wait; want %d", g.waiting, maxAnswersOf)
	}
	wanted := madeUp(t, at)
	g.add(quiet, wanted)
	for n := 1; g.next().ID != wanted.ID; n++ {
		if n == 40 {
			t.Fatal("40 answers of the loud one came first")
		}
	}
	for range maxAnswers { // of as many addresses
		from := netip.AddrFrom4([4]byte{10, 1, byte(len(g.senders) >> 8), byte(len(g.senders))})
		g.add(from, wanted)
	}
	if g.waiting != maxAnswers {
		t.Errorf("%d answers wait; want %d", g.waiting, maxAnswers)
	}
}

// A node that says that it is at the addresses of others, too, does not keep those from being met.
func TestFalseAddressesHideNobody(t *testing.T) {
	a, b, liar := newHost(t), newHost(t), newHost(t)
	g := newGreeter(a)
	lie := infoOf(liar)
	lie.Addrs = append(lie.Addrs, b.Addrs()...)
	for _, answer := range []peer.AddrInfo{lie, infoOf(b)} {
		g.add(netip.MustParseAddr("10.0.0.2"), answer)
		if g.greet(t.Context()); g.calling == 0 {
			t.Fatalf("%v is not called", answer.ID)
		}
		who := <-g.called
		g.welcome(who)
		if len(who.met) != 1 || who.met[0].ID != answer.ID {
			t.Errorf("met %v, want %v", who, answer.ID)
		}
	}
}
