package reach

import (
	"context"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/pnet"
	"github.com/libp2p/go-libp2p/core/transport"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/multiformats/go-multiaddr"
)

// Around puts something around a connection, as a multiplexer does. QUIC has none.
type Around func(transport.CapableConn) transport.CapableConn

// quicTransport is libp2p's QUIC transport with something around its connections.
type quicTransport struct {
	transport.Transport
	around Around
}

// newQUIC makes the constructor that libp2p asks for.
func newQUIC(around Around) any {
	return func(key crypto.PrivKey, ports *quicreuse.ConnManager, closed pnet.PSK, gater connmgr.ConnectionGater, resources network.ResourceManager) (*quicTransport, error) {
		t, err := quic.NewTransport(key, ports, closed, gater, resources)
		return &quicTransport{t, around}, err
	}
}

// ListenOrder says that QUIC listens after TCP, as libp2p's transport does.
func (*quicTransport) ListenOrder() int { return quic.ListenOrder }

// Dial implements [transport.Transport].
func (t *quicTransport) Dial(ctx context.Context, to multiaddr.Multiaddr, p peer.ID) (transport.CapableConn, error) {
	c, err := t.Transport.Dial(ctx, to, p)
	if err != nil {
		return nil, err
	}
	return t.around(c), nil
}

// Listen implements [transport.Transport].
func (t *quicTransport) Listen(at multiaddr.Multiaddr) (transport.Listener, error) {
	l, err := t.Transport.Listen(at)
	if err != nil {
		return nil, err
	}
	return &quicListener{l, t.around}, nil
}

type quicListener struct {
	transport.Listener
	around Around
}

// Accept implements [transport.Listener].
func (l *quicListener) Accept() (transport.CapableConn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.around(c), nil
}
