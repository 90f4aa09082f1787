package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// caller is a connection to a server.
type caller struct {
	net.Conn
	from *bufio.Reader
}

func call(t *testing.T, l net.Listener) *caller {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &caller{conn, bufio.NewReader(conn)}
}

// asks makes a request and reports whether it was answered.
func (c *caller) asks(path string) bool {
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		return false
	}
	answer, err := http.ReadResponse(c.from, nil)
	return err == nil && answer.Body.Close() == nil
}

// stays reports whether the connection is still there after a moment.
func (c *caller) stays(t *testing.T) bool {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err := c.from.Peek(1)
	require.NoError(t, c.SetReadDeadline(time.Time{}))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// Strangers who take every place, silent or asking what everybody may, keep nobody away, and
// who has shown a token keeps the place, however long ago it was.
func TestStrangersMakeRoom(t *testing.T) {
	const places = 4
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{ConnContext: withConnection, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			recognise(r, "one", context.Background())
		}
	})}
	served := make(chan error, 1)
	go func() { served <- s.Serve(newHall(listener, places, 1)) }()
	defer func() {
		require.NoError(t, s.Shutdown(context.Background()))
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	owner := call(t, listener)
	if !owner.asks("/token") {
		t.Fatal("the first request was not answered")
	}
	var strangers []*caller
	for i := range 3 * places {
		c := call(t, listener)
		if i%2 == 0 && !c.asks("/healthz") {
			t.Errorf("stranger %d was not answered", i)
		}
		strangers = append(strangers, c)
	}
	if !owner.asks("/token") || !call(t, listener).asks("/token") {
		t.Error("strangers took the place of who shows a token")
	}
	here := 0
	for _, c := range strangers {
		if c.stays(t) {
			here++
		}
	}
	if here != places-2 {
		t.Errorf("%d strangers are left in %d places, two of them taken by tokens", here, places)
	}
	if !call(t, listener).asks("/token") {
		t.Error("a token did not get the place of a stranger")
	}
	if !call(t, listener).asks("/healthz") || !owner.asks("/token") {
		t.Error("with tokens at every place but the spare one a newcomer was kept out, or took the place of a token")
	}
}

// visitor is a connection from an address.
type visitor struct {
	net.Conn
	from netip.Addr
}

func (v visitor) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(v.from, 4000))
}

// Who floods the hall takes places from itself: a client from elsewhere keeps its place
// until it shows its token, however long that takes it, and so do those who show theirs on
// many connections from one address.
func TestAFloodTakesPlacesFromItself(t *testing.T) {
	for name, flood := range map[string]func(i int) string{
		"of one address":    func(int) string { return "203.0.113.9" },
		"of one network":    func(i int) string { return fmt.Sprintf("203.0.%d.%d", i%7, i%250) },
		"of one home, IPv6": func(i int) string { return fmt.Sprintf("2001:db8:1:1::%x", i) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(nil, 64, 8)
			enter := func(from string) *connection {
				near, far := net.Pipe()
				t.Cleanup(func() { require.NoError(t, near.Close(), far.Close()) })
				return h.admit(visitor{near, netip.MustParseAddr(from)})
			}
			const office = "198.51.100.7"
			for range 40 {
				show(enter(office), "office", context.Background())
			}
			slow := []*connection{enter(office), enter("198.18.0.1")}
			for i := range 2000 {
				enter(flood(i))
			}
			slow = append(slow, enter(office))
			for i := range 2000 {
				enter(flood(i))
			}
			if slices.ContainsFunc(slow, isGone) {
				t.Error("a client lost its place to a flood from elsewhere")
			}
			if h.all != 64 || h.strangers.Len() != 24 || len(h.kept["office"]) != 40 {
				t.Errorf("%d places are taken, %d by strangers and %d by a token", h.all, h.strangers.Len(), len(h.kept["office"]))
			}
		})
	}
}

// admitted makes a connection and returns the hall's end of it.
func admitted(t *testing.T, c *hall) *connection {
	t.Helper()
	call(t, c.Listener)
	conn, err := c.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn.(*connection)
}

func isGone(g *connection) bool {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	return g.gone
}

func show(g *connection, token string, life context.Context) {
	recognise((&http.Request{}).WithContext(withConnection(context.Background(), g)), token, life)
}

// A connection whose token was revoked keeps its place only until somebody else needs it.
// A connection on which another token was shown since keeps it.
func TestRevokedMakesRoom(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	c := newHall(listener, 2, 0)
	life, revoke := context.WithCancel(context.Background())
	defer revoke()
	one, two := admitted(t, c), admitted(t, c)
	show(one, "one", life)
	show(two, "one", life)
	show(one, "two", context.Background())
	revoke()
	require.Eventually(t, "the revoked connection is a stranger again", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.strangers.Len() == 1
	})
	admitted(t, c)
	if isGone(one) || !isGone(two) {
		t.Errorf("the connection of a valid token is gone: %v, that of a revoked one: %v", isGone(one), isGone(two))
	}
}

// Tokens do not keep others away, however many there are and however many connections each
// is shown on. One of the oldest of the token that keeps most makes room.
func TestTokensMakeRoom(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	require.NoError(t, listener.(*net.TCPListener).SetDeadline(time.Now().Add(10*time.Second))) // for the test that fails
	c := newHall(listener, 16, 4)
	var greedy []*connection
	for range 16 {
		g := admitted(t, c)
		show(g, "greedy", context.Background())
		greedy = append(greedy, g)
	}
	owner := admitted(t, c)
	show(owner, "owner", context.Background())
	if left := slices.DeleteFunc(slices.Clone(greedy[:4]), isGone); len(left) != 3 || slices.ContainsFunc(greedy[4:], isGone) {
		t.Errorf("of the four oldest connections of the greedy token, which it could not keep, %d are left", len(left))
	}
	for i := range 64 {
		show(admitted(t, c), fmt.Sprint("token ", i%8), context.Background())
	}
	if isGone(owner) {
		t.Error("many tokens took the owner's place")
	}
	last := greedy[15]
	if isGone(last) {
		t.Error("the greedy token lost its share")
	}
	show(last, "owner", context.Background()) // its place goes with it
	if here := c.kept["greedy"]; here != nil || len(c.kept["owner"]) != 2 {
		t.Errorf("%v places of a token that is shown no more", here)
	}
}

