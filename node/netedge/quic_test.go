package netedge

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/multiformats/go-multiaddr"
	"github.com/quic-go/quic-go"

	"p2pnode/internal/require"
)

// pouring is a connection over QUIC on whose streams a peer sends without end.
type pouring struct {
	transport.CapableConn
	from   peer.ID
	at     string
	closed *atomic.Bool
}

func (p pouring) RemotePeer() peer.ID                  { return p.from }
func (p pouring) RemoteMultiaddr() multiaddr.Multiaddr { return multiaddr.StringCast(p.at) }
func (p pouring) IsClosed() bool                       { return p.closed.Load() }
func (pouring) As(any) bool                            { return false }
func (p pouring) CloseWithError(network.ConnErrorCode) error {
	p.closed.Store(true)
	return nil
}
func (p pouring) AcceptStream() (network.MuxedStream, error) {
	if p.closed.Load() {
		return nil, io.EOF
	}
	return &poured{closed: p.closed}, nil
}

type poured struct {
	network.MuxedStream
	closed *atomic.Bool
	until  time.Time
}

func (s *poured) Read(p []byte) (int, error) {
	switch {
	case s.closed.Load():
		return 0, io.EOF
	case !s.until.IsZero() && !time.Now().Before(s.until):
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

func (*poured) Write(p []byte) (int, error) { return len(p), nil }

func (s *poured) SetReadDeadline(t time.Time) error {
	s.until = t
	return nil
}

func (s *poured) SetDeadline(t time.Time) error              { return s.SetReadDeadline(t) }
func (*poured) Reset() error                                 { return nil }
func (*poured) ResetWithError(network.StreamErrorCode) error { return nil }
func (*poured) Close() error                                 { return nil }
func (*poured) CloseRead() error                             { return nil }

// Over QUIC a network that sends without end is read at the pace of its share too, on however
// many streams, and nobody waits beyond a deadline for what is not read.
func TestBytesOverQUICAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(Power{}, openDoor{})
		var closed atomic.Bool
		pours := func(at string) (transport.CapableConn, *atomic.Int64) {
			c := e.quicConn(pouring{from: randomPeer(t), at: at, closed: &closed})
			read := new(atomic.Int64)
			for range 4 {
				s, err := c.AcceptStream()
				require.NoError(t, err)
				go io.Copy(counts{read}, s)
			}
			return c, read
		}
		c, greedy := pours("/ip4/198.51.100.1/udp/1/quic-v1")
		synctest.Wait()
		time.Sleep(readWindow / 2)
		if n := greedy.Load(); n < readMore*9/10 || n > readMore+16*readPiece {
			t.Errorf("%d bytes are read from the only one, want %d", n, readMore)
		}
		s, err := c.AcceptStream()
		require.NoError(t, err)
		require.NoError(t, s.SetReadDeadline(time.Now().Add(intakeOpens)))
		begun := time.Now()
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) > 2*intakeOpens {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		other, honest := pours("/ip4/192.0.2.1/udp/1/quic-v1")
		synctest.Wait()
		if n := honest.Load(); n < readMore*4/10 {
			t.Errorf("%d bytes are read from a second one, want half of %d", n, readMore)
		}
		closed.Store(true)
		for _, c := range []transport.CapableConn{c, other} {
			if _, err := c.AcceptStream(); err == nil {
				t.Error("a stream after the end")
			}
		}
	})
}

