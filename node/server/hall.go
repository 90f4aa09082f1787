package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"p2pnode/internal/crowd"
)

// hall is a listener with a number of places. When all are taken, a new connection gets
// the place of a stranger: a connection on which nobody has shown a token that is still
// valid keeps its place only until somebody else needs it. Strangers from the most crowded
// network make room first, so that whoever opens many connections takes places from
// itself. Tokens keep all places but spare ones, so there is always a stranger then. A
// token that needs one more takes it from the token that keeps most, whose oldest
// connection becomes a stranger: so no number of connections of others keeps anybody away.
//
// Whatever strangers do costs the processor something, so they share that too. They are read
// in turn: who asks without end waits. Many requests may come with one read, so each has its turn
// too. New connections beyond a share are closed, after a while, so that who comes again as soon as
// it is turned away does not come often.
type hall struct {
	net.Listener
	places, spare int

	mu        sync.Mutex
	arrivals  *crowd.Parts
	reads     *crowd.Parts // of strangers
	refused   *crowd.Doorstep
	all       int
	strangers *crowd.Places[*connection]
	kept      map[string][]*connection // of each token, by its ID; the oldest first
}

// strangerReads is how many reads, and further requests of one read, strangers have in each shareWindow
// before the addresses and networks that they come from share, and newConnections how many may come. A handshake and a request
// take two reads each. Of the others waitingMost wait for a shareWindow until they are closed.
const (
	strangerReads  = 512
	newConnections = 256
	shareWindow    = time.Second
	waitingMost    = 1024
)

func newHall(l net.Listener, places, spare int) *hall {
	strangers := crowd.NewPlaces[*connection](places + 1) // with the one that comes when all are taken
	return &hall{Listener: l, places: places, spare: spare, strangers: strangers, kept: make(map[string][]*connection),
		arrivals: crowd.NewParts(newConnections, shareWindow), reads: crowd.NewParts(strangerReads, shareWindow),
		refused: crowd.NewDoorstep(waitingMost, shareWindow)}
}

// connection is one connection of a hall.
type connection struct {
	net.Conn
	of       *hall
	from     netip.Addr                // see source
	deadline atomic.Pointer[time.Time] // for reading; nil or zero: none
	gone     bool
	fresh    atomic.Bool     // there was a read of which no request has had its turn
	ended    chan struct{}   // closed when it is gone
	token    string          // the ID of the token that keeps its place; "": it is a stranger
	life     context.Context // of the token that was shown last; nil: none was
	forget   func() bool     // lets the connection outlast that life
}

// Accept implements [net.Listener].
func (h *hall) Accept() (net.Conn, error) {
	for {
		conn, err := h.Listener.Accept()
		if err != nil {
			return nil, err
		}
		h.mu.Lock()
		comes := h.arrivals.Take(source(conn.RemoteAddr().String()), "", 1, time.Now())
		h.mu.Unlock()
		if comes {
			return h.admit(conn), nil
		}
		_ = h.refused.Keep(conn) // its client sees that it is closed
	}
}

// admit finds a place for a connection.
func (h *hall) admit(conn net.Conn) *connection {
	g := &connection{Conn: conn, of: h, from: source(conn.RemoteAddr().String()), ended: make(chan struct{})}
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
		close(g.ended)
	}
	g.gone = true
	g.of.mu.Unlock()
	return g.Conn.Close()
}

// Read implements [net.Conn].
func (g *connection) Read(p []byte) (int, error) {
	if !g.waits() {
		return 0, net.ErrClosed
	}
	n, err := g.Conn.Read(p)
	if n > 0 {
		g.fresh.Store(true)
	}
	return n, err
}

// asks waits until a request that came over the connection may be answered. The first since a
// read may be, and each further one takes as much as a read. It reports whether the connection
// is still there.
func (g *connection) asks() bool { return g.fresh.Swap(false) || g.waits() }

// waits waits for the connection's turn, while there is time left to read. It reports whether the
// connection is still there.
func (g *connection) waits() bool {
	for !g.turn(time.Now()) && !g.late() {
		select {
		case <-g.ended:
			return false
		case <-time.After(shareWindow / 4):
		}
	}
	return true
}

// late reports whether there is no time left to read. The connection itself says so then.
func (g *connection) late() bool {
	d := g.deadline.Load()
	return d != nil && !d.IsZero() && !time.Now().Before(*d)
}

// SetReadDeadline implements [net.Conn].
func (g *connection) SetReadDeadline(t time.Time) error {
	g.deadline.Store(&t)
	return g.Conn.SetReadDeadline(t)
}

// SetDeadline implements [net.Conn].
func (g *connection) SetDeadline(t time.Time) error {
	g.deadline.Store(&t)
	return g.Conn.SetDeadline(t)
}

// turn reports whether the connection is read from now.
func (g *connection) turn(now time.Time) bool {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	return g.token != "" || g.of.reads.Take(g.from, "", 1, now)
}

// mingle puts the connection among the strangers. The caller holds of.mu.
func (g *connection) mingle() { g.of.strangers.Enter(g, g.from, nil) }

// leave takes the connection from where it is. The caller holds of.mu.
func (g *connection) leave() {
	if g.token == "" {
		g.of.strangers.Leave(g)
		return
	}
	rest := slices.DeleteFunc(g.of.kept[g.token], func(other *connection) bool { return other == g })
	if g.of.kept[g.token] = rest; len(rest) == 0 {
		delete(g.of.kept, g.token)
	}
	g.token = ""
}

// arrived is the key, in a request's context, of the connection that the request came
// over.
type arrived struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, arrived{}, c)
}

// connectionOf returns the connection of a request; nil if it is none of a hall.
func connectionOf(r *http.Request) *connection {
	conn := r.Context().Value(arrived{})
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	g, _ := conn.(*connection)
	return g
}

// recognise makes the connection of a request keep its place while the token that the
// request has shown lives.
func recognise(r *http.Request, token string, life context.Context) {
	if g := connectionOf(r); g != nil {
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
	g.of.kept[token] = append(g.of.kept[token], g) // the newest
	g.of.share()
	if g.forget != nil {
		g.forget()
	}
	g.life, g.forget = life, context.AfterFunc(life, g.estrange)
}

// share makes the oldest connection of the token that keeps most places a stranger if
// tokens keep too many. The caller holds mu.
func (h *hall) share() {
	all, most := 0, []*connection(nil)
	for _, l := range h.kept {
		if all += len(l); len(l) > len(most) {
			most = l
		}
	}
	if all > h.places-h.spare {
		g := most[0]
		g.leave()
		g.mingle()
	}
}

// estrange puts the connection back among the strangers, unless a token that is still
// valid was shown meanwhile.
func (g *connection) estrange() {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if !g.gone && g.token != "" && g.life.Err() != nil {
		g.leave()
		g.mingle()
	}
}
