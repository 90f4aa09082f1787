package netedge

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	basic "github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	"github.com/libp2p/go-libp2p/p2p/transport/websocket"

	"p2pnode/internal/require"
	"p2pnode/internal/turn"
)

// A header opens a stream if it says so, whatever the pieces in which it comes; what looks
// like one within a frame is data.
func TestFramesThatOpenStreams(t *testing.T) {
	window := []byte{0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 0, 0} // its length is no body
	ping := []byte{0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9}
	data := []byte{0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 12}
	more := []byte{0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0}
	var all []byte
	for _, part := range [][]byte{window, ping, data, window, more, window} {
		all = append(all, part...)
	}
	for _, size := range []int{1, 5, 12, len(all)} {
		var f frames
		began, opened, pings := 0, 0, 0
		for rest := all; len(rest) > 0; {
			n := min(size, len(rest))
			b, o, p := f.read(rest[:n])
			began, opened, pings, rest = began+b, opened+o, pings+p, rest[n:]
		}
		if began != 5 || opened != 3 || pings != 1 {
			t.Errorf("in pieces of %d bytes, %d frames open %d streams, and %d are pings", size, began, opened, pings)
		}
	}
}

// Whatever comes, the pieces in which it comes change nothing, and no more streams are opened
// than frames begin.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 7, 7}, uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		var whole, pieces frames
		began, opened, pings := whole.read(data)
		for part := range slices.Chunk(data, int(size)+1) {
			b, o, p := pieces.read(part)
			began, opened, pings = began-b, opened-o, pings-p
			if o+p > b {
				t.Errorf("%d frames open %d streams", b, o)
			}
		}
		if began != 0 || opened != 0 || pings != 0 || whole.body != pieces.body || whole.have != pieces.have {
			t.Errorf("in pieces, %d frames and %d streams are missing, and %+v is left of %+v", began, opened, pieces, whole)
		}
	})
}

// What a peer sends after it has opened a stream waits until somebody has looked at it.
func TestNothingIsReadBeforeAStreamIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := newEntrance(Power{}, openDoor{}).peerConn(near, randomPeer(t))
		opens := []byte{0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}
		go far.Write(append(opens, opens...))
		c.accepts() // waits for the first
		buffer := make([]byte, len(opens))
		_, err := io.ReadFull(c, buffer)
		require.NoError(t, err)
		read := make(chan error, 2)
		go func() {
			_, err := io.ReadFull(c, buffer)
			read <- err
			_, err = c.Read(buffer)
			read <- err
		}()
		synctest.Wait()
		if len(read) > 0 {
			t.Error("read before the first stream was looked at")
		}
		c.accepts() // has looked at the first, and waits for the second
		require.NoError(t, <-read)
		synctest.Wait()
		if len(read) > 0 {
			t.Error("read before the second stream was looked at")
		}
		require.NoError(t, c.Close())
		if <-read == nil {
			t.Error("read after the end")
		}
		require.NoError(t, far.Close())
	})
}

// A network that sends without end is read at the pace of its share, and what others send
// is read at once.
func TestBytesOfStrangersAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(Power{}, openDoor{})
		var ends []net.Conn
		sends := func(from string) (read *atomic.Int64) {
			near, far := net.Pipe()
			c := e.peerConn(visitor{near, from}, randomPeer(t))
			ends = append(ends, c, far)
			go func() {
				_, _ = far.Write([]byte{0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255}) // the rest is one frame
				_, _ = io.Copy(far, endless{})
			}()
			read = new(atomic.Int64)
			go io.Copy(counts{read}, c)
			return read
		}
		greedy := sends("198.51.100.1")
		synctest.Wait()
		if n := greedy.Load(); n < readMore || n > readMore+3*readPiece {
			t.Errorf("%d bytes are read from the only one, want %d", n, readMore)
		}
		time.Sleep(readWindow - time.Second)
		if n := greedy.Load(); n > readMore+3*readPiece {
			t.Errorf("%d bytes are read in one window", n)
		}
		honest := sends("192.0.2.1")
		synctest.Wait()
		if n := honest.Load(); n < readMore/2 {
			t.Errorf("%d bytes are read from a second one, want half of %d", n, readMore)
		}
		time.Sleep(2 * readWindow)
		if n := greedy.Load(); n < 2*readMore {
			t.Errorf("%d bytes are read in three windows", n)
		}
		for _, c := range ends {
			require.NoError(t, c.Close())
		}
	})
}

