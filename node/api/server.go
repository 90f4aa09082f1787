package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"p2pnode/storage"
)

// maxRequest bounds the bytes of a request other than a file of records.
const maxRequest = 16 << 20

// SocketFile is the name of the socket in a data directory.
const SocketFile = "p2pnode.sock"

// maxSocketPath is the longest path a unix socket can have everywhere.
const maxSocketPath = 103

// failure is the body of an answer that reports an error.
type failure struct {
	Error  string        `json:"error"`
	Kind   string        `json:"kind,omitempty"`   // one of kinds
	Report *ImportReport `json:"report,omitempty"` // of an import with bad lines
}

// Listen opens the unix socket of a data directory that the caller holds, for [Serve].
// Only the user who owns the directory can reach it.
func Listen(dir string) (net.Listener, error) {
	path := filepath.Join(dir, SocketFile)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("node: the path of the socket, %s, has more than %d characters; choose a shorter data directory", path, maxSocketPath)
	}
	// The directory is held, so a socket that is there is left over.
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
func Serve(ctx context.Context, listener net.Listener, owner Owner, log *slog.Logger) error {
	ctx, left := context.WithCancel(ctx)
	defer left()
	server := &http.Server{Handler: NewHandler(owner, log, left), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
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

// NewHandler routes the requests. left is called once the node has left its neighbours.
func NewHandler(owner Owner, log *slog.Logger, left func()) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /alive", func(http.ResponseWriter, *http.Request) {})
	routeRecords(mux, owner, log)
	post(mux, "/predict", owner.Predict)
	post(mux, "/predict/rows", owner.PredictRows)
	get(mux, "/model", owner.Model)
	get(mux, "/status", owner.Status)
	get(mux, "/progress", owner.Progress)
	get(mux, "/doctor", owner.Doctor)
	get(mux, "/sums", owner.Sums)
	get(mux, "/budget", owner.Budget)
	get(mux, "/verify", owner.Verify)
	get(mux, "/ledger", owner.Ledger)
	get(mux, "/statement", owner.Statement)
	routeNeighbours(mux, owner)
	get(mux, "/benefit", owner.Benefit)
	routeLifecycle(mux, owner, log, left)
	routeWatching(mux, owner)
	return mux
}

func routeWatching(mux *http.ServeMux, owner Watcher) {
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		since, _ := strconv.ParseUint(r.URL.Query().Get("since"), 10, 64)
		serveLive(w, owner.Events(r.Context(), since))
	})
	mux.HandleFunc("GET /logs", func(w http.ResponseWriter, r *http.Request) {
		last, _ := strconv.Atoi(r.URL.Query().Get("last"))
		serveLive(w, owner.Logs(r.Context(), last, r.URL.Query().Get("follow") == "true"))
	})
	get(mux, "/logs/levels", owner.LogLevels)
	post(mux, "/logs/levels", func(ctx context.Context, l LogLevels) (struct{}, error) {
		for subsystem, level := range l {
			if err := owner.SetLogLevel(ctx, subsystem, level); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
}

// serveLive sends what happens as it does, one line of JSON each.
func serveLive[T any](w http.ResponseWriter, live iter.Seq2[T, error]) {
	sent := http.NewResponseController(w)
	_ = sent.Flush() // the client sees that its request has been taken
	for v, err := range live {
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if json.NewEncoder(w).Encode(v) != nil || sent.Flush() != nil {
			return // the client has gone
		}
	}
}

func routeRecords(mux *http.ServeMux, owner Recorder, log *slog.Logger) {
	mux.HandleFunc("GET /records", func(w http.ResponseWriter, r *http.Request) { serveRecords(w, r, owner, log) })
	mux.HandleFunc("POST /records", func(w http.ResponseWriter, r *http.Request) { serveImport(w, r, owner) })
	post(mux, "/lines", owner.Put)
	post(mux, "/imported", func(ctx context.Context, file File) (struct{}, error) {
		return struct{}{}, owner.Imported(ctx, file)
	})
	post(mux, "/delete", func(ctx context.Context, numbers []uint64) (struct{}, error) {
		return struct{}{}, owner.Delete(ctx, numbers)
	})
}

func routeNeighbours(mux *http.ServeMux, owner Networker) {
	get(mux, "/peers", owner.Peers)
	get(mux, "/neighbours", owner.Neighbours)
	get(mux, "/acquaintances", owner.Acquaintances)
	post(mux, "/peers/add", owner.AddPeer)
	post(mux, "/peers/remove", func(ctx context.Context, p string) (struct{}, error) {
		return struct{}{}, owner.RemovePeer(ctx, p)
	})
	get(mux, "/members", owner.Members)
	post(mux, "/members", func(ctx context.Context, list []byte) (struct{}, error) {
		return struct{}{}, owner.ImportMembers(ctx, list)
	})
}

func routeLifecycle(mux *http.ServeMux, owner Lifecycle, log *slog.Logger, left func()) {
	mux.HandleFunc("GET /backup", func(w http.ResponseWriter, r *http.Request) { serveBackup(w, r, owner, log) })
	post(mux, "/pause", func(ctx context.Context, reason string) (struct{}, error) {
		return struct{}{}, owner.Pause(ctx, reason)
	})
	post(mux, "/resume", func(ctx context.Context, reason string) (struct{}, error) {
		return struct{}{}, owner.Resume(ctx, reason)
	})
	post(mux, "/erase", func(ctx context.Context, confirm string) (Erased, error) {
		e, err := owner.Erase(ctx, confirm)
		if err == nil {
			left()
		}
		return e, err
	})
	post(mux, "/leave", func(ctx context.Context, _ struct{}) (Farewell, error) {
		defer left()
		ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
		defer cancel()
		return owner.Leave(ctx)
	})
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
			reply(w, nil, WrongRequest(fmt.Errorf("node: read the request: %w", err)))
			return
		}
		v, err := request(r.Context(), parameter)
		reply(w, v, err)
	})
}

