package reach

import (
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/multiformats/go-multiaddr"
)

func multiaddrs(t *testing.T, texts ...string) []multiaddr.Multiaddr {
	t.Helper()
	out := make([]multiaddr.Multiaddr, len(texts))
	for i, text := range texts {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = a
	}
	return out
}

const (
	one = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
	two = "12D3KooWSkQGebxiJSmavWHMkjr7Tzni3S7GozyRC9TrgE3t6ZA4"
)

// Relays are those of the configuration, then those that the addresses of other
// peers go through, each once.
func TestRelaysHeardOfFromPeers(t *testing.T) {
	h, _ := newHost(t, true)
	first, err := peer.AddrInfoFromString("/ip4/1.2.3.4/tcp/1/p2p/" + one)
	if err != nil {
		t.Fatal(err)
	}
	r := &Reach{config: Config{Relays: []peer.AddrInfo{*first, *first}}, host: h}
	behind, _ := newHost(t, false)
	h.Peerstore().AddAddrs(behind.ID(), multiaddrs(t,
		"/ip4/192.168.0.2/tcp/1",
		"/ip4/5.6.7.8/tcp/2/p2p/"+two+"/p2p-circuit",
		"/ip4/5.6.7.8/udp/2/quic-v1/p2p/"+two+"/p2p-circuit"), peerstore.PermanentAddrTTL)
	var got []string
	for p := range r.relays(t.Context(), 10) {
		got = append(got, p.ID.String())
	}
	if !slices.Equal(got, []string{one, two}) {
		t.Errorf("relays %v, want %v", got, []string{one, two})
	}
	n := 0
	for range r.relays(t.Context(), 1) {
		n++
	}
	if n != 1 {
		t.Errorf("%d relays, asked for one", n)
	}
}

func TestPublicFirst(t *testing.T) {
	loopback, private, public := "/ip4/127.0.0.1/tcp/1", "/ip4/10.0.0.1/tcp/1", "/ip4/1.2.3.4/tcp/1"
	if got := PublicFirst([]string{loopback, private, public}); !slices.Equal(got, []string{public, private}) {
		t.Errorf("%v", got)
	}
	if got := PublicFirst([]string{loopback}); !slices.Equal(got, []string{loopback}) {
		t.Errorf("%v", got)
	}
	if !IsPublic(public) || IsPublic(private) || IsPublic("no address") {
		t.Error("what is public is confused")
	}
}
