package discovery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/crowd"
)

const (
	// maxProviders bounds the announcements that a node keeps. Of a larger network it
	// keeps only some, which is enough to find the others.
	maxProviders = 1024
	// maxTold bounds the nodes named in one answer, and maxToldSize their addresses in
	// bytes. They are drawn at random.
	maxTold     = 128
	maxToldSize = maxAnswer / 2
)

// providers holds the peers that have announced themselves under the one key of a
// network. It does not keep other keys, which no node of the network uses. It
// implements [records.ProviderStore].
type providers struct {
	key  []byte
	host host.Host

	mu     sync.Mutex
	known  map[peer.ID]announcement
	places *crowd.Places[peer.ID]
}

type announcement struct {
	peer.AddrInfo
	until time.Time
}

func newProviders(h host.Host, key string) *providers {
	hash := sha256.Sum256([]byte(key))
	return &providers{
		key:  append([]byte{0x12, sha256.Size}, hash[:]...), // as a multihash
		host: h, known: make(map[peer.ID]announcement), places: crowd.NewPlaces[peer.ID](maxProviders),
	}
}

// AddProvider implements [records.ProviderStore]. The hash table lets a peer announce
// only itself. If there is no more room, a peer of the most crowded network, by the
// address of announcements, is removed.
func (s *providers) AddProvider(_ context.Context, key []byte, p peer.AddrInfo) error {
	if !bytes.Equal(key, s.key) {
		return nil
	}
	if known := knowable(remoteOf(s.host, p.ID)); known != nil {
		p.Addrs = multiaddr.FilterAddrs(p.Addrs, known)
	}
	p.Addrs = Bound(p.Addrs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.known[p.ID]; !ok || time.Now().After(a.until) {
		for _, out := range s.places.Enter(p.ID, crowd.Of(remoteOf(s.host, p.ID)), nil) {
			delete(s.known, out)
		}
	}
	if s.places.Has(p.ID) {
		s.known[p.ID] = announcement{p, time.Now().Add(validity)}
	}
	return nil
}

// GetProviders implements [records.ProviderStore].
func (s *providers) GetProviders(_ context.Context, key []byte) ([]peer.AddrInfo, error) {
	if !bytes.Equal(key, s.key) {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var out []peer.AddrInfo
	for id, a := range s.known {
		if now.After(a.until) {
			delete(s.known, id)
			s.places.Leave(id)
			continue
		}
		if id == s.host.ID() {
			a.Addrs = s.host.Addrs() // it announced itself without addresses
		}
		out = append(out, a.AddrInfo)
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:told(out)], nil
}

// told is how many of the announcements fit into an answer.
func told(all []peer.AddrInfo) (n int) {
	size := 0
	for ; n < min(len(all), maxTold); n++ {
		for _, a := range all[n].Addrs {
			size += len(a.Bytes())
		}
		if size > maxToldSize {
			break
		}
	}
	return n
}

// Close implements [records.ProviderStore].
func (s *providers) Close() error { return nil }

// remoteOf returns the address from which a peer is connected. It is nil if the peer is not
// connected, or is this node.
func remoteOf(h host.Host, p peer.ID) multiaddr.Multiaddr {
	for _, c := range h.Network().ConnsToPeer(p) {
		return c.RemoteMultiaddr()
	}
	return nil
}