// Who waits for what is not read waits no longer than the stream, its connection, or a deadline
// that is set meanwhile, and so does the place of the stream.
func TestAReaderOverQUICIsWoken(t *testing.T) {
	for name, ends := range map[string]func(network.MuxedStream, *quicConn){
		"reset":            func(s network.MuxedStream, _ *quicConn) { _ = s.Reset() },
		"reset with a why": func(s network.MuxedStream, _ *quicConn) { _ = s.ResetWithError(1) },
		"closed":           func(s network.MuxedStream, _ *quicConn) { _ = s.Close() },
		"not read":         func(s network.MuxedStream, _ *quicConn) { _ = s.CloseRead() },
		"late":             func(s network.MuxedStream, _ *quicConn) { _ = s.SetReadDeadline(time.Now()) },
		"late both ways":   func(s network.MuxedStream, _ *quicConn) { _ = s.SetDeadline(time.Now()) },
		"connection":       func(_ network.MuxedStream, c *quicConn) { _, _ = c.AcceptStream() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEntrance(Power{}, openDoor{})
				closed := new(atomic.Bool)
				c := e.quicConn(pouring{from: randomPeer(t), at: "/ip4/198.51.100.1/udp/1/quic-v1", closed: closed}).(*quicConn)
				s, err := c.AcceptStream()
				require.NoError(t, err)
				c.intake.add(2 * readMore)
				var woken time.Time
				go func() {
					_, _ = s.Read(make([]byte, 1))
					woken = time.Now()
				}()
				time.Sleep(intakeOpens / 2)
				at := time.Now()
				closed.Store(true)
				ends(s, c)
				synctest.Wait()
				if !woken.Equal(at) {
					t.Error("the reader sleeps on")
				}
				c.end()
			})
		})
	}
}

// watched has an entrance look at a connection from an address that has these statistics.
func watched(t *testing.T, e *Entrance, at string, stats func() quic.ConnectionStats) *quicConn {
	c := e.quicConn(pouring{from: randomPeer(t), at: at, closed: new(atomic.Bool)}).(*quicConn)
	c.stats = stats
	e.watch(c)
	return c
}

// flood is what somebody sends of which nothing is read.
type flood struct{ packets atomic.Uint64 }

func (f *flood) stats() quic.ConnectionStats {
	return quic.ConnectionStats{PacketsReceived: f.packets.Load()}
}

// Who sends more than QUIC allows beyond what is read loses its connection, and the next one
// sooner. Others at the address keep theirs, as do those whose packets are read, or say that
// something has arrived.
func TestPacketsOverQUICAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(Power{connections: 1}, openDoor{})
		var came, unread flood
		unread.packets.Store(768)
		const most = quicSurplus / readFrame
		read := watched(t, e, "/ip4/64.4.0.1/udp/1/quic-v1", came.stats)
		bad := watched(t, e, "/ip4/64.1.0.1/udp/1/quic-v1", came.stats)
		conns := []*quicConn{
			bad, read,
			watched(t, e, "/ip4/64.1.0.1/udp/2/quic-v1", unread.stats), // behind the same router
			watched(t, e, "/ip4/64.2.0.1/udp/1/quic-v1", unread.stats),
			watched(t, e, "/ip4/64.3.0.1/udp/1/quic-v1", came.stats),
		}
		sent := conns[len(conns)-1].stream(new(poured))
		looks := func(c *quicConn, packets uint64) {
			t.Helper()
			more := int(packets - came.packets.Load())
			read.intake.add(more * readFrame)
			_, err := sent.Write(make([]byte, more*readFrame))
			require.NoError(t, err)
			came.packets.Store(packets)
			e.look()
			synctest.Wait()
			for i, other := range conns {
				if closed := other.IsClosed(); closed != (other == bad && c == bad) {
					t.Errorf("after %d packets, connection %d is closed: %v", packets, i, closed)
				}
			}
		}
		looks(nil, most-768)
		looks(bad, most-767)
		if _, known := e.shut.addresses[netip.MustParsePrefix("64.1.0.1/32")]; !known || len(e.shut.addresses) > 1 {
			t.Errorf("%v are closed", e.shut.addresses)
		}
		var again flood
		next := watched(t, e, "/ip4/64.1.0.1/udp/3/quic-v1", again.stats)
		again.packets.Store(quicUnread/readFrame + 1)
		e.look()
		synctest.Wait()
		if !next.IsClosed() {
			t.Error("the next connection is as good as the first")
		}
		if n := len(e.watched); n != 4 {
			t.Errorf("%d connections are looked at", n)
		}
		for _, c := range conns {
			_ = c.CloseWithError(0)
		}
		time.Sleep(3 * readWindow)
		synctest.Wait()
		if n := len(e.watched); n != 0 || e.nextLook != (time.Time{}) {
			t.Errorf("%d connections are looked at after their ends, next at %v", n, e.nextLook)
		}
	})
}