// called is a connection to an address of any kind.
type called struct {
	net.Conn
	at net.Addr
}

func (c called) RemoteAddr() net.Addr { return c.at }

// Bytes are shared by addresses over WebSocket too.
func TestTheAddressUnderAConnection(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	for _, c := range []struct {
		at   net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.ParseIP("198.51.100.1"), Port: 1}, "198.51.100.1"},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 1, Zone: "eth0"}, "fe80::1"},
		{websocket.NewAddrWithScheme("198.51.100.1:1", false), "198.51.100.1"},
		{websocket.NewAddrWithScheme("[2001:db8::1]:1", true), "2001:db8::1"},
		{websocket.NewAddrWithScheme("[::ffff:198.51.100.1]:1", false), "198.51.100.1"},
		{&client.NetAddr{Relay: "a", Remote: "b"}, "invalid IP"},
	} {
		o := newEntrance(Power{}, openDoor{}).peerConn(called{ours, c.at}, randomPeer(t))
		if got := o.intake.from.String(); got != c.want {
			t.Errorf("%v is at %s, want %s", c.at, got, c.want)
		}
	}
}

// Pieces count for more than their bytes, whatever frame they are in: each is decrypted alone.
func TestSmallPiecesCountForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		c := newEntrance(Power{}, openDoor{}).peerConn(visitor{near, "198.51.100.1"}, randomPeer(t))
		go func() {
			_, err := far.Write([]byte{0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255}) // the rest is one frame
			for err == nil {
				_, err = far.Write([]byte{1})
			}
		}()
		var read atomic.Int64
		go io.Copy(counts{&read}, c)
		synctest.Wait()
		if n := read.Load(); n < readMore/readFrame || n > (readMore+2*readPiece)/readFrame {
			t.Errorf("%d pieces of a byte are read", n)
		}
		require.NoError(t, c.Close())
		require.NoError(t, far.Close())
	})
}

// Small frames count for more than their bytes, also those of a neighbour.
func TestSmallFramesCountForMore(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := newEntrance(Power{}, openDoor{})
			near, far := net.Pipe()
			c := e.peerConn(visitor{near, "198.51.100.1"}, randomPeer(t))
			if wanted {
				h := host.Host(neighbouring{})
				e.host.Store(&h)
			}
			go io.Copy(far, endless{})
			var read atomic.Int64
			go io.Copy(counts{&read}, c)
			synctest.Wait()
			const frame = 12
			if n := read.Load() / frame; n < readMore/(readFrame+frame) || n > readMore/readFrame+readPiece/frame {
				t.Errorf("wanted %v: %d frames are read", wanted, n)
			}
			require.NoError(t, c.Close())
			require.NoError(t, far.Close())
		})
	}
}

// neighbouring is a host that wants everybody.
type neighbouring struct{ host.Host }

func (neighbouring) ConnManager() connmgr.ConnManager { return wanting{} }

type wanting struct{ connmgr.NullConnMgr }

func (wanting) IsProtected(peer.ID, string) bool { return true }

// endless is a source of zeros: frames of Yamux of no data that open nothing.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// counts is what takes in bytes and counts them.
type counts struct{ n *atomic.Int64 }

func (c counts) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// visitor is a connection from an address.
type visitor struct {
	net.Conn
	from string
}

func (v visitor) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(v.from), Port: 1} }

