package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// hall is a listener with a number of places. When all are taken, a new connection gets
// the place of the oldest stranger: a connection on which nobody has shown a token that is
// still valid keeps its place only until somebody else needs it. Tokens keep all places but
// spare ones, so there is always a stranger then. A token that needs one more takes it from
// the token that keeps most, whose oldest connection becomes a stranger: so no number of
// connections of others keeps anybody away.
type hall struct {
	net.Listener
	places, spare int

	mu        sync.Mutex
	all       int
	strangers *list.List            // of *connection, the oldest first
	kept      map[string]*list.List // the same of each token, by its ID
}

func newHall(l net.Listener, places, spare int) *hall {
	return &hall{Listener: l, places: places, spare: spare, strangers: list.New(), kept: make(map[string]*list.List)}
}

// connection is one connection of a hall.
type connection struct {
	net.Conn
	of   *hall
	gone bool
	in   *list.List // the strangers, or those of a token
	at   *list.Element

	token  string          // the ID of the token that was shown last
	life   context.Context // of that token; nil: none was shown
	forget func() bool     // lets the connection outlast that life
}

// Accept implements [net.Listener].
func (h *hall) Accept() (net.Conn, error) {
	conn, err := h.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return h.admit(conn), nil
}

// admit finds a place for a connection.
func (h *hall) admit(conn net.Conn) *connection {
	g := &connection{Conn: conn, of: h}
	h.mu.Lock()
	var oldest *list.Element
	if h.all >= h.places {
		oldest = h.strangers.Front()
	}
	h.all++
	g.enter(h.strangers)
	h.mu.Unlock()
	if oldest != nil {
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

// enter puts the connection into a list, as the newest. The caller holds of.mu.
func (g *connection) enter(l *list.List) { g.in, g.at = l, l.PushBack(g) }

// leave takes the connection out of its list. The caller holds of.mu.
func (g *connection) leave() {
	g.in.Remove(g.at)
	if g.in != g.of.strangers && g.in.Len() == 0 {
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
// request has shown lives.
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
	g.token = token
	if g.of.kept[token] == nil {
		g.of.kept[token] = list.New()
	}
	g.enter(g.of.kept[token])
	g.of.share()
	if g.forget != nil {
		g.forget()
	}
	g.life, g.forget = life, context.AfterFunc(life, g.estrange)
}

// share makes the oldest connection of the token that keeps most places a stranger if
// tokens keep too many. The caller holds mu.
func (h *hall) share() {
	all, most := 0, list.New()
	for _, l := range h.kept {
		if all += l.Len(); l.Len() > most.Len() {
			most = l
		}
	}
	if all > h.places-h.spare {
		g := most.Front().Value.(*connection)
		g.leave()
		g.enter(h.strangers)
	}
}

// estrange puts the connection back among the strangers, as the newest, unless a token
// that is still valid was shown meanwhile.
func (g *connection) estrange() {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if !g.gone && g.in != g.of.strangers && g.life.Err() != nil {
		g.leave()
		g.enter(g.of.strangers)
	}
}
