package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// maxImport bounds the bytes of one imported file.
const maxImport = 256 << 20

// maxSocketPath is the longest path a unix socket can have everywhere.
const maxSocketPath = 103

// Owner is what the owner of a data directory can do with it: on a [Node], or
// through [Connect] on a running daemon.
type Owner interface {
	Status(ctx context.Context) (Status, error)
	Budget(ctx context.Context) (Budget, error)
	Peers(ctx context.Context) ([]Peer, error)
	Import(ctx context.Context, csv io.Reader, skipBad bool) (ImportReport, error)
	Predict(ctx context.Context, row map[string]string) (Prediction, error)
}

// failure is the body of an answer that is no success.
type failure struct {
	Error  string        `json:"error"`
	Report *ImportReport `json:"report,omitempty"` // of an import with bad lines
}

// Listen opens the unix socket of the data directory, for [Node.Serve]. Only the
// user who owns the directory can reach it.
func (n *Node) Listen() (net.Listener, error) {
	path := filepath.Join(n.dir, socketFile)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("node: the path of the socket, %s, has more than %d characters; choose a shorter data directory", path, maxSocketPath)
	}
	// Open holds the directory, so a socket that is there is left over.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("node: remove the old socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("node: listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// Serve answers the owner's requests that arrive at the listener until ctx
// ends, and closes it.
func (n *Node) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: n.handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)}
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		if server.Shutdown(grace) != nil { // an import that hangs, say
			stopped <- server.Close()
			return
		}
		stopped <- nil
	})()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("node: serve the socket: %w", err)
	}
	return <-stopped
}

func (n *Node) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		s, err := n.Status(r.Context())
		reply(w, s, err)
	})
	mux.HandleFunc("GET /budget", func(w http.ResponseWriter, r *http.Request) {
		b, err := n.Budget(r.Context())
		reply(w, b, err)
	})
	mux.HandleFunc("GET /peers", func(w http.ResponseWriter, r *http.Request) {
		p, err := n.Peers(r.Context())
		reply(w, p, err)
	})
	mux.HandleFunc("POST /predict", func(w http.ResponseWriter, r *http.Request) {
		var row map[string]string
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&row)
		if err != nil {
			reply(w, nil, fmt.Errorf("read the row: %w", err))
			return
		}
		p, err := n.Predict(r.Context(), row)
		reply(w, p, err)
	})
	mux.HandleFunc("POST /records", func(w http.ResponseWriter, r *http.Request) {
		body := http.MaxBytesReader(w, r.Body, maxImport)
		report, err := n.Import(r.Context(), body, r.URL.Query().Get("bad") == "skip")
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			err = fmt.Errorf("node: the file has more than %d MB; split it, or stop the daemon and import it then", maxImport>>20)
		}
		if errors.Is(err, ErrBadLines) {
			send(w, http.StatusUnprocessableEntity, failure{err.Error(), &report})
			return
		}
		reply(w, report, err)
	})
	return mux
}

func reply(w http.ResponseWriter, v any, err error) {
	if err != nil {
		send(w, http.StatusBadRequest, failure{Error: err.Error()})
		return
	}
	send(w, http.StatusOK, v)
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone: nothing to tell it
}
