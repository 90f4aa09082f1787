package server

import (
	"context"
	"iter"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/logs"
)

// Who follows the events hears of the server while nothing happens, and nothing after the end.
func TestQuietEventsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		quiet := func(ctx context.Context) iter.Seq2[api.Event, error] {
			return func(yield func(api.Event, error) bool) {
				if yield(api.Event{ID: 7}, nil) {
					<-ctx.Done()
				}
			}
		}
		answer := httptest.NewRecorder()
		done := make(chan error)
		go func() {
			done <- sendLive(answer, httptest.NewRequestWithContext(ctx, "GET", "/v1/events", nil), quiet,
				func(api.Event) ([]byte, error) { return []byte("event\n"), nil }, ":\n\n")
		}()
		time.Sleep(2*stillHere + time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := answer.Body.String(); got != "event\n:\n\n:\n\n" {
			t.Errorf("%q was sent in %v; want an event, and twice that the server is there", got, 2*stillHere)
		}
		time.Sleep(time.Hour)
	})
}

// logging is an owner with a log.
type logging struct {
	api.Owner
	log *logs.Log
}

// SetLogLevels implements [api.Watcher].
func (o logging) SetLogLevels(_ context.Context, levels api.LogLevels) error {
	return o.log.SetLevels(levels)
}

// A level for all, beside those of some subsystems, is that of the others, each time.
func TestLevelsOfSomeAndOfAll(t *testing.T) {
	owner := logging{log: logs.New(slog.DiscardHandler, slog.LevelInfo)}
	h := New(Config{Owner: owner, Log: slog.New(slog.DiscardHandler)}).Handler(Socket{})
	for range 20 {
		r := httptest.NewRequestWithContext(t.Context(), "PUT", "http://localhost/v1/logs/levels", strings.NewReader(`{"api": "debug", "all": "error", "sums": "debug"}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := owner.log.Levels(); w.Code != 204 || got["api"] != "debug" || got["sums"] != "debug" || got["node"] != "error" {
			t.Fatalf("%d %s: the levels are %v", w.Code, w.Body, got)
		}
	}
}
