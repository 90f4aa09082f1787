package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"p2pnode/node/api"
	"p2pnode/node/server"
)

// Whatever a stranger sends to the port of a node's interface, also as somebody who may read,
// nothing is told or done that she may not know or do, and the server goes on.
func FuzzRequests(f *testing.F) {
	o := offer(f, false)
	secret := o.token(f, api.Read)
	for route := range scopes {
		method, path, _ := strings.Cut(route, " ")
		f.Add(method+" "+strings.NewReplacer("{number}", "7", "{peer}", "x", "{id}", "y").Replace(path), "application/json", `{"a":1}`, true)
	}
	f.Add("GET /v1/status", "", "", false)
	f.Add("POST /v1/records/stream", "text/csv", "a,y\n1,2\n", true)
	f.Add("GET /../v1/backup?x=%00", "*/*", "{", true)
	handler := o.server.Handler(server.NewBearer(o.tokens, nil)) // a panic becomes a 500 there
	open := func(r *http.Request) bool {
		return r.URL.Path == "/" || !strings.HasPrefix(r.URL.Path, "/v1/") && r.URL.Path != "/metrics"
	}
	f.Fuzz(func(t *testing.T, line, media, body string, reads bool) {
		method, target, _ := strings.Cut(line, " ")
		r, err := http.NewRequest(method, o.url, strings.NewReader(body))
		if err != nil {
			return
		}
		if r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?"); !strings.HasPrefix(r.URL.Path, "/") || strings.HasPrefix(r.URL.Path, "/v1/events") || strings.HasPrefix(r.URL.Path, "/v1/logs") {
			return // these go on until the reader leaves
		}
		r.Header["Content-Type"] = []string{media}
		if reads {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		r.RemoteAddr = "192.0.2.1:4321"
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		done := answer.Code < 300 && !open(r)
		if done && (!reads || method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions && r.URL.Path != "/v1/session") {
			t.Fatalf("%s %q with a token %v: %d", method, r.URL.Path, reads, answer.Code)
		}
		if answer.Code == http.StatusInternalServerError {
			t.Fatalf("%s %q: %d", method, r.URL.Path, answer.Code)
		}
	})
}
