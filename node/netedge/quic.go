package netedge

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/transport"

	"p2pnode/internal/crowd"
)

// quicConn is a connection over QUIC, which has its own streams. Nothing is read from any
// while there is no time for what the peer sends, and QUIC lets a peer send only so much
// that was not read. Packets that carry nothing for a stream are not counted.
type quicConn struct {
	transport.CapableConn
	intake *intake
}

func (e *Entrance) quicConn(c transport.CapableConn) transport.CapableConn {
	return quicConn{c, &intake{entrance: e, peer: c.RemotePeer(), from: crowd.Of(c.RemoteMultiaddr())}}
}

// AcceptStream implements [network.MuxedConn].
func (c quicConn) AcceptStream() (network.MuxedStream, error) {
	s, err := c.CapableConn.AcceptStream()
	if err != nil {
		return nil, err
	}
	return &offered{MuxedStream: &quicStream{MuxedStream: s, conn: c}, intake: c.intake, left: maxOffers}, nil
}

// OpenStream implements [network.MuxedConn].
func (c quicConn) OpenStream(ctx context.Context) (network.MuxedStream, error) {
	s, err := c.CapableConn.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	return &introduction{MuxedStream: &quicStream{MuxedStream: s, conn: c}, left: maxIntroduction}, nil
}

// quicStream is a stream over QUIC.
type quicStream struct {
	network.MuxedStream
	conn     quicConn
	deadline atomic.Pointer[time.Time] // for reading; nil or zero: none
}

// Read implements [network.MuxedStream].
func (s *quicStream) Read(p []byte) (int, error) {
	for !s.conn.intake.open() && !s.conn.IsClosed() && !s.late() {
		time.Sleep(intakeOpens)
	}
	n, err := s.MuxedStream.Read(p)
	s.conn.intake.add(max(n, readFrame)) // nobody sees the frames
	return n, err
}

// late reports whether there is no time left for reading. The stream itself says so then.
func (s *quicStream) late() bool {
	d := s.deadline.Load()
	return d != nil && !d.IsZero() && !time.Now().Before(*d)
}

// SetReadDeadline implements [network.MuxedStream].
func (s *quicStream) SetReadDeadline(t time.Time) error {
	s.deadline.Store(&t)
	return s.MuxedStream.SetReadDeadline(t)
}

// SetDeadline implements [network.MuxedStream].
func (s *quicStream) SetDeadline(t time.Time) error {
	s.deadline.Store(&t)
	return s.MuxedStream.SetDeadline(t)
}