func serveImport(w http.ResponseWriter, r *http.Request, owner Recorder) {
	q := r.URL.Query()
	o := ImportOptions{SkipBad: q.Get("bad") == "skip", Again: q.Get("again") == "yes", ID: q.Get("id"), Name: q.Get("name")}
	report, err := owner.Import(r.Context(), r.Body, o)
	if errors.Is(err, ErrBadLines) || errors.Is(err, ErrSomeBad) {
		send(w, http.StatusUnprocessableEntity, failure{Error: err.Error(), Report: &report})
		return
	}
	reply(w, report, err)
}

// serveRecords sends the list while it is read, one line of JSON for each record. After an
// error it breaks the connection, as serveBackup does.
func serveRecords(w http.ResponseWriter, r *http.Request, owner Recorder, log *slog.Logger) {
	out := bufio.NewWriter(w)
	lines, begun := json.NewEncoder(out), false
	for record, err := range owner.Records(r.Context(), r.URL.Query().Get("content") == "yes") {
		if err != nil && !begun {
			reply(w, nil, err)
			return
		}
		if err == nil {
			begun, err = true, lines.Encode(record)
		}
		if err != nil {
			if r.Context().Err() == nil { // the client is still there
				log.Error("list of records broke off", "error", err)
			}
			panic(http.ErrAbortHandler)
		}
	}
	_ = out.Flush() // the client has gone: nothing to tell it
}

// serveBackup streams the copy. After an error it breaks the connection, so that nobody
// takes a part for the whole.
func serveBackup(w http.ResponseWriter, r *http.Request, owner Lifecycle, log *slog.Logger) {
	out := &copyWriter{client: w}
	err := owner.Backup(r.Context(), out)
	if err != nil && !out.begun {
		reply(w, nil, err)
	} else if err != nil {
		log.Error("backup failed", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// copyTimeout is how long a client may take to receive a piece of the copy. Meanwhile every
// write that makes the database grow waits, releases too.
const copyTimeout = 20 * time.Second

// copyWriter sends the copy to the client, bounds the time of each piece, and remembers
// whether anything was sent.
type copyWriter struct {
	client http.ResponseWriter
	begun  bool
}

// Write implements [io.Writer].
func (w *copyWriter) Write(p []byte) (int, error) {
	w.begun = true
	if err := http.NewResponseController(w.client).SetWriteDeadline(time.Now().Add(copyTimeout)); err != nil {
		return 0, err
	}
	return w.client.Write(p)
}

// statusCode is 400 for a wrong request, 409 for one that does not fit what is
// stored, and 500 for what the node could not do.
func statusCode(err error) int {
	if errors.Is(err, ErrRequest) {
		return http.StatusBadRequest
	}
	if errors.Is(err, storage.ErrNoRecord) || errors.Is(err, ErrImported) || errors.Is(err, ErrChanged) {
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func reply(w http.ResponseWriter, v any, err error) {
	if err != nil {
		send(w, statusCode(err), failure{Error: err.Error(), Kind: kindOf(err)})
		return
	}
	send(w, http.StatusOK, v)
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone: nothing to tell it
}
