package netedge

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// says is an introduction in this many parts, each of eight thousand bytes of empty addresses.
func says(parts int) []byte {
	part := bytes.Repeat([]byte{2<<3 | 2, 0}, 4000)
	return bytes.Repeat(append(binary.AppendUvarint(nil, uint64(len(part))), part...), parts)
}

// A node identifies honest peers, and ends with one that says more of itself than it will
// ever need.
func TestIntroductionsAreBounded(t *testing.T) {
	node, _ := newGuarded(t, PowerOf(&datadir.Config{}, 10))
	events, err := node.EventBus().Subscribe([]any{new(event.EvtPeerIdentificationCompleted), new(event.EvtPeerIdentificationFailed)})
	require.NoError(t, err)
	defer events.Close()
	for parts, known := range map[int]bool{0: true, 2: false, 9: false} {
		caller := newCaller(t, "127.0.0.1")
		if parts > 0 {
			caller.SetStreamHandler(identify.ID, func(s network.Stream) {
				_, _ = s.Write(says(parts))
				_ = s.Close()
			})
		}
		require.NoError(t, caller.Connect(t.Context(), peer.AddrInfo{ID: node.ID(), Addrs: node.Addrs()}))
		switch e := (<-events.Out()).(type) {
		case event.EvtPeerIdentificationCompleted:
			if !known || e.Peer != caller.ID() {
				t.Errorf("identified although it says %d parts", parts)
			}
		case event.EvtPeerIdentificationFailed:
			if known || e.Peer != caller.ID() {
				t.Errorf("not identified: %v", e.Reason)
			}
		}
	}
}

// Of those who say again and again that something about them has changed, a few are heard.
func TestIntroductionsAgainAreShared(t *testing.T) {
	node, _ := newGuarded(t, PowerOf(&datadir.Config{}, 10))
	caller := newCaller(t, "127.0.0.1")
	require.NoError(t, caller.Connect(t.Context(), peer.AddrInfo{ID: node.ID(), Addrs: node.Addrs()}))
	heard := 0
	for range 4 * introducedAgain {
		if pushed(t, caller, node.ID()) {
			heard++
		}
	}
	if heard < introducedAgain || heard > 3*introducedAgain {
		t.Errorf("%d of %d were heard", heard, 4*introducedAgain)
	}
}

// pushed introduces a host to another one again, and reports whether that one listened.
func pushed(t *testing.T, h host.Host, to peer.ID) bool {
	t.Helper()
	s, err := h.NewStream(t.Context(), to, identify.IDPush)
	if err != nil {
		return false
	}
	defer s.Close()
	require.NoError(t, s.SetDeadline(time.Now().Add(time.Minute)))
	if _, err := s.Write(says(0)); err != nil || s.CloseWrite() != nil {
		return false
	}
	_, err = s.Read(make([]byte, 1))
	return err != nil && err.Error() == "EOF"
}
