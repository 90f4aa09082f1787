package reach

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-libp2p/p2p/transport/tcpreuse"
	"github.com/libp2p/go-libp2p/p2p/transport/websocket"
	"github.com/libp2p/go-reuseport"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// portTransport is libp2p's TCP transport with another way to share the port. A listener
// takes its port exclusively, as without SO_REUSEPORT, so that a second node gets the error
// that the port is taken. Only then is the port opened for outgoing connections. They must
// come from it, so that a router keeps one mapping for both, as hole punching needs.
type portTransport struct {
	*tcp.TcpTransport
	upgrader transport.Upgrader
	ports    *ports
}

func newPortTransport(upgrader transport.Upgrader, resources network.ResourceManager, shared *tcpreuse.ConnMgr) (*portTransport, error) {
	p := &ports{open: make(map[*net.TCPAddr]bool)}
	t, err := tcp.NewTCPTransport(upgrader, resources, shared, tcp.DisableReuseport(),
		tcp.WithDialerForAddr(func(multiaddr.Multiaddr) (tcp.ContextDialer, error) { return p, nil }))
	return &portTransport{TcpTransport: t, upgrader: upgrader, ports: p}, err
}

// newLocalTransport returns libp2p's TCP transport for a host that only this machine dials.
// It sets the option itself: libp2p.Transport would name it by a random number and so leave
// new types behind for every host that a process makes.
func newLocalTransport(upgrader transport.Upgrader, resources network.ResourceManager, shared *tcpreuse.ConnMgr) (*tcp.TcpTransport, error) {
	return tcp.NewTCPTransport(upgrader, resources, shared, tcp.DisableReuseport())
}

// Listen implements [transport.Transport].
func (t *portTransport) Listen(at multiaddr.Multiaddr) (transport.Listener, error) {
	network, address, err := manet.DialArgs(at)
	if err != nil {
		return nil, err
	}
	inner, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	wrapped, err := manet.WrapNetListener(inner)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	shared := &portListener{Listener: wrapped, ports: t.ports}
	if err := share(inner); err == nil { // otherwise outgoing connections come from other ports
		shared.addr = inner.Addr().(*net.TCPAddr)
		t.ports.add(shared.addr)
	}
	return t.upgrader.UpgradeGatedMaListener(t, t.upgrader.GateMaListener(shared)), nil
}

// share lets sockets that ask for it use a listener's port too. It is called after listen,
// so that a second listener is never possible.
func share(l net.Listener) error {
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	return reuseport.Control("", "", raw)
}

// portListener closes its port for outgoing connections too.
type portListener struct {
	manet.Listener
	ports *ports
	addr  *net.TCPAddr // nil unless the port is open for them
}

// Accept implements [manet.Listener]. A connection is reset when it is closed, so
// that the same two ports can be connected again at once.
func (l *portListener) Accept() (manet.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if resettable, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = resettable.SetLinger(0)
	}
	return &Arrival{Conn: c}, nil
}

// newWebSocket returns libp2p's WebSocket transport, whose connections arrive as those over TCP.
func newWebSocket(upgrader transport.Upgrader, resources network.ResourceManager, shared *tcpreuse.ConnMgr) (*sockets, error) {
	t, err := websocket.New(arriving{upgrader}, resources, shared)
	return &sockets{t, upgrader, resources}, err
}

// arriving is an upgrader for connections of which the gater may say who closes them.
type arriving struct{ transport.Upgrader }

// GateMaListener implements [transport.Upgrader].
func (u arriving) GateMaListener(l manet.Listener) transport.GatedMaListener {
	return u.Upgrader.GateMaListener(arrivals{l})
}

// UpgradeGatedMaListener implements [transport.Upgrader].
func (u arriving) UpgradeGatedMaListener(t transport.Transport, l transport.GatedMaListener) transport.Listener {
	return u.Upgrader.UpgradeGatedMaListener(t, pinged{l})
}

// pinged is a listener for WebSocket on whose connections few pings are answered.
type pinged struct{ transport.GatedMaListener }

// Accept implements [transport.GatedMaListener].
func (l pinged) Accept() (manet.Conn, network.ConnManagementScope, error) {
	c, scope, err := l.GatedMaListener.Accept()
	answerFew(c)
	return c, scope, err
}

// pingsApart is how far apart answers to pings of WebSocket are at least.
const pingsApart = time.Second

// answerFew answers one ping of WebSocket each pingsApart. Peers send none, but a program between
// them may.
func answerFew(c manet.Conn) {
	socket, ok := c.(*websocket.Conn)
	if !ok {
		return
	}
	var last time.Time // used by who reads
	pong := socket.PingHandler()
	socket.SetPingHandler(func(text string) error {
		if time.Since(last) < pingsApart {
			return nil
		}
		last = time.Now()
		return pong(text)
	})
}

