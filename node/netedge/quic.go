package netedge

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/quic-go/quic-go"

	"p2pnode/internal/crowd"
	"p2pnode/internal/turn"
)

const (
	// quicLooks is how often connections over QUIC are looked at, while there are any.
	quicLooks = time.Second
	// quicSurplus is how much a peer may send beyond what is read of its streams: more than
	// the 15 MB that QUIC lets it have unread.
	quicSurplus = 16 << 20
)

// quicConn is a connection over QUIC, which has its own streams. Nothing is read from any
// while there is no time for what the peer sends, and QUIC lets a peer send only so much
// that was not read. What one sends nevertheless cannot be left unread: packets without
// anything for a stream, or for streams that are refused. So the connection is closed then.
type quicConn struct {
	transport.CapableConn
	intake *intake
	stats  func() quic.ConnectionStats
	lasts  context.Context // until the connection ends
	end    context.CancelFunc

	// Looking at it uses these.
	packets int // more than were sent to the peer
	total   int // bytes that had been noted
	surplus int // bytes beyond those
}

func (e *Entrance) quicConn(c transport.CapableConn) transport.CapableConn {
	q := &quicConn{CapableConn: c, intake: &intake{entrance: e, peer: c.RemotePeer(), from: crowd.Of(c.RemoteMultiaddr())}}
	q.lasts, q.end = context.WithCancel(context.Background())
	var under *quic.Conn
	if c.As(&under) {
		q.stats = under.ConnectionStats
		e.watch(q)
	}
	return q
}

// watch has a connection looked at until it has ended.
func (e *Entrance) watch(c *quicConn) {
	e.watching.Lock()
	defer e.watching.Unlock()
	e.watched[c] = struct{}{}
	if len(e.watched) == 1 {
		time.AfterFunc(turn.Wait(quicLooks), e.look)
	}
}

// look closes connections over which too much comes. Their addresses are closed too, with what
// else strangers have there: otherwise a peer would go on with the next one.
func (e *Entrance) look() {
	e.watching.Lock()
	defer e.watching.Unlock()
	closed := make(map[netip.Prefix]bool)
	for c := range e.watched {
		if c.IsClosed() {
			delete(e.watched, c)
		} else if c.floods() {
			go c.CloseWithError(network.ConnRateLimited)
			e.mu.Lock()
			e.shut.close(c.intake.from, time.Now())
			e.mu.Unlock()
			closed[crowd.Narrowest(c.intake.from)] = !c.intake.from.IsLoopback()
		}
	}
	for c := range e.watched {
		if closed[crowd.Narrowest(c.intake.from)] && !e.wanted(c.intake.peer) && !e.carriedBy(c.intake.peer) {
			go c.CloseWithError(network.ConnRateLimited)
		}
	}
	if len(e.watched) > 0 {
		time.AfterFunc(turn.Wait(quicLooks), e.look)
	}
}

// floods reports whether more has come than was noted when it was read. A packet counts as a
// frame. Those that only say that something has arrived do not, as there are fewer than were
// sent.
func (c *quicConn) floods() bool {
	s := c.stats()
	packets, total := int(s.PacketsReceived)-int(s.PacketsSent), c.intake.noted()
	c.surplus = max(0, c.surplus+readFrame*(packets-c.packets)-(total-c.total))
	c.packets, c.total = packets, total
	return c.surplus > quicSurplus
}

// AcceptStream implements [network.MuxedConn]. Libp2p calls it until the connection has ended.
func (c *quicConn) AcceptStream() (network.MuxedStream, error) {
	s, err := c.CapableConn.AcceptStream()
	if err != nil {
		c.end()
		return nil, err
	}
	return &offered{MuxedStream: c.stream(s), intake: c.intake, left: maxOffers}, nil
}

// OpenStream implements [network.MuxedConn].
func (c *quicConn) OpenStream(ctx context.Context) (network.MuxedStream, error) {
	s, err := c.CapableConn.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	return &introduction{MuxedStream: c.stream(s), left: maxIntroduction}, nil
}

// quicStream is a stream over QUIC. One goroutine reads at a time.
type quicStream struct {
	network.MuxedStream
	conn     *quicConn
	given    context.Context // it ends when nobody here reads the stream any more
	giveUp   context.CancelFunc
	deadline atomic.Pointer[time.Time] // for reading; nil or zero: none
	moved    chan struct{}             // the deadline
}

func (c *quicConn) stream(s network.MuxedStream) *quicStream {
	given, giveUp := context.WithCancel(c.lasts)
	return &quicStream{MuxedStream: s, conn: c, given: given, giveUp: giveUp, moved: make(chan struct{}, 1)}
}

// Read implements [network.MuxedStream].
func (s *quicStream) Read(p []byte) (int, error) {
	for !s.conn.intake.open() && s.waits() {
	}
	n, err := s.MuxedStream.Read(p)
	s.conn.intake.add(max(n, readFrame)) // nobody sees the frames
	return n, err
}

// waits waits until it is time to look again whether there is time to read. It reports false if
// nobody needs to: the stream itself says then that it was given up, or that it is too late.
func (s *quicStream) waits() bool {
	wait := intakeOpens
	if d := s.deadline.Load(); d != nil && !d.IsZero() {
		wait = min(wait, time.Until(*d))
	}
	if wait <= 0 {
		return false
	}
	select {
	case <-s.given.Done():
		return false
	case <-s.moved:
	case <-time.After(wait):
	}
	return true
}

// Reset implements [network.MuxedStream].
func (s *quicStream) Reset() error {
	s.giveUp()
	return s.MuxedStream.Reset()
}

// ResetWithError implements [network.MuxedStream].
func (s *quicStream) ResetWithError(why network.StreamErrorCode) error {
	s.giveUp()
	return s.MuxedStream.ResetWithError(why)
}

// Close implements [network.MuxedStream].
func (s *quicStream) Close() error {
	s.giveUp()
	return s.MuxedStream.Close()
}

// CloseRead implements [network.MuxedStream].
func (s *quicStream) CloseRead() error {
	s.giveUp()
	return s.MuxedStream.CloseRead()
}

// SetReadDeadline implements [network.MuxedStream].
func (s *quicStream) SetReadDeadline(t time.Time) error {
	s.reads(t)
	return s.MuxedStream.SetReadDeadline(t)
}

// SetDeadline implements [network.MuxedStream].
func (s *quicStream) SetDeadline(t time.Time) error {
	s.reads(t)
	return s.MuxedStream.SetDeadline(t)
}

// reads sets how long the stream is read.
func (s *quicStream) reads(until time.Time) {
	s.deadline.Store(&until)
	select {
	case s.moved <- struct{}{}:
	default:
	}
}
