// Package server offers a node's owner everything over HTTP, as the paths below /v1: at
// the socket of the data directory, and inside the process of a command. It knows what
// the owner can ask, and does not know how a node finds its answers.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/tokens"
)

// Config is what a [Server] serves.
type Config struct {
	Owner api.Owner
	// Sums answers GET /v1/sums of a relay, which is asked for nothing else. Then there is no
	// Owner.
	Sums func(context.Context) (api.Sums, error)
	Log  *slog.Logger
	// Tokens holds the tokens of those who may ask over a network.
	Tokens *tokens.Store
	// URL is the address of the server on a network; "": it listens on none.
	URL string
	// Ready says why the node does not take part in its network yet.
	Ready func() error
	// Left is called once the node has left its neighbours. Then the daemon must stop.
	Left func()
	// Metrics answers GET /metrics; nil: there are none.
	Metrics http.Handler
	// Pages answers every other GET, without any data of the node; nil: there are no
	// pages.
	Pages http.Handler
}

// Server answers requests that arrive at any number of listeners.
type Server struct {
	config Config
	codes  tokens.Codes

	// mu guards the routes. They and their descriptions take a megabyte of memory, which a
	// daemon that nobody asks saves: they are made for a request, and forgotten when no
	// other has come for as long as a connection may be idle.
	mu     sync.Mutex
	made   *routes
	unused *time.Timer
}

// New returns a server. It listens nowhere yet.
func New(c Config) *Server {
	c.Owner = discreet{c.Owner}
	return &Server{config: c}
}

// routes returns all routes.
func (s *Server) routes() *routes {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = s.route()
		s.unused = time.AfterFunc(idleTimeout, s.forget)
	}
	s.unused.Reset(idleTimeout)
	return s.made
}

// forget drops the routes. A request that still uses them keeps them until it ends.
func (s *Server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = nil
}

// route makes all routes.
func (s *Server) route() *routes {
	r, c := newRoutes(), s.config
	if c.Sums != nil {
		routeRelay(r, c)
		return r
	}
	routeHealth(r, c)
	routeRecords(r, c.Owner, c.Log)
	routePredictions(r, c.Owner)
	routeReports(r, c.Owner)
	routeBudget(r, c.Owner)
	routeNetwork(r, c.Owner)
	routeWatching(r, c.Owner)
	routeLifecycle(r, c.Owner, c.Log, c.Left)
	routeTokens(r, s, c.Tokens)
	routePages(r, c)
	return r
}

// headerTimeout bounds the time for the head of a request. idleTimeout bounds how long a
// connection may be idle.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// protocol is the HTTP by which requests reach a guard: all of them, also OPTIONS *, which
// net/http would answer itself, out of turn.
func (s *Server) protocol(g Guard) *http.Server {
	return &http.Server{
		Handler:                      s.Handler(g),
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               64 << 10,
		ConnContext:                  withConnection,
		ErrorLog:                     slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
}

// Serve answers the requests that arrive at a listener and pass its guard, until ctx
// ends. It closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener, g Guard) error {
	server := s.protocol(g)
	server.BaseContext = func(net.Listener) context.Context {
		return context.WithValue(context.WithoutCancel(ctx), stopping{}, ctx)
	}
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		if server.Shutdown(grace) != nil { // for example because an import hangs
			stopped <- server.Close()
			return
		}
		stopped <- nil
	})()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("server: serve %s: %w", listener.Addr(), err)
	}
	return <-stopped
}
