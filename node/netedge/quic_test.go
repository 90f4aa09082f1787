package netedge

import (
	"errors"
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

// Who sends more than QUIC allows beyond what is read loses all connections of its address, and
// those whose packets are read, or say that something has arrived, keep theirs.
func TestPacketsOverQUICAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(Power{connections: 1}, openDoor{})
		var came atomic.Uint64
		var closed []*atomic.Bool
		arrives := func(at string, stats func() quic.ConnectionStats) *intake {
			closed = append(closed, new(atomic.Bool))
			c := e.quicConn(pouring{from: randomPeer(t), at: at, closed: closed[len(closed)-1]}).(*quicConn)
			c.stats = stats
			e.watch(c)
			return c.intake
		}
		received := func() quic.ConnectionStats { return quic.ConnectionStats{PacketsReceived: came.Load()} }
		quiet := func() quic.ConnectionStats { return quic.ConnectionStats{} }
		arrives("/ip4/64.1.0.1/udp/1/quic-v1", received)
		arrives("/ip4/64.1.0.1/udp/2/quic-v1", quiet)
		arrives("/ip4/64.2.0.1/udp/1/quic-v1", quiet)
		arrives("/ip4/64.3.0.1/udp/1/quic-v1", func() quic.ConnectionStats {
			return quic.ConnectionStats{PacketsReceived: came.Load(), PacketsSent: came.Load()}
		})
		read := arrives("/ip4/64.4.0.1/udp/1/quic-v1", received)
		const most = quicSurplus / readFrame
		for _, c := range []struct {
			packets uint64
			ended   []bool
		}{{most, make([]bool, 5)}, {most + 1, []bool{true, true, false, false, false}}} {
			read.add(int(c.packets-came.Load()) * readFrame)
			came.Store(c.packets)
			time.Sleep(2 * quicLooks)
			synctest.Wait()
			for i, want := range c.ended {
				if got := closed[i].Load(); got != want {
					t.Errorf("after %d packets, connection %d is closed: %v", c.packets, i, got)
				}
			}
		}
		if _, known := e.shut.addresses[netip.MustParsePrefix("64.1.0.1/32")]; !known || len(e.shut.addresses) > 1 {
			t.Errorf("%v are closed", e.shut.addresses)
		}
		time.Sleep(2 * quicLooks)
		synctest.Wait()
		if n := len(e.watched); n != 3 {
			t.Errorf("%d connections are looked at", n)
		}
		for _, c := range closed {
			c.Store(true)
		}
		time.Sleep(2 * quicLooks)
		synctest.Wait()
		if n := len(e.watched); n != 0 {
			t.Errorf("%d connections are looked at after their ends", n)
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
