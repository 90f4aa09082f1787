package reach

import (
	"context"
	"net"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/transport/tcpreuse"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Patience is how long a TCP connection may be silent before the system asks the other end
// for a sign of life, and how long that may take. The system asks and answers without waking
// the program, which costs an idle one less than any question of its own.
type Patience struct{ Silence, Answer time.Duration }

// probes is how many times the system asks before it gives up.
const probes = 3

// patient is an upgrader for connections of this patience. It sees each of them last, after
// libp2p's transport has set how often to ask.
type patient struct {
	transport.Upgrader
	Patience
}

// newTransport makes a transport over TCP.
type newTransport[T transport.Transport] func(transport.Upgrader, network.ResourceManager, *tcpreuse.ConnMgr) (T, error)

// patiently makes a transport whose connections have this patience.
func patiently[T transport.Transport](p Patience, with newTransport[T]) newTransport[T] {
	return func(u transport.Upgrader, r network.ResourceManager, shared *tcpreuse.ConnMgr) (T, error) {
		return with(patient{u, p}, r, shared)
	}
}

// Upgrade implements [transport.Upgrader].
func (u patient) Upgrade(ctx context.Context, t transport.Transport, c manet.Conn, d network.Direction, p peer.ID, scope network.ConnManagementScope) (transport.CapableConn, error) {
	u.set(c)
	return u.Upgrader.Upgrade(ctx, t, c, d, p, scope)
}

// UpgradeGatedMaListener implements [transport.Upgrader].
func (u patient) UpgradeGatedMaListener(t transport.Transport, l transport.GatedMaListener) transport.Listener {
	return u.Upgrader.UpgradeGatedMaListener(t, patientListener{l, u.Patience})
}

type patientListener struct {
	transport.GatedMaListener
	Patience
}

// Accept implements [transport.GatedMaListener].
func (l patientListener) Accept() (manet.Conn, network.ConnManagementScope, error) {
	c, scope, err := l.GatedMaListener.Accept()
	if err == nil {
		l.set(c)
	}
	return c, scope, err
}

// set asks the system for this patience. Where it cannot, the multiplexer notices later
// that a peer has vanished.
func (p Patience) set(c net.Conn) {
	if a, ok := c.(*Arrival); ok {
		c = a.Conn
	}
	conn, ok := c.(interface {
		SetKeepAliveConfig(net.KeepAliveConfig) error
		syscall.Conn
	})
	if !ok {
		return
	}
	_ = conn.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: p.Silence, Interval: p.Answer / probes, Count: probes})
	if raw, err := conn.SyscallConn(); err == nil {
		unanswered(raw, p.Silence+p.Answer)
	}
}
