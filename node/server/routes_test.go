package server

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/node/client"
)

// The routes stay while requests come, and are gone when none has come for a while.
func TestRoutesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Owner: client.New(client.Socket(t.TempDir() + "/none")), Log: slog.New(slog.DiscardHandler)})
		ask := func() {
			answer := httptest.NewRecorder()
			s.Handler(Socket{}).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/openapi.json", nil))
			if answer.Code != http.StatusOK {
				t.Fatalf("%d: %s", answer.Code, answer.Body)
			}
		}
		kept := func() *routes {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.made
		}
		ask()
		first := kept()
		for range 3 {
			time.Sleep(idleTimeout - time.Second)
			ask()
		}
		if kept() != first {
			t.Error("the routes are made again although requests come")
		}
		time.Sleep(idleTimeout)
		synctest.Wait()
		if kept() != nil {
			t.Error("the routes are kept although nobody asks")
		}
		ask()
	})
}

func BenchmarkRoutes(b *testing.B) {
	s := New(Config{Owner: client.New(client.Socket(b.TempDir() + "/none")), Log: slog.New(slog.DiscardHandler)})
	b.ReportAllocs()
	for b.Loop() {
		s.route()
	}
}
