package netedge

import (
	"io"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/p2p/protocol/ping"

	"p2pnode/internal/require"
)

// A node answers pings, but few on each stream, however many wait there.
func TestFewPingsAreAnsweredOnAStream(t *testing.T) {
	h, _ := newGuarded(t, ordinary())
	peer := newCaller(t, "127.0.9.1")
	require.NoError(t, mayConnect(t, peer, h))
	require.NoError(t, (<-ping.Ping(t.Context(), peer, h.ID())).Error)
	s, err := peer.NewStream(t.Context(), h.ID(), ping.ID)
	require.NoError(t, err)
	require.NoError(t, s.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = s.Write(make([]byte, 100*maxPongs*ping.PingSize))
	require.NoError(t, err)
	answers, _ := io.ReadAll(s)
	if len(answers) != maxPongs*ping.PingSize {
		t.Errorf("%d bytes are answered", len(answers))
	}
}
