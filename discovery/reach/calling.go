package reach

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	ws "github.com/gorilla/websocket"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/transport/websocket"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// callTimeout bounds how long it takes to change to WebSocket, as in libp2p.
const callTimeout = 15 * time.Second

// sockets is libp2p's WebSocket transport, with bounds for the connections that it opens. Libp2p
// offers nobody what is under those, where empty messages and parts of them can be seen.
type sockets struct {
	*websocket.WebsocketTransport
	upgrader  transport.Upgrader
	resources network.ResourceManager
}

// Dial implements [transport.Transport].
func (t *sockets) Dial(ctx context.Context, to multiaddr.Multiaddr, p peer.ID) (transport.CapableConn, error) {
	scope, err := t.resources.OpenConnection(network.DirOutbound, true, to)
	if err != nil {
		return nil, err
	}
	c, err := call(ctx, to)
	if err != nil {
		scope.Done()
		return nil, err
	}
	conn, err := t.upgrader.Upgrade(ctx, t, c, network.DirOutbound, p, scope)
	if err != nil {
		scope.Done()
		return nil, err
	}
	return overSocket{conn}, nil
}

// overSocket is a connection that says that it is over WebSocket.
type overSocket struct{ transport.CapableConn }

// ConnState implements [transport.CapableConn].
func (c overSocket) ConnState() network.ConnectionState {
	s := c.CapableConn.ConnState()
	s.Transport = "websocket"
	return s
}

// called is a connection over WebSocket that this host has opened.
type called struct {
	*websocket.Conn
	under       *Arrival
	here, there multiaddr.Multiaddr
}

// call opens a connection to an address over WebSocket.
func call(ctx context.Context, to multiaddr.Multiaddr) (*called, error) {
	_, at, err := manet.DialArgs(to)
	if err != nil {
		return nil, err
	}
	page, last := url.URL{Scheme: "ws", Host: at}, "/ws"
	for _, c := range to {
		switch c.Protocol().Code {
		case multiaddr.P_TLS, multiaddr.P_WSS:
			page.Scheme, last = "wss", "/tls/ws"
		case multiaddr.P_SNI:
			_, port, err := net.SplitHostPort(at)
			if err != nil {
				return nil, err
			}
			page.Host = net.JoinHostPort(c.Value(), port)
		}
	}
	o := &called{}
	d := ws.Dialer{HandshakeTimeout: callTimeout, Proxy: http.ProxyFromEnvironment}
	d.NetDialContext = func(ctx context.Context, network, host string) (net.Conn, error) {
		if host == page.Host {
			host = at // where its name has led to
		}
		var plain net.Dialer
		c, err := plain.DialContext(ctx, network, host)
		if err != nil {
			return nil, err
		}
		inner, err := manet.WrapNetConn(c)
		if err != nil {
			_ = c.Close()
			return nil, err
		}
		o.under = &Arrival{Conn: inner}
		o.under.Bound()
		o.under.Proved() // certificates are longer than greetings
		return o.under, nil
	}
	raw, _, err := d.DialContext(ctx, page.String(), nil)
	if err != nil {
		return nil, err
	}
	o.Conn = &websocket.Conn{Conn: raw, DefaultMessageType: ws.BinaryMessage}
	end := multiaddr.StringCast(last)
	o.here, o.there = o.under.LocalMultiaddr().Encapsulate(end), o.under.RemoteMultiaddr().Encapsulate(end)
	answerFew(o.Conn)
	return o, nil
}

// LocalMultiaddr implements [manet.Conn].
func (c *called) LocalMultiaddr() multiaddr.Multiaddr { return c.here }

// RemoteMultiaddr implements [manet.Conn].
func (c *called) RemoteMultiaddr() multiaddr.Multiaddr { return c.there }

// shortest is what an encrypted message has at least: one that would be shorter, or comes in such
// pieces, costs more than there can be in it.
const shortest = 16

// Read implements [net.Conn].
func (c *called) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n >= shortest {
		c.under.Brought(n)
	}
	return n, err
}

// Close implements [net.Conn].
func (c *called) Close() error {
	raw := c.Conn.Conn
	_ = raw.WriteControl(ws.CloseMessage, ws.FormatCloseMessage(ws.CloseNormalClosure, "closed"), time.Now().Add(websocket.GracefulCloseTimeout))
	return raw.Close()
}