// Who has each packet answered that nobody reads is bounded as well: QUIC says at once that one
// came after a gap.
func TestAnswersBelowTheStreamsExcuseNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(Power{connections: 1}, openDoor{})
		var came flood
		c := watched(t, e, "/ip4/64.1.0.1/udp/1/quic-v1", func() quic.ConnectionStats {
			return quic.ConnectionStats{PacketsReceived: came.packets.Load(), PacketsSent: came.packets.Load()}
		})
		came.packets.Store(quicSurplus/readFrame + 1)
		e.look()
		synctest.Wait()
		if !c.IsClosed() {
			t.Error("connected after a flood")
		}
		time.Sleep(3 * readWindow)
	})
}

// What came beyond what was read is forgotten with time, so nobody is closed for what adds up
// over days; and those who come and go before anybody looks add to it.
func TestASurplusOverQUICIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(Power{}, openDoor{})
		var slow flood
		c := watched(t, e, "/ip4/64.1.0.1/udp/1/quic-v1", slow.stats)
		const each = readMore / readFrame / 10
		for range 100 {
			slow.packets.Add(each)
			time.Sleep(readWindow / 10)
			synctest.Wait()
		}
		if c.IsClosed() {
			t.Error("closed for what came slowly")
		}
		e.look()
		for range 20 {
			var brief flood
			brief.packets.Store(1000)
			c := watched(t, e, "/ip4/64.1.0.1/udp/2/quic-v1", brief.stats)
			_ = c.CloseWithError(0)
		}
		slow.packets.Add(quicUnread/readFrame + 1)
		e.look()
		synctest.Wait()
		if !c.IsClosed() {
			t.Error("brief connections count for nothing")
		}
		time.Sleep(4 * readWindow)
	})
}

// Neither a neighbour nor a relay is closed for what comes over its connection, nor its address.
// When it is none any more, what came before is not held against it.
func TestWhoIsVouchedForIsNotClosed(t *testing.T) {
	h := newLonely(t)
	manager := h.ConnManager()
	for _, why := range []string{"autorelay", "p2pnode/neighbours"} {
		e := newEntrance(Power{}, openDoor{})
		e.guard(h)
		var f, other flood
		c := watched(t, e, "/ip4/64.1.0.1/udp/1/quic-v1", f.stats)
		f.packets.Store(2 * quicUnread / readFrame) // still as a stranger
		e.look()
		manager.Protect(c.intake.peer, why)
		f.packets.Store(quicFlood / readFrame)
		e.look()
		if len(e.watched) != 1 || len(e.shut.addresses) > 0 {
			t.Errorf("%s: closed, and the addresses %v", why, e.shut.addresses)
		}
		watched(t, e, "/ip4/64.1.0.1/udp/2/quic-v1", other.stats)
		other.packets.Store(2 * quicSurplus / readFrame)
		e.look()
		if _, kept := e.watched[c]; !kept || len(e.watched) != 1 {
			t.Errorf("%s: closed for another one behind its router: %v", why, !kept)
		}
		clear(e.shut.addresses)
		manager.Unprotect(c.intake.peer, why)
		e.look()
		if len(e.watched) != 1 {
			t.Errorf("%s: closed for what came before", why)
		}
		f.packets.Add(2 * quicSurplus / readFrame)
		e.look()
		if len(e.watched) != 0 || len(e.shut.addresses) != 1 {
			t.Errorf("%s: not closed when it is a stranger again", why)
		}
	}
}

