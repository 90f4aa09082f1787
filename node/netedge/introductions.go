package netedge

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
)

const (
	// maxIntroduction bounds what a peer says of itself when a node connects to it, in bytes,
	// with what goes before: an honest one has some three thousand. Libp2p reads eighty
	// thousand of each, in which tens of thousands of empty addresses fit.
	maxIntroduction = 8<<10 + 256
	// introducedAgain is how many times peers may say in each streamWindow that something
	// about them has changed, before they must share.
	introducedAgain = 4
)

var errIntroduction = errors.New("node: a peer says too much of itself")

// introductions is a multiplexer on whose streams a peer that is asked who it is cannot
// answer without end.
type introductions struct {
	tcp      network.Multiplexer // of connections that the system watches
	other    network.Multiplexer
	entrance *Entrance
}

// NewConn implements [network.Multiplexer].
func (m introductions) NewConn(c net.Conn, server bool, scope network.PeerScope) (network.MuxedConn, error) {
	chosen := m.other
	if _, watched := c.RemoteAddr().(*net.TCPAddr); watched {
		chosen = m.tcp
	}
	under := m.entrance.peerConn(c, scope.Peer())
	if server {
		under.arrival = m.entrance.proved(c)
	}
	conn, err := chosen.NewConn(under, server, scope)
	if err != nil {
		return nil, err
	}
	return introduced{conn, under}, nil
}

type introduced struct {
	network.MuxedConn
	under *peerConn
}

// AcceptStream implements [network.MuxedConn]. Libp2p calls it once it has decided what to
// do with the stream before.
func (c introduced) AcceptStream() (network.MuxedStream, error) {
	c.under.accepts()
	s, err := c.MuxedConn.AcceptStream()
	if err != nil {
		return nil, err
	}
	return newOffered(s, c.under.intake), nil
}

// OpenStream implements [network.MuxedConn].
func (c introduced) OpenStream(ctx context.Context) (network.MuxedStream, error) {
	s, err := c.MuxedConn.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	return &introduction{MuxedStream: s, left: maxIntroduction}, nil
}

// asksWho is what is written first on a stream to ask a peer who it is: the names of two
// protocols, each after its length.
const asksWho = "\x13/multistream/1.0.0\n\x0f" + identify.ID + "\n"

// introduction is a stream that this node has opened. What it writes first says what for,
// and nobody answers before. One goroutine reads and one writes at a time.
type introduction struct {
	network.MuxedStream
	left  int         // bytes that may still be read
	begun bool        // something was written
	free  atomic.Bool // it is none: as much as there is may be read
}

// Write implements [network.MuxedStream].
func (s *introduction) Write(p []byte) (int, error) {
	if !s.begun {
		s.begun = true
		s.free.Store(!bytes.HasPrefix(p, []byte(asksWho)))
	}
	return s.MuxedStream.Write(p)
}

// Read implements [network.MuxedStream].
func (s *introduction) Read(p []byte) (int, error) {
	if s.free.Load() {
		return s.MuxedStream.Read(p)
	}
	if s.left == 0 {
		_ = s.Reset()
		return 0, errIntroduction
	}
	n, err := s.MuxedStream.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}
