package server

import (
	"context"
	"iter"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/node/api"
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
