package discovery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	pb "github.com/libp2p/go-libp2p-kad-dht/pb"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-msgio"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
)

// talks counts the streams of the hash table at one end of a host's connections.
func talks(h host.Host, d network.Direction) (n int) {
	for _, c := range h.Network().Conns() {
		for _, s := range c.GetStreams() {
			if s.Stat().Direction == d && strings.HasSuffix(string(s.Protocol()), "/kad/1.0.0") {
				n++
			}
		}
	}
	return n
}

// Askers that never read their answers hold a few of them here, and others are answered
// meanwhile.
func TestAnswersThatNobodyReads(t *testing.T) {
	server := newHost(t)
	d := start(t, server, testConfig())
	store := d.table.dht.ProviderStore().(*providers)
	for i := range maxProviders {
		p := peer.AddrInfo{ID: peer.ID(fmt.Sprintf("%038d", i))}
		for k := range maxAddrs {
			p.Addrs = append(p.Addrs, multiaddr.StringCast(fmt.Sprintf("/ip4/198.51.100.%d/tcp/%d", k, 1+i)))
		}
		if err := store.AddProvider(t.Context(), store.key, p); err != nil {
			t.Fatal(err)
		}
	}
	question := &pb.Message{Type: pb.Message_GET_PROVIDERS, Key: store.key}
	const more = 16 // answers on each stream are more than it holds unread
	a := newAsker(t, server)
	for range 3 * answersAtOnce {
		s, err := a.NewStream(t.Context(), server.ID(), a.Protocol())
		if err != nil {
			t.Fatal(err)
		}
		mute := &asker{t, a.Host, s, msgio.NewVarintReaderSize(s, network.MessageSizeMax)}
		for range more {
			if mute.say(question) != nil {
				break // this one was turned away already
			}
		}
		_, _ = mute.hear() // one answer, so that the server has begun
	}
	require.Within(t, 40*time.Second, "most mute askers are turned away", func() bool { // libp2p would do so after a minute
		return talks(server, network.DirInbound) <= 1+answersAtOnce
	})
	other := newAsker(t, server)
	for range 2 { // once more, as libp2p does, if somebody pushed it out
		if err := other.say(question); err != nil {
			continue
		}
		if m, err := other.hear(); err == nil && len(m.ProviderPeers) > 0 {
			return
		}
		other = newAsker(t, server)
	}
	t.Error("another peer gets no answer")
}

// Nothing that a peer says after its answer is kept.
func TestAnAnsweredQuestionIsOver(t *testing.T) {
	server, h := newHost(t), newHost(t)
	start(t, server, testConfig())
	if err := h.Connect(t.Context(), infoOf(server)); err != nil {
		t.Fatal(err)
	}
	table, err := newTable(h, Config{Network: testConfig().Network, Client: true})
	if err != nil {
		t.Fatal(err)
	}
	defer table.close()
	for range 8 {
		if err := table.dht.Ping(t.Context(), server.ID()); err != nil {
			t.Fatal(err)
		}
	}
	require.Eventually(t, "the streams are closed", func() bool { return talks(h, network.DirOutbound) == 0 && talks(server, network.DirInbound) == 0 })
}
