package netedge

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/multiformats/go-multiaddr"
	"github.com/quic-go/quic-go"

	"p2pnode/discovery/reach"
	"p2pnode/internal/crowd"
	"p2pnode/internal/turn"
)

const (
	// quicLooks is how soon a new connection over QUIC is looked at, and how often all are
	// while one of them has brought more than quicBusy packets since the last look. While none
	// has, they are looked at when the neighbours are.
	quicLooks, quicBusy = time.Second, 1000
	// quicSurplus is how much all strangers of an address may send beyond what is read of
	// their streams, and quicUnread how much each of them whatever the others send: more than
	// the 768 KiB that QUIC lets a stranger have unread.
	quicSurplus, quicUnread = 4 << 20, 1 << 20
	// quicFlood is how much a neighbour may send beyond what is read, which is forgotten at the
	// pace at which neighbours share what they ask for ([answeredMore]).
	quicFlood = 4 << 20
	// strangersOverQUIC is how many strangers may be connected over QUIC, or an eighth of the
	// connections of a host that serves many. Each may have 768 KiB unread, and 256 streams at
	// which libp2p has not looked, of 3 KB each.
	strangersOverQUIC = 16
	// quicWaits is how much time TCP has to connect to a peer that also speaks QUIC. Libp2p
	// waits half a second more for the handshakes.
	quicWaits = time.Second
)

// overQUIC reports whether an address is one over QUIC, and not over a relay.
func overQUIC(at multiaddr.Multiaddr) bool {
	_, err := at.ValueForProtocol(multiaddr.P_QUIC_V1)
	return err == nil && !reach.IsRelayed(at)
}

// tcpFirst says when the addresses of a peer are called: those over QUIC when TCP has had time,
// or has failed. Over QUIC a connection has one window for all its streams. So what a relay
// carries there would stop as soon as two strangers behind it have sent more than their share,
// which is not read; and any peer may become the relay of a node.
func tcpFirst(all []multiaddr.Multiaddr) []network.AddrDelay {
	var first, later []multiaddr.Multiaddr
	for _, a := range all {
		if _, err := a.ValueForProtocol(multiaddr.P_QUIC_V1); err != nil {
			first = append(first, a)
		} else {
			later = append(later, a)
		}
	}
	ranked := swarm.DefaultDialRanker(first)
	for _, d := range swarm.DefaultDialRanker(later) {
		if len(first) > 0 {
			d.Delay += quicWaits
		}
		ranked = append(ranked, d)
	}
	return ranked
}

// quicScope is the scope of a connection over QUIC. A peer may have 768 KiB unread on all its
// streams, and QUIC asks here for more of its windows, up to 15 MB. That much of each stranger
// would stay in memory as soon as it has had its share and is read no more, and of each neighbour.
// These are enough for what is read of one, up to half a second away. A relay carries others, and
// keeps its windows until the connection ends.
type quicScope struct {
	network.ConnManagementScope
	entrance *Entrance
	granted  atomic.Int64 // bytes of further room
}

// ReserveMemory implements [network.ResourceScope].
func (s *quicScope) ReserveMemory(size int, priority uint8) error {
	if p := s.PeerScope(); p == nil || !s.entrance.carriedBy(p.Peer()) {
		return errUnread
	}
	if err := s.ConnManagementScope.ReserveMemory(size, priority); err != nil {
		return err
	}
	s.granted.Add(int64(size))
	return nil
}

// quicConn is a connection over QUIC, which has its own streams. Nothing is read from any
// while there is no time for what the peer sends, and QUIC lets a peer send only so much
// that was not read. What one sends nevertheless cannot be left unread: packets without
// anything for a stream, or for streams that are refused. So a stranger's connection is closed
// then.
type quicConn struct {
	transport.CapableConn
	intake *intake
	scope  *quicScope // nil: it was granted nothing
	stats  func() quic.ConnectionStats
	lasts  context.Context // until the connection ends
	end    context.CancelFunc

	written atomic.Int64 // bytes for streams, each piece at least a frame

	// Looking at it uses these.
	received int  // packets
	beyond   int  // bytes that have come beyond those that were noted, less those written
	surplus  int  // what a stranger or a neighbour owes of that
	near     bool // it was a neighbour's at the last look
}

func (e *Entrance) quicConn(c transport.CapableConn) transport.CapableConn {
	q := &quicConn{CapableConn: c, intake: &intake{entrance: e, peer: c.RemotePeer(), from: crowd.Of(c.RemoteMultiaddr())}}
	q.lasts, q.end = context.WithCancel(context.Background())
	var under *quic.Conn
	if c.As(&under) {
		q.stats = under.ConnectionStats
		q.scope, _ = c.Scope().(*quicScope)
		e.watch(q)
	}
	return q
}

// quicWatch is what an entrance knows of the connections over QUIC that it looks at.
type quicWatch struct {
	watching sync.Mutex // guards the others; taken before the entrance's mu
	watched  map[*quicConn]struct{}
	surplus  map[netip.Prefix]int // bytes from an address that nobody read
	looks    *time.Timer
	looked   time.Time     // last
	nextLook time.Time     // zero: there is none
	rests    time.Duration // between two looks while little comes
}

