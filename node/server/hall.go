package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"

	"p2pnode/internal/crowd"
)

// hall is a listener with a number of places. When all are taken, a new connection gets
// the place of a stranger: a connection on which nobody has shown a token that is still
// valid keeps its place only until somebody else needs it. Strangers from the most crowded
// network make room first, so that whoever opens many connections takes places from
// itself. Tokens keep all places but spare ones, so there is always a stranger then. A
// token that needs one more takes it from the token that keeps most, whose oldest
// connection becomes a stranger: so no number of connections of others keeps anybody away.
type hall struct {
	net.Listener
	places, spare int

	mu        sync.Mutex
	all       int
	strangers *crowd.Places[*connection]
	kept      map[string]*list.List // the connections of each token, by its ID; the oldest first
}

func newHall(l net.Listener, places, spare int) *hall {
	strangers := crowd.NewPlaces[*connection](places + 1) // with the one that comes when all are taken
	return &hall{Listener: l, places: places, spare: spare, strangers: strangers, kept: make(map[string]*list.List)}
}

// connection is one connection of a hall.
type connection struct {
	net.Conn
	of   *hall
	gone bool
	in   *list.List // those of its token; nil: it is a stranger
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
	h.all++
	g.mingle()
	var out *connection
	if h.all > h.places {
		out, _ = h.strangers.Evict(func(other *connection) bool { return other == g })
	}
	h.mu.Unlock()
	if out != nil {
		_ = out.Close() // its client sees that it is closed
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

// enter puts the connection among those of a token, as the newest. The caller holds of.mu.
func (g *connection) enter(l *list.List) { g.in, g.at = l, l.PushBack(g) }

// mingle puts the connection among the strangers. The caller holds of.mu.
func (g *connection) mingle() {
	g.in = nil
	g.of.strangers.Enter(g, source(g.RemoteAddr().String()), nil)
}

// leave takes the connection from where it is. The caller holds of.mu.
func (g *connection) leave() {
	if g.in == nil {
		g.of.strangers.Leave(g)
		return
	}
	if g.in.Remove(g.at); g.in.Len() == 0 {
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
		g.mingle()
	}
}

// estrange puts the connection back among the strangers, unless a token that is still
// valid was shown meanwhile.
func (g *connection) estrange() {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if !g.gone && g.in != nil && g.life.Err() != nil {
		g.leave()
		g.mingle()
	}
}
