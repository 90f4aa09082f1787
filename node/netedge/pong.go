package netedge

import (
	"io"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
)

// maxPongs is how many pings are answered on one stream. Eight thousand may wait on a stream
// before anybody counts the answers. A node sends one.
const maxPongs = 16

// pong answers as libp2p does, but not without end.
func pong(s network.Stream) {
	var service ping.PingService
	service.PingHandler(&pinged{s, io.LimitReader(s, maxPongs*ping.PingSize)})
}

// pinged is a stream of which only so much is read.
type pinged struct {
	network.Stream
	few io.Reader
}

// Read implements [network.Stream].
func (s *pinged) Read(p []byte) (int, error) { return s.few.Read(p) }
