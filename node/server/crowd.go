package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// crowd is a listener with a number of places. When all are taken, a new connection gets
// the place of the oldest connection on which nobody has shown a token that is still
// valid: a connection without one keeps its place only until somebody else needs it.
type crowd struct {
	net.Listener
	places int

	mu        sync.Mutex
	all       int
	strangers *list.List // of *connection, the oldest first
}

func newCrowd(l net.Listener, places int) *crowd {
	return &crowd{Listener: l, places: places, strangers: list.New()}
}

// connection is one connection of a crowd.
type connection struct {
	net.Conn
	of   *crowd
	gone bool
	at   *list.Element // its place among the strangers; nil: a valid token was shown

	life   context.Context // of the token that was shown last; nil: none was
	forget func() bool     // lets the connection outlast that life
}

// Accept implements [net.Listener]. It closes a new connection for which there is no
// place.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g := c.admit(conn); g != nil {
			return g, nil
		}
		_ = conn.Close() // the other end sees that it is closed
	}
}

// admit finds a place for a connection; it returns nil if there is none.
func (c *crowd) admit(conn net.Conn) *connection {
	c.mu.Lock()
	oldest := c.strangers.Front()
	full := c.all >= c.places
	if full && oldest == nil {
		c.mu.Unlock()
		return nil
	}
	g := &connection{Conn: conn, of: c}
	c.all++
	g.at = c.strangers.PushBack(g)
	c.mu.Unlock()
	if full {
		_ = oldest.Value.(*connection).Close() // its client sees that it is closed
	}
	return g
}

// Close implements [net.Conn].
func (g *connection) Close() error {
	g.of.mu.Lock()
	if !g.gone {
		g.of.all--
		g.leaveStrangers()
		if g.forget != nil {
			g.forget()
		}
	}
	g.gone = true
	g.of.mu.Unlock()
	return g.Conn.Close()
}

// leaveStrangers takes the connection out of the list of strangers. The caller holds
// of.mu.
func (g *connection) leaveStrangers() {
	if g.at != nil {
		g.of.strangers.Remove(g.at)
		g.at = nil
	}
}

// arrived is the key, in a request's context, of the connection that the request came
// over.
type arrived struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, arrived{}, c)
}

// recognise makes the connection of a request keep its place while the token that the
// request has shown lives.
func recognise(r *http.Request, life context.Context) {
	conn := r.Context().Value(arrived{})
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	if g, ok := conn.(*connection); ok {
		g.keep(life)
	}
}

func (g *connection) keep(life context.Context) {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if g.gone {
		return
	}
	g.leaveStrangers()
	if g.forget != nil {
		g.forget()
	}
	g.life, g.forget = life, context.AfterFunc(life, g.estrange)
}

// estrange puts the connection back among the strangers, as the newest, unless a token
// that is still valid was shown meanwhile.
func (g *connection) estrange() {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if !g.gone && g.at == nil && g.life.Err() != nil {
		g.at = g.of.strangers.PushBack(g)
	}
}
