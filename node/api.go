package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"p2pnode/storage"
)

// maxRequest bounds the bytes of a request that is no file of records.
const maxRequest = 16 << 20

// maxSocketPath is the longest path a unix socket can have everywhere.
const maxSocketPath = 103

// Owner is what the owner of a data directory can do with it: on a [Node], or
// through [Connect] on a running daemon.
type Owner interface {
	Status(ctx context.Context) (Status, error)
	Progress(ctx context.Context) (Status, error) // Status without Personal, which takes a fit
	Budget(ctx context.Context) (Budget, error)
	Verify(ctx context.Context) (Verification, error)
	Ledger(ctx context.Context) ([]Line, error)
	Peers(ctx context.Context) ([]Peer, error)
	Leave(ctx context.Context) (Farewell, error) // the daemon stops then
	Doctor(ctx context.Context) (Diagnosis, error)
	Acquaintances(ctx context.Context) ([]Acquaintance, error)
	AddPeer(ctx context.Context, address string) (Addition, error)
	RemovePeer(ctx context.Context, peerOrAddress string) error
	Import(ctx context.Context, csv io.Reader, o ImportOptions) (ImportReport, error)
	Records(ctx context.Context, content bool) iter.Seq2[RecordInfo, error]
	Delete(ctx context.Context, numbers []uint64) error
	Predict(ctx context.Context, row map[string]string) (Prediction, error)
	Backup(ctx context.Context, w io.Writer) error
	Members(ctx context.Context) (Membership, error)
	ImportMembers(ctx context.Context, list []byte) error
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
// ends, or until one of them was to leave the network: then the daemon is to stop. It
// closes the listener.
func (n *Node) Serve(ctx context.Context, listener net.Listener) error {
	ctx, left := context.WithCancel(ctx)
	defer left()
	server := &http.Server{Handler: n.handler(left), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)}
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

// leaveTimeout bounds how long the daemon waits for its neighbours when it leaves.
const leaveTimeout = 10 * time.Second

// handler calls left once the node has left its neighbours.
func (n *Node) handler(left func()) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /alive", func(http.ResponseWriter, *http.Request) {})
	get(mux, "/status", n.Status)
	get(mux, "/progress", n.Progress)
	get(mux, "/budget", n.Budget)
	get(mux, "/verify", n.Verify)
	get(mux, "/ledger", n.Ledger)
	get(mux, "/peers", n.Peers)
	get(mux, "/doctor", n.Doctor)
	get(mux, "/members", n.Members)
	get(mux, "/acquaintances", n.Acquaintances)
	post(mux, "/peers/add", n.AddPeer)
	post(mux, "/peers/remove", func(ctx context.Context, p string) (struct{}, error) {
		return struct{}{}, n.RemovePeer(ctx, p)
	})
	mux.HandleFunc("GET /records", n.serveRecords)
	post(mux, "/predict", n.Predict)
	post(mux, "/members", func(ctx context.Context, list []byte) (struct{}, error) {
		return struct{}{}, n.ImportMembers(ctx, list)
	})
	post(mux, "/delete", func(ctx context.Context, numbers []uint64) (struct{}, error) {
		return struct{}{}, n.Delete(ctx, numbers)
	})
	post(mux, "/leave", func(ctx context.Context, _ struct{}) (Farewell, error) {
		defer left()
		ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
		defer cancel()
		return n.Leave(ctx)
	})
	mux.HandleFunc("POST /records", n.serveImport)
	post(mux, "/imported", func(_ context.Context, file storage.Digest) (struct{}, error) {
		return struct{}{}, n.refuse(file)
	})
	mux.HandleFunc("GET /backup", n.serveBackup)
	return mux
}

// get serves a question without parameters.
func get[T any](mux *http.ServeMux, path string, question func(context.Context) (T, error)) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		v, err := question(r.Context())
		reply(w, v, err)
	})
}

// post serves a request whose parameter is the JSON body.
func post[P, T any](mux *http.ServeMux, path string, request func(context.Context, P) (T, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var parameter P
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&parameter)
		if err != nil {
			reply(w, nil, requestError{fmt.Errorf("node: read the request: %w", err)})
			return
		}
		v, err := request(r.Context(), parameter)
		reply(w, v, err)
	})
}

func (n *Node) serveImport(w http.ResponseWriter, r *http.Request) {
	o := ImportOptions{SkipBad: r.URL.Query().Get("bad") == "skip", Again: r.URL.Query().Get("again") == "yes"}
	report, err := n.Import(r.Context(), r.Body, o)
	if errors.Is(err, ErrBadLines) {
		send(w, http.StatusUnprocessableEntity, failure{err.Error(), &report})
		return
	}
	reply(w, report, err)
}

// serveRecords sends the list as it is read, one line of JSON a record. If it fails on the
// way the connection breaks, as that of serveBackup.
func (n *Node) serveRecords(w http.ResponseWriter, r *http.Request) {
	out := bufio.NewWriter(w)
	lines, begun := json.NewEncoder(out), false
	for record, err := range n.Records(r.Context(), r.URL.Query().Get("content") == "yes") {
		if err != nil && !begun {
			reply(w, nil, err)
			return
		}
		if err == nil {
			begun, err = true, lines.Encode(record)
		}
		if err != nil {
			if r.Context().Err() == nil { // the client is still there
				n.log.Error("list of records broke off", "error", err)
			}
			panic(http.ErrAbortHandler)
		}
	}
	_ = out.Flush() // the client has gone: nothing to tell it
}

// serveBackup streams the copy. One that fails on the way breaks the connection,
// so that nobody takes a part for the whole.
func (n *Node) serveBackup(w http.ResponseWriter, r *http.Request) {
	out := &copyWriter{client: w}
	err := n.Backup(r.Context(), out)
	if err != nil && !out.begun {
		reply(w, nil, err)
	} else if err != nil {
		n.log.Error("backup failed", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// copyPatience is how long a client may take over a piece of the copy. Meanwhile
// whatever makes the database grow waits, releases too.
const copyPatience = 20 * time.Second

// copyWriter sends the copy to a client that goes on taking it, and remembers
// whether anything was sent.
type copyWriter struct {
	client http.ResponseWriter
	begun  bool
}

// Write implements [io.Writer].
func (w *copyWriter) Write(p []byte) (int, error) {
	w.begun = true
	if err := http.NewResponseController(w.client).SetWriteDeadline(time.Now().Add(copyPatience)); err != nil {
		return 0, err
	}
	return w.client.Write(p)
}

// ErrRequest: the mistake is in what was asked for, not in the node.
var ErrRequest = errors.New("node: a wrong request")

// requestError is an [ErrRequest] that says which.
type requestError struct{ error }

// Is is for [errors.Is].
func (e requestError) Is(target error) bool { return target == ErrRequest }

// Unwrap is for [errors.Is] and its kin.
func (e requestError) Unwrap() error { return e.error }

// statusCode is 400 for a wrong request, 409 for one that does not fit what is
// stored, and 500 for what the node could not do.
func statusCode(err error) int {
	if errors.Is(err, ErrRequest) {
		return http.StatusBadRequest
	}
	if errors.Is(err, storage.ErrNoRecord) || errors.Is(err, ErrImported) {
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func reply(w http.ResponseWriter, v any, err error) {
	if err != nil {
		send(w, statusCode(err), failure{Error: err.Error()})
		return
	}
	send(w, http.StatusOK, v)
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone: nothing to tell it
}