// Who is read often waits for the others; who shows a token, or comes from another address, even
// in the same network, does not.
func TestStrangersShareTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(nil, 4, 1)
		enter := func(from string) (*connection, net.Conn) {
			near, far := net.Pipe()
			t.Cleanup(func() { _, _ = near.Close(), far.Close() })
			return h.admit(visitor{near, netip.MustParseAddr(from)}), far
		}
		flood, flooding := enter("203.0.113.9")
		elsewhere, _ := enter("198.51.100.7")
		near, _ := enter("203.0.200.7")
		owner, _ := enter("203.0.113.8")
		owner.keep("one", t.Context())
		now := time.Now()
		for range strangerReads {
			if !flood.turn(now) {
				t.Fatal("who asks alone has to wait")
			}
		}
		if flood.turn(now) || !elsewhere.turn(now) || !near.turn(now) || !owner.turn(now) {
			t.Error("a flood is read on, or others wait for it")
		}
		began, read := now, make(chan error)
		go func() {
			_, err := flood.Read(make([]byte, 1))
			read <- err
		}()
		_, err := flooding.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, <-read)
		if took := time.Since(began); took < shareWindow/2 || took > 2*shareWindow {
			t.Errorf("it was read after %v", took)
		}
		for flood.turn(time.Now()) {
		}
		require.NoError(t, flood.SetReadDeadline(time.Now()))
		if _, err := flood.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection that waited until its deadline: %v", err)
		}
		require.NoError(t, flood.SetReadDeadline(time.Time{}))
		for flood.turn(time.Now()) {
		}
		go func() {
			_, err := flood.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		require.NoError(t, flood.Close())
		if err := <-read; !errors.Is(err, net.ErrClosed) {
			t.Errorf("a closed connection that waited: %v", err)
		}
		flood.fresh.Store(false) // the request that asks next is a further one of its read
		if flood.asks() {
			t.Error("a request that waited may be answered after its connection was closed")
		}
	})
}

// Many requests that come with few reads take as many turns, one after another.
func TestRequestsShareTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		near, far := net.Pipe()
		comes := make(chan net.Conn, 1)
		comes <- visitor{near, netip.MustParseAddr("203.0.113.9")}
		var asked tally
		s := New(Config{Log: slog.New(slog.DiscardHandler)}).protocol(&asked)
		go s.Serve(newHall(arrivals{listener, comes}, 4, 1))
		go io.Copy(io.Discard, far)
		go far.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", strangerReads)))
		synctest.Wait()
		if n := asked.Load(); n < strangerReads/2 || n > strangerReads {
			t.Errorf("%d requests were answered at once", n)
		}
		time.Sleep(4 * shareWindow)
		if n := asked.Load(); n != 2*strangerReads {
			t.Errorf("%d requests were answered in the end", n)
		}
		close(comes)
		require.NoError(t, far.Close())
	})
}

// tally refuses all requests and counts them.
type tally struct{ atomic.Int64 }

// Admit implements [Guard].
func (n *tally) Admit(*http.Request) error {
	n.Add(1)
	return refuse(http.StatusForbidden, "nobody is let in", "stay outside")
}

// Allow implements [Guard].
func (n *tally) Allow(*http.Request, api.Scope) (Asker, error) { return anybody(), nil }

// Connections beyond the share of their address are not let in, and are closed after a while;
// one from another address is let in, even of the same network.
func TestNewConnectionsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		comes := make(chan net.Conn, newConnections+waitingMost+4)
		h := newHall(arrivals{nil, comes}, 4, 1)
		var ends []net.Conn
		come := func(from string) {
			near, far := net.Pipe()
			ends = append(ends, far)
			comes <- visitor{near, netip.MustParseAddr(from)}
		}
		for range newConnections + waitingMost + 2 {
			come("203.0.113.9")
		}
		come("203.0.200.7")
		come("198.51.100.7")
		close(comes)
		var in []net.Conn
		for c, err := h.Accept(); err == nil; c, err = h.Accept() {
			in = append(in, c)
		}
		if last := in[len(in)-1]; len(in) != newConnections+2 || source(last.RemoteAddr().String()).String() != "198.51.100.7" {
			t.Errorf("%d were let in, the last from %v", len(in), last.RemoteAddr())
		}
		waiting := func() (n int) {
			for _, c := range ends {
				if c.SetReadDeadline(time.Time{}) == nil { // a pipe whose other end is closed has no deadlines
					n++
				}
			}
			return n - h.places
		}
		if n := waiting(); n != waitingMost {
			t.Errorf("%d wait", n)
		}
		time.Sleep(2 * shareWindow)
		if n := waiting(); n != 0 {
			t.Errorf("%d are not closed", n)
		}
		for _, c := range append(in, ends...) {
			_ = c.Close()
		}
	})
}

// arrivals is a listener to which connections come until the channel is closed.
type arrivals struct {
	net.Listener
	from chan net.Conn
}

func (a arrivals) Accept() (net.Conn, error) {
	if c, ok := <-a.from; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