// arrivals are what comes to a listener.
type arrivals struct{ manet.Listener }

// Accept implements [manet.Listener].
func (l arrivals) Accept() (manet.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &Arrival{Conn: c}, nil
}

const (
	// unproven is how many bytes a connection may bring before its other end has proved who it
	// is: libp2p's greetings take one thousand, and a request for WebSocket some hundreds. What is
	// answered counts as answer for each time; six are the most that honest greetings take.
	unproven, answer = 8 << 10, 512
	// ahead is how many more than it has brought may be read of one later: the longest encrypted
	// message, which is read whole, and what is read before somebody asks for it.
	ahead = 80 << 10
	// beside is how many bytes may be around each piece of what a connection brings, and one
	// more for each 128: 32 and fewer, for encryption and WebSocket.
	beside = 64
)

var errEmpty = errors.New("reach: a connection brings nothing")

// Arrival is a connection that has come over TCP, or one that this host has opened for WebSocket.
type Arrival struct {
	manet.Conn
	closes  func(io.Closer) error // nil: at once
	bounded bool                  // otherwise nothing below counts
	left    atomic.Int64          // bytes that may be read
	proved  atomic.Bool           // who the other end is
}

// Bound makes the connection end when much is read of it that brings nothing: libp2p goes on for
// as long as somebody names protocols of encryption that it does not know, asks for web pages, or
// sends pings and empty messages of WebSocket. It must be called before anybody else has the
// connection. Then one goroutine at a time reads, and says what that brought.
func (a *Arrival) Bound() {
	a.bounded = true
	a.left.Store(unproven)
}

// Proved notes that the other end has proved who it is.
func (a *Arrival) Proved() {
	a.proved.Store(true)
	a.left.Store(ahead)
}

// Brought notes that there was a piece of so many bytes in what was read.
func (a *Arrival) Brought(n int) {
	a.left.Store(min(a.left.Load()+int64(n+n>>7+beside), ahead))
}

// Read implements [net.Conn].
func (a *Arrival) Read(p []byte) (int, error) {
	if !a.bounded {
		return a.Conn.Read(p)
	}
	left := a.left.Load()
	if left <= 0 {
		return 0, errEmpty
	}
	n, err := a.Conn.Read(p[:min(int64(len(p)), left)])
	a.left.Add(-int64(n))
	return n, err
}

// Write implements [net.Conn].
func (a *Arrival) Write(p []byte) (int, error) {
	if a.bounded && !a.proved.Load() && a.left.Add(-answer) < 0 {
		return 0, errEmpty
	}
	return a.Conn.Write(p)
}

// ClosedBy sets who closes the connection when it should be closed. It must be called
// before anybody else has the connection.
func (a *Arrival) ClosedBy(closes func(io.Closer) error) { a.closes = closes }

// Close implements [net.Conn].
func (a *Arrival) Close() error {
	if a.closes != nil {
		return a.closes(a.Conn)
	}
	return a.Conn.Close()
}

// Close implements [manet.Listener].
func (l *portListener) Close() error {
	l.ports.remove(l.addr)
	return l.Listener.Close()
}

// ports dials from the ports this node listens on.
type ports struct {
	mu   sync.Mutex
	open map[*net.TCPAddr]bool
}

func (p *ports) add(a *net.TCPAddr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[a] = true
}

func (p *ports) remove(a *net.TCPAddr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, a)
}

// DialContext implements [tcp.ContextDialer]. When the port cannot be used again,
// because another connection between the same two addresses has it, the system
// chooses one.
func (p *ports) DialContext(ctx context.Context, network, to string) (net.Conn, error) {
	var plain net.Dialer
	from := p.source(network, to)
	if from == nil {
		return plain.DialContext(ctx, network, to)
	}
	shared := net.Dialer{LocalAddr: from, Control: reuseport.Control}
	c, err := shared.DialContext(ctx, network, to)
	if ctx.Err() == nil && (errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL)) {
		return plain.DialContext(ctx, network, to)
	}
	return c, err
}

// source returns the listening address that a connection can come from: one on every
// interface, or on the address that the system would choose; nil if there is none.
func (p *ports) source(network, to string) *net.TCPAddr {
	target, err := net.ResolveTCPAddr(network, to)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var chosen net.IP
	for a := range p.open {
		if (a.IP.To4() == nil) != (target.IP.To4() == nil) {
			continue
		}
		if a.IP.IsUnspecified() {
			return a
		}
		if chosen == nil {
			chosen = route(target)
		}
		if a.IP.Equal(chosen) {
			return a
		}
	}
	return nil
}

// route returns the address that connections to a target come from. Connecting a UDP
// socket reads the system's routes and sends nothing.
func route(to *net.TCPAddr) net.IP {
	c, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: to.IP, Port: to.Port, Zone: to.Zone})
	if err != nil {
		return net.IPv6unspecified // nobody's
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP
}