// watch has a connection looked at until it has ended.
func (e *Entrance) watch(c *quicConn) {
	e.watching.Lock()
	defer e.watching.Unlock()
	e.watched[c] = struct{}{}
	e.lookWithin(quicLooks)
}

// lookWithin has all connections looked at soon, unless that is to happen sooner. The caller
// holds e.watching.
func (e *Entrance) lookWithin(d time.Duration) {
	wait := turn.Wait(d)
	if at := time.Now().Add(wait); e.nextLook.IsZero() || at.Before(e.nextLook) {
		e.nextLook = at
		e.looks.Reset(wait)
	}
}

// look closes connections over which too much comes. What strangers of an address have sent in
// vain is remembered when they have ended: the next one would go on otherwise. It is forgotten
// at the pace at which strangers are read, which all such addresses share. What a neighbour has
// sent in vain is its own, and it is refused when that is a flood.
func (e *Entrance) look() {
	e.watching.Lock()
	defer e.watching.Unlock()
	now := time.Now()
	past := min(now.Sub(e.looked), 2*readWindow)
	forgets := int(past*readMore/readWindow) / max(1, len(e.surplus))
	owing := 0
	for c := range e.watched {
		if c.near && c.surplus > 0 {
			owing++
		}
	}
	forgetsNear := int(past*answeredMore/readWindow) / max(1, owing)
	e.looked, e.nextLook = now, time.Time{}
	for at, surplus := range e.surplus {
		if e.surplus[at] = surplus - forgets; surplus <= forgets {
			delete(e.surplus, at)
		}
	}
	busy := false
	for c := range e.watched {
		packets, more := c.came()
		busy = busy || packets > quicBusy
		at, was := crowd.Narrowest(c.intake.from), c.near
		carried := e.carriedBy(c.intake.peer)
		c.near = !carried && e.wanted(c.intake.peer)
		switch _, owes := e.surplus[at]; {
		case carried, was != c.near:
			c.surplus = 0
		case c.near:
			c.surplus = max(0, c.surplus-forgetsNear+more)
		default:
			if !owes {
				c.surplus = 0
			}
			if more = max(more, -c.surplus); more != 0 {
				c.surplus += more
				e.surplus[at] = min(max(0, e.surplus[at]+more), 2*quicSurplus)
			}
		}
		if c.IsClosed() {
			delete(e.watched, c)
		}
	}
	for c := range e.watched {
		surplus := c.surplus - c.room()
		flooded := c.near && surplus > quicFlood
		if flooded {
			e.flooded(c.intake.peer)
		}
		if flooded || !c.near && surplus > quicUnread && e.surplus[crowd.Narrowest(c.intake.from)] > quicSurplus {
			delete(e.watched, c)
			go c.CloseWithError(network.ConnRateLimited)
			e.mu.Lock()
			e.shut.close(c.intake.from, now)
			e.mu.Unlock()
		}
	}
	switch {
	case busy:
		e.lookWithin(quicLooks)
	case len(e.watched) > 0:
		e.lookWithin(e.rests)
	}
}

// room is how much more than others the peer may have unread, because it has been a relay.
func (c *quicConn) room() int {
	if c.scope == nil {
		return 0
	}
	return int(c.scope.granted.Load())
}

// came returns how many packets have come since it was last asked, and how many bytes more than
// were noted when they were read. A packet counts as a frame. Those that only say that
// something has arrived do not, as there are fewer than were written for streams. How many were
// sent says nothing: each that comes after a gap, or asks whether the path is there, is answered.
func (c *quicConn) came() (packets, more int) {
	s := c.stats()
	received := int(s.PacketsReceived)
	beyond := readFrame*received - c.intake.noted() - int(c.written.Load())
	packets, more = received-c.received, beyond-c.beyond
	c.received, c.beyond = received, beyond
	return packets, more
}

// AcceptStream implements [network.MuxedConn]. Libp2p calls it until the connection has ended.
func (c *quicConn) AcceptStream() (network.MuxedStream, error) {
	s, err := c.CapableConn.AcceptStream()
	if err != nil {
		c.end()
		return nil, err
	}
	return newOffered(c.stream(s), c.intake), nil
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
	deadline atomic.Pointer[time.Time] // for reading; nil or zero: none
	moved    chan struct{}             // the deadline
}

func (c *quicConn) stream(s network.MuxedStream) *quicStream {
	return &quicStream{MuxedStream: s, conn: c, moved: make(chan struct{}, 1)}
}

// Read implements [network.MuxedStream].
func (s *quicStream) Read(p []byte) (int, error) {
	for !s.conn.intake.open() && s.waits() {
	}
	n, err := s.MuxedStream.Read(p)
	s.conn.intake.add(max(n, readFrame)) // nobody sees the frames
	return n, err
}

// Write implements [network.MuxedStream].
func (s *quicStream) Write(p []byte) (int, error) {
	n, err := s.MuxedStream.Write(p)
	if n > 0 {
		s.conn.written.Add(int64(max(n, readFrame)))
	}
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
	case <-s.conn.lasts.Done():
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

// giveUp says that nobody here reads the stream any more.
func (s *quicStream) giveUp() { s.reads(time.Unix(0, 0)) }

// reads sets how long the stream is read.
func (s *quicStream) reads(until time.Time) {
	s.deadline.Store(&until)
	select {
	case s.moved <- struct{}{}:
	default:
	}
}
