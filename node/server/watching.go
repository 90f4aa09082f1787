package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"

	"p2pnode/node/api"
)

func routeWatching(r *routes, owner api.Watcher) {
	stream(r, operation{"GET /v1/events", api.Read, "followEvents", "What happens to the node, as server-sent events; the data of each is an Event"}, "text/event-stream",
		func(w http.ResponseWriter, q *http.Request, in *eventsInput) error {
			return sendLive(w, q, func(ctx context.Context) iter.Seq2[api.Event, error] { return owner.Events(ctx, in.after()) }, eventText, ":\n\n")
		})
	stream(r, operation{"GET /v1/logs", api.Admin, "followLogs", "The log, one line of JSON for each of its lines"}, "application/x-ndjson",
		func(w http.ResponseWriter, q *http.Request, in *logsInput) error {
			return sendLive(w, q, func(ctx context.Context) iter.Seq2[api.LogLine, error] { return owner.Logs(ctx, in.Last, in.Follow) }, lineText, "\n")
		})
	ask(r, operation{"GET /v1/logs/levels", api.Admin, "getLogLevels", "What is logged of each subsystem"}, owner.LogLevels)
	order(r, operation{"PUT /v1/logs/levels", api.Admin, "setLogLevels", "Change what is logged until the daemon ends"}, owner.SetLogLevels)
}

type eventsInput struct {
	Since  uint64 `query:"since" doc:"the ID of the last event that is known; 0: from the oldest that is kept on"`
	LastID string `header:"Last-Event-ID" doc:"the same, as browsers send it when they connect again; it wins"`
}

func (in *eventsInput) after() uint64 {
	if last, err := strconv.ParseUint(in.LastID, 10, 64); err == nil {
		return last
	}
	return in.Since
}

type logsInput struct {
	Last   int  `query:"last" default:"100" minimum:"0" doc:"lines that are kept, at most"`
	Follow bool `query:"follow" doc:"and then each as it is written"`
}

// stopping is the key, in a request's context, of the context that ends when the server
// must stop.
type stopping struct{}

// stillHere is how often a client hears from the server while nothing happens, so that
// both ends, and what is between them, notice when the other end has gone.
const stillHere = 15 * time.Second

// opening is how long an error may take to be answered as a problem. After that time the
// client is told that its request was accepted.
const opening = 200 * time.Millisecond

// sendLive sends what happens as it happens, until the client has gone or the server must
// stop. While nothing happens it sends the text nothing, which readers skip. An error
// that occurs before anything was sent is returned.
func sendLive[T any](w http.ResponseWriter, q *http.Request, live func(context.Context) iter.Seq2[T, error], text func(T) ([]byte, error), nothing string) error {
	ctx, cancel := context.WithCancel(q.Context())
	defer cancel()
	if stop, ok := ctx.Value(stopping{}).(context.Context); ok {
		defer context.AfterFunc(stop, cancel)()
	}
	out := &liveWriter{client: w}
	w.Header().Set("Cache-Control", "no-store")
	stop := out.repeat(ctx, cancel, []byte(nothing))
	defer stop()
	for v, err := range live(ctx) {
		var line []byte
		if err == nil {
			line, err = text(v)
		}
		if err != nil {
			stop() // so that nothing more is sent
			if begun(w) {
				panic(http.ErrAbortHandler)
			}
			return err
		}
		if out.send(line) != nil {
			return nil // the client has gone
		}
	}
	return nil
}

// liveWriter sends each text immediately.
type liveWriter struct {
	mu     sync.Mutex
	client http.ResponseWriter
}

func (w *liveWriter) send(text []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.client.Write(text)
	return errors.Join(err, http.NewResponseController(w.client).Flush())
}

// repeat begins the answer and sends a text from time to time, until ctx ends or the
// client has gone; in that case it calls gone. stop ends this and waits until nothing
// more is sent.
func (w *liveWriter) repeat(ctx context.Context, gone func(), text []byte) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	var sending sync.WaitGroup
	sending.Go(func() {
		var beat []byte
		for wait := opening; ; wait = stillHere {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			if w.send(beat) != nil {
				gone()
			}
			beat = text
		}
	})
	return func() { end(); sending.Wait() }
}

func eventText(e api.Event) ([]byte, error) {
	data, err := json.Marshal(e)
	return fmt.Appendf(nil, "id: %d\ndata: %s\n\n", e.ID, data), err
}

func lineText(l api.LogLine) ([]byte, error) {
	var b bytes.Buffer
	err := json.NewEncoder(&b).Encode(l)
	return b.Bytes(), err
}
