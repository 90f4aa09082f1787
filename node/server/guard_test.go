package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"p2pnode/node/api"
)

// A defect is answered, and told to the owner without what was private, and the next request
// is served.
func TestADefectIsAnswered(t *testing.T) {
	var log bytes.Buffer
	pages := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a private value") })
	h := New(Config{Owner: struct{ api.Owner }{}, Log: slog.New(slog.NewTextHandler(&log, nil)), Pages: pages}).Handler(Socket{})
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/", nil))
		if w.Code != 500 || !strings.Contains(w.Body.String(), "hint") || strings.Contains(w.Body.String(), "goroutine") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("a browser keeps the answer: %v", w.Header())
		}
	}
	if said := log.String(); strings.Contains(said, "a private value") || !strings.Contains(said, "guard_test.go") || !strings.Contains(said, `request="GET /{path...}"`) {
		t.Errorf("the log says %s", said)
	}
}