// While little comes, connections are looked at as seldom as the neighbours; a new one at once,
// also while one comes after the other.
func TestQuietConnectionsOverQUICWakeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rests = 10 * time.Second
		e := newEntrance(Power{Look: rests}, openDoor{})
		var looks atomic.Int64
		var f flood
		c := watched(t, e, "/ip4/64.1.0.1/udp/1/quic-v1", func() quic.ConnectionStats {
			looks.Add(1)
			return f.stats()
		})
		during := func(d time.Duration) int64 {
			before := looks.Load()
			time.Sleep(d)
			synctest.Wait()
			return looks.Load() - before
		}
		if n := during(2 * quicLooks); n != 1 {
			t.Errorf("looked at %d times at first", n)
		}
		if n := during(10 * rests); n < 9 || n > 11 {
			t.Errorf("looked at %d times in %v", n, 10*rests)
		}
		before := looks.Load()
		for range 3 * rests / quicLooks {
			f.packets.Add(quicBusy + 1)
			c.intake.add((quicBusy + 1) * readFrame)
			during(quicLooks)
		}
		if n := looks.Load() - before; n < int64(rests/quicLooks) {
			t.Errorf("looked at %d times while much comes", n)
		}
		during(2 * rests)
		before = looks.Load()
		for range 50 {
			_ = watched(t, e, "/ip4/64.2.0.1/udp/1/quic-v1", new(flood).stats).CloseWithError(0)
			during(quicLooks / 10)
		}
		if n := looks.Load() - before; n < 3 || n > 6 {
			t.Errorf("looked at %d times while others come", n)
		}
		_ = c.CloseWithError(0)
		during(2 * rests)
		if n := during(10 * rests); n != 0 {
			t.Errorf("looked at %d times after the end", n)
		}
	})
}

// Who has a node answer without end is read no more, however little it sends. What is long,
// as a file or what a relay carries, does not count here.
func TestShortAnswersCountAsFrames(t *testing.T) {
	i := &intake{entrance: newEntrance(Power{}, openDoor{}), peer: randomPeer(t)}
	s := &offered{MuxedStream: &poured{}, intake: i}
	answers := 0
	for ; i.open(); answers++ {
		if answers > 2*readMore/readFrame {
			t.Fatal("answered without end")
		}
		_, err := s.Write([]byte("pong"))
		require.NoError(t, err)
	}
	if answers < readMore/readFrame {
		t.Errorf("%d answers", answers)
	}
	i.left = 0
	for range readPiece {
		_, err := s.Write(make([]byte, readFrame))
		require.NoError(t, err)
	}
	if !i.open() {
		t.Error("long answers count")
	}
}

// guest is a connection of a stranger. When it is closed, its entrance learns of it as libp2p has
// it do.
type guest struct {
	network.Conn
	at     string
	of     *Entrance
	closed *atomic.Int32
}

func (guest) RemotePeer() peer.ID                    { return "" }
func (guest) LocalMultiaddr() multiaddr.Multiaddr    { return nil }
func (g guest) RemoteMultiaddr() multiaddr.Multiaddr { return multiaddr.StringCast(g.at) }
func (guest) Stat() network.ConnStats {
	return network.ConnStats{Stats: network.Stats{Direction: network.DirInbound}}
}
func (g guest) Close() error {
	g.closed.Add(1)
	g.of.left(nil, g)
	return nil
}