// Of those that read too slowly, a network with many loses some, and others stay.
func TestSlowReadersOfOneNetworkAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(Power{}, openDoor{})
		placed := func() int {
			e.holding.Lock()
			defer e.holding.Unlock()
			return e.slow.Len()
		}
		wrote := make(map[string]chan error)
		var ends []net.Conn
		slow := func(from string) {
			near, far := net.Pipe()
			ends = append(ends, far)
			c := e.peerConn(visitor{near, from}, randomPeer(t))
			if wrote[from] == nil {
				wrote[from] = make(chan error, 4*slowAtOnce)
			}
			go func() {
				_, err := c.Write(make([]byte, 1))
				_ = c.Close()
				wrote[from] <- err
			}()
		}
		slow("192.0.2.1")
		for range 3 * slowAtOnce {
			slow("198.51.100.1")
		}
		synctest.Wait()
		if placed() != 0 {
			t.Error("slow before there was time to read")
		}
		time.Sleep(2 * behind)
		synctest.Wait()
		if len(wrote["192.0.2.1"]) > 0 || len(wrote["198.51.100.1"]) != 2*slowAtOnce+1 {
			t.Errorf("%d and %d were closed", len(wrote["192.0.2.1"]), len(wrote["198.51.100.1"]))
		}
		for _, far := range ends {
			go io.Copy(io.Discard, far)
		}
		synctest.Wait()
		if n := placed(); n != 0 {
			t.Errorf("%d still have places", n)
		}
		for _, far := range ends {
			_ = far.Close()
		}
	})
}

// deadlines notes those that are set for writing.
type deadlines struct {
	net.Conn
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// Deadlines of many connections fall together, but for those that are soon, and for none.
func TestDeadlinesFallTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{Conn: visitor{from: "192.0.2.1"}}
		c := newEntrance(Power{}, openDoor{}).peerConn(d, randomPeer(t))
		now := time.Now()
		soon, later := now.Add(behind), turn.After(now.Add(7*time.Second), together).Add(1) // a turn has just gone by
		for _, at := range []time.Time{{}, soon, later, later.Add(time.Second)} {
			require.NoError(t, c.SetWriteDeadline(at))
		}
		at := turn.After(later, together)
		if want := []time.Time{{}, soon, at, at}; !slices.Equal(d.set, want) {
			t.Errorf("set to %v, want %v", d.set, want)
		}
	})
}

// newLonely returns a host that listens nowhere and keeps what is told of peers.
func newLonely(t *testing.T) host.Host {
	t.Helper()
	manager, err := basic.NewConnManager(1, 2)
	require.NoError(t, err)
	h, err := libp2p.New(libp2p.NoListenAddrs, libp2p.ConnectionManager(manager), libp2p.DisableMetrics())
	require.NoError(t, err)
	t.Cleanup(func() { h.Close() })
	return h
}

// reads reports whether there is time to read more after so many bytes.
func (i *intake) reads(bytes int) bool {
	i.left = bytes
	return i.open()
}

// A relay at which the host has a place is read on while strangers have to share: what it
// carries is theirs, and counts where it comes out.
func TestTheRelayIsReadOn(t *testing.T) {
	h := newLonely(t)
	e, manager := newEntrance(Power{}, openDoor{}), h.ConnManager()
	e.guard(h)
	at := func(p peer.ID) *intake { return &intake{entrance: e, peer: p, from: netip.MustParseAddr("192.0.2.1")} }
	stranger, carrier := at(randomPeer(t)), at(randomPeer(t))
	manager.Protect(carrier.peer, "autorelay") // as libp2p does
	if !stranger.reads(readMore) || stranger.reads(readPiece) {
		t.Fatal("strangers do not share")
	}
	if !carrier.reads(readPiece) {
		t.Error("the relay has to wait for those behind it")
	}
	if carrier.reads(readMore) {
		t.Error("a relay sends without end")
	}
}

