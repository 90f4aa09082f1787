package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"p2pnode/node/api"
)

// label is a record's.
const label = 123456.789

// learnFrom panics while it holds a record's label.
//
//go:noinline
func learnFrom(y float64) float64 {
	fails() // the label is on the stack meanwhile
	return y
}

//go:noinline
func fails() { panic("a private value") }

// A defect is answered, and told to the owner without what was private, and the next request
// is served.
func TestADefectIsAnswered(t *testing.T) {
	var log bytes.Buffer
	pages := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { learnFrom(label) })
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
	said := log.String()
	if strings.Contains(said, "a private value") || strings.Contains(said, fmt.Sprintf("%x", math.Float64bits(label))) || !strings.Contains(said, "guard_test.go") || !strings.Contains(said, `request="GET /{path...}"`) {
		t.Errorf("the log says %s", said)
	}
}
