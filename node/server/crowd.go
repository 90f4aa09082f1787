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
// valid: a connection without one keeps its place only until somebody else needs it. So
// does a connection with a token that keeps its share of the places already.
type crowd struct {
	net.Listener
	places, share int

	mu        sync.Mutex
	all       int
	strangers *list.List     // of *connection, the oldest first
	kept      map[string]int // places by the token's ID
}

func newCrowd(l net.Listener, places, share int) *crowd {
	return &crowd{Listener: l, places: places, share: share, strangers: list.New(), kept: make(map[string]int)}
}

// connection is one connection of a crowd.
type connection struct {
	net.Conn
	of   *crowd
	gone bool
	at   *list.Element // its place among the strangers; nil: it keeps a place of a token

	token  string          // the ID of the token whose place it keeps
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
		g.leave()
		if g.forget != nil {
			g.forget()
		}
	}
	g.gone = true
	g.of.mu.Unlock()
	return g.Conn.Close()
}

// leave takes the connection out of the list of strangers, or gives back the place of a
// token. The caller holds of.mu.
func (g *connection) leave() {
	if g.at != nil {
		g.of.strangers.Remove(g.at)
		g.at = nil
		return
	}
	if g.of.kept[g.token]--; g.of.kept[g.token] == 0 {
		delete(g.of.kept, g.token)
	}
}

// arrived is the key, in a request's context, of the connection that the request came
// over.
type arrived struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, arrived{}, c)
}

// recognise makes the connection of a request keep its place while the token that the
// request has shown lives, unless the token has its share of places.
func recognise(r *http.Request, token string, life context.Context) {
	conn := r.Context().Value(arrived{})
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	if g, ok := conn.(*connection); ok {
		g.keep(token, life)
	}
}

func (g *connection) keep(token string, life context.Context) {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if g.gone {
		return
	}
	g.leave()
	if g.of.kept[token] < g.of.share {
		g.of.kept[token]++
		g.token = token
	} else {
		g.at = g.of.strangers.PushBack(g)
	}
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
		g.leave()
		g.at = g.of.strangers.PushBack(g)
	}
}