// What a node behind the host's own relay answers to those who call it is read while strangers
// have to share, as all nodes with places there share an amount of their own. One of them that
// sends without end takes nothing from one of another network, and one whose place is over is a
// stranger again.
func TestNodesBehindTheOwnRelayAreReadOn(t *testing.T) {
	h := newLonely(t)
	e, manager := newEntrance(Power{}, openDoor{}), h.ConnManager()
	e.guard(h)
	at := func(from string) *intake {
		return &intake{entrance: e, peer: randomPeer(t), from: netip.MustParseAddr(from)}
	}
	stranger, greedy, modest := at("192.0.2.1"), at("192.0.2.1"), at("198.51.100.1")
	for _, i := range []*intake{greedy, modest} {
		manager.TagPeer(i.peer, "relay-reservation", relay.ReservationTagWeight) // as libp2p does
	}
	if !stranger.reads(readMore) || stranger.reads(readPiece) {
		t.Fatal("strangers do not share")
	}
	if !greedy.reads(readMore) || greedy.reads(readPiece) {
		t.Error("nodes with places have another amount than strangers")
	}
	if !modest.reads(readMore / 2) {
		t.Error("one node with a place waits for another one")
	}
	manager.UntagPeer(modest.peer, "relay-reservation")
	if modest.reads(readMore) {
		t.Error("a node whose place is over is read as if it had one")
	}
}

// What neighbours have a node do is bounded together, however many they are, and one that asks
// for little is not kept from it, even where all have one address, as behind a router or a relay.
// What they send counts for each.
func TestNeighboursShareWhatTheyAskFor(t *testing.T) {
	e, h := newEntrance(Power{}, openDoor{}), newLonely(t)
	e.guard(h)
	one := func() *intake {
		return &intake{entrance: e, peer: randomPeer(t), from: netip.MustParseAddr("192.0.2.1")}
	}
	asks := func(i *intake, bytes int) bool {
		i.asked(bytes)
		return i.open()
	}
	greedy, modest, loud := one(), one(), one()
	if !asks(greedy, 2*answeredMore) {
		t.Error("a stranger is counted as a neighbour")
	}
	for _, i := range []*intake{greedy, modest, loud} {
		h.ConnManager().Protect(i.peer, "p2pnode/neighbours")
	}
	if !asks(greedy, answeredMore) || asks(greedy, readPiece) {
		t.Error("a neighbour does not wait, or does too soon")
	}
	if !asks(modest, answeredMore/4) {
		t.Error("one neighbour waits for another one")
	}
	if asks(modest, answeredMore/2) {
		t.Error("two neighbours have more than twice as much done")
	}
	if !loud.reads(readMore) {
		t.Error("a neighbour is not read because of what another one asks for")
	}
}

// The streams that neighbours keep open are bounded too.
func TestStreamsOfNeighboursAreBounded(t *testing.T) {
	e := newEntrance(Power{neighbours: 2}, openDoor{})
	h := newLonely(t)
	e.guard(h)
	greedy := randomPeer(t)
	h.ConnManager().Protect(greedy, "p2pnode/neighbours")
	var all []*incoming
	for range 10 * heldByNeighbours {
		s := &incoming{from: greedy, entrance: e}
		if e.holds(s) {
			all = append(all, s)
		}
	}
	stay := len(slices.DeleteFunc(all, func(s *incoming) bool { return s.lost.Load() }))
	if want := heldByNeighbours + 2*2; stay != want {
		t.Errorf("%d streams are open, want %d", stay, want)
	}
}

// A neighbour that opens streams without end takes none of one that has an equal part, even where
// both have one address, as behind a router or a relay.
func TestNoNeighbourTakesTheStreamsOfAnother(t *testing.T) {
	e := newEntrance(Power{neighbours: 2}, openDoor{})
	h := newLonely(t)
	e.guard(h)
	greedy, modest := randomPeer(t), randomPeer(t)
	for _, p := range []peer.ID{greedy, modest} {
		h.ConnManager().Protect(p, "p2pnode/neighbours")
	}
	var few []*incoming
	for range (heldByNeighbours + 2*2) / 2 {
		s := &incoming{from: modest, entrance: e}
		if !e.holds(s) {
			t.Error("a neighbour may not open its part of the streams")
		}
		few = append(few, s)
	}
	for range 10 * heldByNeighbours {
		e.holds(&incoming{from: greedy, entrance: e})
	}
	for _, s := range few {
		if s.lost.Load() {
			t.Error("a neighbour has lost a stream to another one")
		}
		e.letGo(s)
		e.letGo(s)
	}
	if n := len(e.each); n != 1 {
		t.Errorf("streams of %d neighbours are counted after one has left", n)
	}
}