// Few strangers stay over QUIC, whose streams hold much that is not read, and one of another
// network finds a place. Those over TCP are as many as there are places for all.
func TestStrangersOverQUICAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(Power{}, openDoor{})
		var closed atomic.Int32
		comes := func(at string) bool {
			in, _ := e.InterceptUpgraded(guest{at: at, of: e, closed: &closed})
			synctest.Wait()
			return in
		}
		turnedAway := 0
		for i := range 2 * strangersOverQUIC {
			if !comes(fmt.Sprintf("/ip4/198.51.100.%d/udp/1/quic-v1", i)) {
				turnedAway++
			}
		}
		if out := turnedAway + int(closed.Load()); out != strangersOverQUIC {
			t.Errorf("%d of %d left, want half", out, 2*strangersOverQUIC)
		}
		if !comes("/ip4/192.0.2.1/udp/1/quic-v1") {
			t.Error("one of another network is turned away")
		}
		closed.Store(0)
		for i := range strangersMore - strangersOverQUIC {
			if !comes(fmt.Sprintf("/ip4/192.0.2.%d/tcp/1", i)) {
				t.Fatal("one over TCP is turned away")
			}
		}
		if n := closed.Load(); n > 0 {
			t.Errorf("%d left for those over TCP", n)
		}
	})
}

// flooding is a judge who notes that a neighbour floods.
type flooding struct {
	strict
	who *peer.ID
}

func (f flooding) Flooded(p peer.ID) { *f.who = p }

// A neighbour that sends more beyond what is read than QUIC lets it have unread is closed and
// counted. A relay may, as others make it.
func TestANeighbourThatFloodsOverQUICIsClosed(t *testing.T) {
	for _, why := range []string{"autorelay", "p2pnode/neighbours"} {
		h := newLonely(t)
		e := newEntrance(Power{}, openDoor{})
		e.guard(h)
		var who peer.ID
		e.Judged(flooding{who: &who})
		var f flood
		c := watched(t, e, "/ip4/64.1.0.1/udp/1/quic-v1", f.stats)
		h.ConnManager().Protect(c.intake.peer, why)
		e.look()
		f.packets.Store(2 * quicFlood / readFrame)
		e.look()
		if closed := len(e.watched) == 0; closed == (why == "autorelay") || closed != (who == c.intake.peer) {
			t.Errorf("%s: closed %v, and counted %q", why, closed, who)
		}
	}
}

// A relay at which the host has a place gets more room, and keeps it when the place has ended. What
// it may have unread since then is no flood.
func TestWhoWasARelayKeepsItsRoom(t *testing.T) {
	const room = 14 << 20
	for _, why := range []string{"p2pnode/bootstrap", ""} {
		h := newLonely(t)
		manager := h.ConnManager()
		e := newEntrance(Power{}, openDoor{})
		e.guard(h)
		var f flood
		c := watched(t, e, "/ip4/64.1.0.1/udp/1/quic-v1", f.stats)
		c.scope = &quicScope{ConnManagementScope: granting{peer: c.intake.peer}, entrance: e}
		if why != "" {
			manager.Protect(c.intake.peer, why)
		}
		manager.Protect(c.intake.peer, "autorelay")
		require.NoError(t, c.scope.ReserveMemory(room, network.ReservationPriorityMedium))
		e.look()
		manager.Unprotect(c.intake.peer, "autorelay")
		e.look()
		f.packets.Add((room + quicUnread) / readFrame)
		e.look()
		if len(e.watched) != 1 || len(e.shut.addresses) > 0 {
			t.Errorf("%q: closed for what it may have unread", why)
		}
		f.packets.Add(quicFlood / readFrame)
		e.look()
		if len(e.watched) != 0 {
			t.Errorf("%q: not closed for more", why)
		}
	}
}

// granting is the scope of a connection to a peer, which has all the memory that it asks for.
type granting struct {
	network.ConnManagementScope
	peer peer.ID
}

func (g granting) PeerScope() network.PeerScope { return scopeOf{who: g.peer} }
func (granting) ReserveMemory(int, uint8) error { return nil }

type scopeOf struct {
	network.PeerScope
	who peer.ID
}

func (s scopeOf) Peer() peer.ID { return s.who }
