package netedge

import (
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/discovery/reach"
	"p2pnode/internal/turn"
)

const (
	// slowAtOnce is how many connections to strangers may be behind with what is written to
	// them. Up to four megabytes for each wait in memory.
	slowAtOnce = 8
	// behind is how much longer writing may take than the rests between two writes.
	behind = 2 * time.Second
	// together is how far apart the ends of patience are: up to so much longer than yamux
	// asks for a write may take.
	together = 5 * time.Second
)

// peerConn is the connection under the streams of one peer. It reads nothing while there is
// a new stream that nobody has looked at: otherwise a peer could fill many, each with 256
// KiB, before the first is refused. Nor does it while strangers send more than there is time
// for, and this one more than its share. And it is closed if it is behind with what is
// written to it, while there are too many like it.
type peerConn struct {
	net.Conn
	entrance *Entrance
	peer     peer.ID
	intake   *intake
	arrival  *reach.Arrival // what is under it; nil unless the peer has opened it over TCP

	frames frames // the goroutine that reads uses them

	mu      sync.Mutex
	changed *sync.Cond
	closed  bool
	ended   chan struct{} // closed with it
	opened  int           // streams that the peer has opened
	looked  int           // those at which somebody has looked, and the one that is waited for

	slow atomic.Bool // it may have a place among those who read slowly

	// The goroutine that writes uses these.
	late  *time.Timer
	debt  time.Duration // how much longer writing has taken of late than the rests in between
	wrote time.Time     // end of the last write
}

func (e *Entrance) peerConn(c net.Conn, p peer.ID) *peerConn {
	o := &peerConn{Conn: c, entrance: e, peer: p, intake: &intake{entrance: e, peer: p, from: e.fromNet(c.RemoteAddr())}, ended: make(chan struct{})}
	o.changed = sync.NewCond(&o.mu)
	o.late = time.AfterFunc(behind, func() { e.waitsFor(o) })
	o.late.Stop()
	return o
}

// proved notes that a connection that a peer has opened is encrypted. It returns what is under it;
// nil: nothing that has come over TCP.
func (e *Entrance) proved(c net.Conn) *reach.Arrival {
	here, _ := manet.FromNetAddr(c.LocalAddr())
	there, _ := manet.FromNetAddr(c.RemoteAddr()) // none over a relay
	from, ok := addrPort(there)
	if !ok {
		return nil
	}
	to, _ := addrPort(here)
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.waiting[ends{from, to}]
	if a == nil {
		return nil
	}
	under, ok := a.conn.(*reach.Arrival)
	if ok {
		under.Proved()
	}
	return under
}

// accepts notes that somebody has looked at all streams before, and waits for the next.
func (c *peerConn) accepts() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked++
	c.changed.Signal()
}

// Read implements [net.Conn].
func (c *peerConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	for c.opened > 0 && c.opened >= c.looked && !c.closed {
		c.changed.Wait()
	}
	c.mu.Unlock()
	for !c.intake.open() {
		select {
		case <-c.ended:
			return 0, net.ErrClosed
		case <-time.After(intakeOpens):
		}
	}
	n, err := c.Conn.Read(p)
	began, opened, pings := c.frames.read(p[:n])
	c.intake.add(max(readFrame, n+readFrame*began)) // a byte may be encrypted alone
	if c.arrival != nil {
		c.arrival.Brought(n)
	}
	if pings > 0 {
		c.intake.asked(readFrame * pings)
	}
	if opened > 0 {
		c.mu.Lock()
		c.opened += opened
		c.mu.Unlock()
	}
	return n, err
}

// Write implements [net.Conn].
func (c *peerConn) Write(p []byte) (int, error) {
	begun := time.Now()
	c.debt = max(0, c.debt-begun.Sub(c.wrote))
	if c.debt == 0 {
		c.entrance.waitsNoMore(c)
	}
	// Nobody asks how long a write to a neighbour takes. A peer that stops being one during
	// a write is noticed at the next, or at the deadline.
	if !c.entrance.wanted(c.peer) {
		c.late.Reset(behind - c.debt)
	}
	n, err := c.Conn.Write(p)
	c.late.Stop()
	c.wrote = time.Now()
	c.debt = min(c.debt+c.wrote.Sub(begun), behind)
	return n, err
}

// SetWriteDeadline implements [net.Conn]. Yamux sets a deadline for nearly every write, and
// each would wake the process when it has long been replaced. One that is soon, as for a
// last word, is kept.
func (c *peerConn) SetWriteDeadline(t time.Time) error {
	if time.Until(t) > behind {
		t = turn.After(t, together)
	}
	return c.Conn.SetWriteDeadline(t)
}

// Close implements [net.Conn].
func (c *peerConn) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.ended)
	}
	c.changed.Signal()
	c.mu.Unlock()
	c.entrance.waitsNoMore(c)
	return err
}

// waitsFor gives a place to a connection whose other end reads slowly. If all are taken, the
// network with the most of them gives one up.
func (e *Entrance) waitsFor(c *peerConn) {
	if e.wanted(c.peer) {
		return
	}
	e.holding.Lock()
	defer e.holding.Unlock()
	c.slow.Store(true)
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed || e.slow.Has(c) {
		return
	}
	for _, out := range e.slow.Enter(c, c.intake.from, nil) {
		go out.Close()
	}
}

func (e *Entrance) waitsNoMore(c *peerConn) {
	if !c.slow.Load() {
		return
	}
	e.holding.Lock()
	defer e.holding.Unlock()
	c.slow.Store(false)
	e.slow.Leave(c)
}

// frames follows what is read of a connection of Yamux, whose frames each begin with a
// header of twelve bytes: version, type, flags (two bytes), stream and length (four each).
type frames struct {
	header [12]byte
	have   int    // bytes of the header
	body   uint32 // bytes that are left of the frame
}

// read takes in what was read, and returns how many frames begin in it, how many streams they
// open, and how many of them are pings, which are answered.
func (f *frames) read(p []byte) (began, opened, pings int) {
	const data, window, ping, syn = 0, 1, 2, 1
	for len(p) > 0 {
		if f.body > 0 {
			n := min(uint64(f.body), uint64(len(p)))
			f.body, p = f.body-uint32(n), p[n:]
			continue
		}
		n := copy(f.header[f.have:], p)
		f.have, p = f.have+n, p[n:]
		if f.have < len(f.header) {
			break
		}
		f.have = 0
		began++
		kind := f.header[1]
		if kind == data {
			f.body = binary.BigEndian.Uint32(f.header[8:])
		}
		if binary.BigEndian.Uint16(f.header[2:])&syn == 0 {
			continue
		}
		switch kind {
		case data, window:
			opened++
		case ping:
			pings++
		}
	}
	return began, opened, pings
}
