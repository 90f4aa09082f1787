package discovery

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"time"

	pb "github.com/libp2p/go-libp2p-kad-dht/pb"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-msgio"
	"github.com/multiformats/go-multiaddr"
	"google.golang.org/protobuf/proto"
)

// A host to which everybody is connected from one address, its network, and a connection.
type (
	visited struct {
		host.Host
		from string
	}
	visits struct {
		network.Network
		from string
	}
	visit struct {
		network.Conn
		from string
	}
)

func (v visited) ID() peer.ID                        { return "self" }
func (v visited) Network() network.Network           { return visits{from: v.from} }
func (v visits) ConnsToPeer(peer.ID) []network.Conn  { return []network.Conn{visit{from: v.from}} }
func (v visit) RemoteMultiaddr() multiaddr.Multiaddr { return multiaddr.StringCast(v.from) }

// asker speaks to one hash table by hand.
type asker struct {
	t testing.TB
	host.Host
	network.Stream
	in msgio.ReadCloser
}

func newAsker(t testing.TB, server host.Host) *asker {
	t.Helper()
	h := newHost(t)
	if err := h.Connect(t.Context(), infoOf(server)); err != nil {
		t.Fatal(err)
	}
	s, err := h.NewStream(t.Context(), server.ID(), "/p2pnode/test/kad/1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	_ = s.SetDeadline(time.Now().Add(deadline))
	return &asker{t, h, s, msgio.NewVarintReaderSize(s, network.MessageSizeMax)}
}

func (a *asker) say(m *pb.Message) error {
	data, err := proto.Marshal(m)
	if err != nil {
		a.t.Fatal(err)
	}
	return msgio.NewVarintWriter(a.Stream).WriteMsg(data)
}

func (a *asker) announce(key []byte) error {
	self := pb.RawPeerInfosToPBPeers([]peer.AddrInfo{infoOf(a.Host)})
	return a.say(&pb.Message{Type: pb.Message_ADD_PROVIDER, Key: key, ProviderPeers: self})
}

func (a *asker) hear() (*pb.Message, error) {
	data, err := a.in.ReadMsg()
	if err != nil {
		return nil, err
	}
	m := new(pb.Message)
	return m, proto.Unmarshal(data, m)
}

// Somebody who announces himself under keys of his own choice leaves nothing behind, and
// the network's own key goes on working.
func TestOnlyTheNetworksKeyIsKept(t *testing.T) {
	server := newHost(t)
	d := start(t, server, testConfig())
	a := newAsker(t, server)
	for range 1000 {
		key := make([]byte, 34)
		_, _ = rand.Read(key)
		key[0], key[1] = 0x12, 32
		if err := a.announce(key); err != nil {
			t.Fatal(err)
		}
	}
	store := d.table.dht.ProviderStore().(*providers)
	if err := a.announce(store.key); err != nil {
		t.Fatal(err)
	}
	if err := a.say(&pb.Message{Type: pb.Message_GET_PROVIDERS, Key: store.key}); err != nil {
		t.Fatal(err)
	}
	m, err := a.hear() // in the order of the questions
	if err != nil {
		t.Fatal(err)
	}
	found := pb.PBPeersToPeerInfos(m.ProviderPeers)
	at := -1
	for i, p := range found {
		if p.ID == a.Host.ID() {
			at = i
		}
	}
	if at < 0 || len(found[at].Addrs) == 0 {
		t.Errorf("what was announced under the network's key is %v", found)
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	if len(store.known) > 2 {
		t.Errorf("%d announcements are kept, want those of the asker and the server", len(store.known))
	}
}

// A peer from outside announces no address inside, and one on this machine any.
func TestAnnouncementsFromOutside(t *testing.T) {
	said := []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/127.0.0.1/tcp/6379"), multiaddr.StringCast("/ip4/10.0.0.1/tcp/80"), multiaddr.StringCast("/ip4/1.2.3.4/tcp/4001")}
	for from, want := range map[string]int{"/ip4/5.6.7.8/tcp/1": 2, "/ip4/10.0.0.9/tcp/1": 1, "/ip4/127.0.0.1/tcp/1": 0} {
		s := newProviders(visited{from: from}, "key")
		if err := s.AddProvider(t.Context(), s.key, peer.AddrInfo{ID: "peer", Addrs: said}); err != nil {
			t.Fatal(err)
		}
		got, err := s.GetProviders(t.Context(), s.key)
		if err != nil || len(got) != 1 || !slices.EqualFunc(got[0].Addrs, said[want:], multiaddr.Multiaddr.Equal) {
			t.Errorf("from %s: %v, %v", from, got, err)
		}
	}
}

// Many identities of one network take places from each other and from nobody else, and an
// answer stays small.
func TestAnnouncementsAreBounded(t *testing.T) {
	h := newHost(t)
	store := newProviders(h, "key")
	for i := range maxProviders + 500 {
		id := peer.ID(fmt.Sprint("peer ", i))
		if err := store.AddProvider(context.Background(), store.key, peer.AddrInfo{ID: id, Addrs: h.Addrs()}); err != nil {
			t.Fatal(err)
		}
	}
	if len(store.known) != maxProviders || store.places.Len() != maxProviders {
		t.Errorf("%d announcements are kept, in %d places, want %d", len(store.known), store.places.Len(), maxProviders)
	}
	told, err := store.GetProviders(context.Background(), store.key)
	if err != nil || len(told) != maxTold {
		t.Errorf("%d nodes are named, %v, want %d", len(told), err, maxTold)
	}
	if other, err := store.GetProviders(context.Background(), []byte("another")); err != nil || len(other) > 0 {
		t.Errorf("under another key are %v, %v", other, err)
	}
}

// A peer that floods the hash table is cut off, and others are answered meanwhile.
func TestAFloodOfQuestionsIsCutOff(t *testing.T) {
	server := newHost(t)
	start(t, server, testConfig())
	a := newAsker(t, server)
	go func() {
		for a.say(&pb.Message{Type: pb.Message_PING}) == nil {
		}
	}()
	answers := 0
	for {
		if _, err := a.hear(); err != nil {
			break
		}
		if answers++; answers > tableWork {
			t.Fatal("the flood goes on")
		}
	}
	other := newAsker(t, server)
	if err := other.say(&pb.Message{Type: pb.Message_PING}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.hear(); err != nil {
		t.Errorf("another peer gets no answer: %v", err)
	}
}

// What is too long is refused before there is memory for it.
func TestALongQuestionIsRefused(t *testing.T) {
	server := newHost(t)
	start(t, server, testConfig())
	for _, begin := range [][]byte{{0xff, 0xff, 0xff, 0x01}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, {0x80, 0x80, 0x80, 0x80}} {
		a := newAsker(t, server)
		if _, err := a.Write(begin); err != nil {
			t.Fatal(err)
		}
		if _, err := a.hear(); err == nil {
			t.Errorf("a message that begins with %x is answered", begin)
		}
	}
}
