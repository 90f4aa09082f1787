package server

import (
	"context"
	"net/http"
	"strings"

	"p2pnode/node/api"
)

// Guard says who may ask what at a listener.
type Guard interface {
	// Admit refuses a request before anything else of it is looked at.
	Admit(r *http.Request) error
	// Allow refuses a request that may not do what the scope stands for, and returns who
	// asks.
	Allow(r *http.Request, scope api.Scope) (Asker, error)
}

// Asker is who makes a request.
type Asker struct {
	Token string          // the ID of the token; "": the owner, or anybody
	Life  context.Context // ends when the token may ask no more
}

// errRevoked ends the requests of a token that may ask no more.
var errRevoked = refuse(http.StatusUnauthorized, "the token of this request is valid no more", "make another with p2pnode token new")

// anybody is the asker without a token.
func anybody() Asker { return Asker{Life: context.Background()} }

// SocketHost is the host that requests over a socket must name.
const SocketHost = "localhost"

// Socket guards a listener that only the owner's own programs can reach: they may do
// everything. Browsers, which would say where a request comes from, cannot reach it.
type Socket struct{}

// Admit implements [Guard].
func (Socket) Admit(r *http.Request) error {
	if r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "" {
		return refuse(http.StatusForbidden, "the socket does not serve web pages", "leave the headers Origin and Referer out")
	}
	if r.Host != SocketHost {
		return refuse(http.StatusForbidden, "the socket serves no host of this name", "ask for http://"+SocketHost+"/")
	}
	return nil
}

// Allow implements [Guard].
func (Socket) Allow(*http.Request, api.Scope) (Asker, error) { return anybody(), nil }

// The keys of a request's context: guarded of the request's guard, overTLS of whether it
// came over TLS, and asking of the ID of the token that it showed.
type (
	guarded struct{}
	overTLS struct{}
	asking  struct{}
)

// Handler answers the requests that pass a guard.
func (s *Server) Handler(g Guard) http.Handler {
	return http.HandlerFunc(func(client http.ResponseWriter, r *http.Request) {
		if over := connectionOf(r); over != nil && !over.asks() {
			panic(http.ErrAbortHandler) // nobody is there to hear the answer
		}
		w := &answerPieces{ResponseWriter: client, sends: r.Body != http.NoBody}
		ctx := context.WithValue(r.Context(), guarded{}, g)
		r = r.WithContext(context.WithValue(ctx, overTLS{}, r.TLS != nil)) // the one that gets its pattern
		defer s.survive(w, r)
		w.Header().Set("Cache-Control", "no-store") // the pages set another value
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := g.Admit(r); err != nil {
			writeProblem(w, problemOf(err))
			return
		}
		s.routes().ServeHTTP(w, r)
	})
}

// survive answers a request whose handling panicked. The value of the panic and those that
// functions were called with stay out of the answer and the log, because they may be private.
func (s *Server) survive(w http.ResponseWriter, r *http.Request) {
	switch said := recover(); said {
	case nil:
	case http.ErrAbortHandler:
		panic(said)
	default:
		s.config.Log.Error("a request found a defect of this program", "request", r.Pattern, "where", strings.Join(api.NewDefect(said).Stack, " < "))
		if begun(w) {
			panic(http.ErrAbortHandler)
		}
		writeProblem(w, problemOf(refuse(http.StatusInternalServerError, "the request found a defect of this program", "the daemon's log says where: please report it")))
	}
}

// allow asks the guard of a request.
func allow(r *http.Request, scope api.Scope) (Asker, error) {
	return r.Context().Value(guarded{}).(Guard).Allow(r, scope)
}
