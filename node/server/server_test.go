package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/docs"
	"p2pnode/internal/require"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/client"
	"p2pnode/node/datadir"
	"p2pnode/node/server"
	"p2pnode/node/tokens"
)

// line is a task with one feature.
const line = `name = "line"
features = [{name = "a", kind = "number", min = -1.0, max = 1.0}]
target = {name = "y", min = -3.0, max = 3.0}
`

// offered is a node's interface on a network.
type offered struct {
	url    string
	tokens *tokens.Store
	server *server.Server
	files  datadir.Files
}

// offer serves a fresh node over TCP until the test ends; with TLS by the node's key.
func offer(t testing.TB, overTLS bool) *offered {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "node")
	task, err := datadir.ParseTask([]byte(line))
	require.NoError(t, err)
	require.NoError(t, datadir.Init(dir, task, datadir.DefaultConfig(task)))
	n, err := node.Open(dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	o := &offered{tokens: new(tokens.Store)}
	o.tokens, err = tokens.Open("")
	require.NoError(t, err)
	o.files, err = datadir.Read(dir)
	require.NoError(t, err)
	pages := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a page") })
	o.server = server.New(server.Config{Owner: n, Log: slog.New(slog.DiscardHandler), Tokens: o.tokens, Ready: n.Ready, Left: func() {}, Pages: pages, Metrics: pages})
	var certificate *tls.Certificate
	o.url = "http://"
	if overTLS {
		c, err := server.Certificate(o.files.Key)
		require.NoError(t, err)
		certificate, o.url = &c, "https://"
	}
	listener, err := server.ListenNetwork("127.0.0.1:0", certificate)
	require.NoError(t, err)
	o.url += listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- o.server.Serve(ctx, listener, server.NewBearer(o.tokens, []string{"node.example:8467"}))
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served, n.Close())
	})
	return o
}

func (o *offered) token(t testing.TB, scopes ...api.Scope) string {
	t.Helper()
	made, err := o.tokens.Issue(api.TokenWish{Name: "test", Scopes: scopes}, 0)
	require.NoError(t, err)
	return made.Secret
}

// ask makes a request and returns the answer, whose body it closes.
func (o *offered) ask(t *testing.T, method, path string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var body io.Reader = strings.NewReader("{}")
	if method == http.MethodGet {
		body = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, o.url+path, body)
	require.NoError(t, err)
	if change != nil {
		change(r)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		return answer, ""
	}
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(text)
}

func bearer(secret string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }
}

// scopes is what each path asks for. A path that is added must be here, and state in its
// description what is here.
var scopes = map[string]api.Scope{
	"GET /healthz": api.Open, "GET /readyz": api.Open, "POST /v1/session": api.Open,
	"DELETE /v1/session": api.Read, "GET /v1/openapi.json": api.Read, "GET /v1/status": api.Read, "GET /v1/benefit": api.Read,
	"GET /v1/doctor": api.Read, "GET /v1/neighbours": api.Read, "GET /v1/peers": api.Read, "GET /v1/peers/why": api.Read, "GET /v1/evidence": api.Read, "GET /v1/members": api.Read,
	"GET /v1/budget": api.Read, "GET /v1/budget/verification": api.Read, "GET /v1/budget/ledger": api.Read, "GET /v1/budget/statement": api.Read,
	"GET /v1/sums": api.Read, "GET /v1/events": api.Read,
	"GET /v1/records": api.Data, "POST /v1/records": api.Data, "POST /v1/records/stream": api.Data, "POST /v1/records/file": api.Data, "POST /v1/records/lines": api.Data, "POST /v1/records/imported": api.Data,
	"POST /v1/records/delete": api.Data, "DELETE /v1/records/{number}": api.Data, "POST /v1/predict": api.Data, "POST /v1/predict/rows": api.Data, "GET /v1/model": api.Data,
	"POST /v1/peers": api.Admin, "DELETE /v1/peers/{peer}": api.Admin, "PUT /v1/members": api.Admin, "POST /v1/pause": api.Admin, "POST /v1/resume": api.Admin,
	"GET /v1/logs": api.Admin, "GET /v1/logs/levels": api.Admin, "PUT /v1/logs/levels": api.Admin, "GET /v1/backup": api.Admin,
	"POST /v1/leave": api.Admin, "POST /v1/erase": api.Admin, "GET /v1/tokens": api.Admin, "POST /v1/tokens": api.Admin, "DELETE /v1/tokens/{id}": api.Admin,
	"POST /v1/session/code": api.Admin,
}

// described lists the paths of the description, with the scopes it states.
func described(t *testing.T) map[string]api.Scope {
	t.Helper()
	var d struct {
		Paths map[string]map[string]struct {
			Security []map[string][]api.Scope `json:"security"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(docs.OpenAPI, &d))
	out := make(map[string]api.Scope)
	for path, methods := range d.Paths {
		for method, o := range methods {
			out[strings.ToUpper(method)+" "+path] = api.Open
			if len(o.Security) > 0 {
				out[strings.ToUpper(method)+" "+path] = o.Security[0]["token"][0]
			}
		}
	}
	return out
}

// Each path answers those who may ask it, and refuses all others, by the header and by what
// the answer says.
func TestScopes(t *testing.T) {
	o := offer(t, false)
	for route, scope := range described(t) {
		if want, listed := scopes[route]; !listed || want != scope {
			t.Errorf("%s has the scope %q; the table says %q, %v", route, scope, want, listed)
		}
	}
	secrets := map[api.Scope]string{api.Read: o.token(t, api.Read), api.Data: o.token(t, api.Data), api.Admin: o.token(t, api.Admin)}
	all := map[string]api.Scope{"GET /metrics": api.Read, "GET /": api.Open, "GET /app.js": api.Open}
	for route, scope := range scopes {
		all[route] = scope
	}
	for route, wanted := range all {
		method, path, _ := strings.Cut(route, " ")
		path = strings.NewReplacer("{number}", "77", "{peer}", "nobody", "{id}", "none").Replace(path)
		for _, has := range []api.Scope{"", "wrong", api.Read, api.Data, api.Admin} {
			answer, text := o.ask(t, method, path, func(r *http.Request) {
				if has != "" {
					r.Header.Set("Authorization", "Bearer "+secrets[has])
				}
			})
			switch may := wanted == api.Open || has == wanted || has == api.Admin; {
			case route == "POST /v1/session": // without a code nobody is
				if answer.StatusCode != http.StatusUnprocessableEntity {
					t.Errorf("%s: %s", route, answer.Status)
				}
			case may && (answer.StatusCode == 401 || answer.StatusCode == 403 || answer.StatusCode == 405):
				t.Errorf("%s with %q: %s %s", route, has, answer.Status, text)
			case !may && (has == "" || has == "wrong") && (answer.StatusCode != 401 && answer.StatusCode != 429 || answer.StatusCode == 401 && answer.Header.Get("WWW-Authenticate") != "Bearer"):
				t.Errorf("%s with %q: %s %s", route, has, answer.Status, text)
			case !may && (has == api.Read || has == api.Data) && (answer.StatusCode != 403 || !strings.Contains(text, `"kind":"scope"`)):
				t.Errorf("%s with %q: %s %s", route, has, answer.Status, text)
			}
		}
	}
}

// Whoever takes all that needs no token leaves an equal part to others who come from
// elsewhere, and everybody learns how the daemon is, who takes all included.
func TestOpenRequestsAreShared(t *testing.T) {
	o := offer(t, false)
	handler := o.server.Handler(server.NewBearer(o.tokens, []string{"node.example:8467"}))
	ask := func(from, method, path string) int {
		r := httptest.NewRequest(method, "http://node.example:8467"+path, strings.NewReader("{}"))
		r.RemoteAddr = from + ":4000"
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	const greedy, modest = "203.0.113.9", "198.51.100.7"
	for asked := 0; ask(greedy, "GET", "/app.js") != http.StatusTooManyRequests; asked++ {
		if asked > 100_000 {
			t.Fatal("nothing limits what one address asks")
		}
	}
	for range 20 {
		if got := ask(modest, "GET", "/app.js"); got != http.StatusOK {
			t.Errorf("a page for another address: %d", got)
		}
		if got := ask(modest, "POST", "/v1/session"); got != http.StatusUnprocessableEntity {
			t.Errorf("a session for another address: %d", got)
		}
	}
	// More addresses of one network than there are requests leave a part to other networks.
	for i := range 2000 {
		ask(fmt.Sprintf("203.0.%d.%d", i%8, i%250), "GET", "/app.js")
	}
	if got := ask(modest, "GET", "/app.js"); got != http.StatusOK {
		t.Errorf("a page beside a network that asks for many: %d", got)
	}
	for range 1000 {
		if alive, ready := ask(greedy, "GET", "/healthz"), ask(greedy, "GET", "/readyz"); alive >= 300 || ready != http.StatusServiceUnavailable {
			t.Fatalf("a probe is answered %d and %d", alive, ready)
		}
	}
}

// A revoked token is refused at once, and wrong ones are limited while right ones go on, and
// others from elsewhere learn that theirs is wrong.
func TestWrongTokensAreLimited(t *testing.T) {
	o := offer(t, false)
	secret := o.token(t, api.Read)
	handler := o.server.Handler(server.NewBearer(o.tokens, []string{"node.example:8467"}))
	wrong := func(from string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://node.example:8467/v1/openapi.json", nil)
		r.RemoteAddr = from
		bearer("p2pnode_wrong")(r)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	limited := 0
	for range 1000 {
		if w := wrong("203.0.113.9:4000"); w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "" {
			limited++
		}
	}
	if limited < 100 {
		t.Errorf("%d of 1000 wrong tokens were put off", limited)
	}
	if w := wrong("198.51.100.7:4000"); w.Code != http.StatusUnauthorized {
		t.Errorf("from elsewhere a wrong token is answered by %d", w.Code)
	}
	if answer, text := o.ask(t, "GET", "/v1/openapi.json", bearer(secret)); answer.StatusCode != 200 {
		t.Errorf("a right token meanwhile: %s %s", answer.Status, text)
	}
	require.NoError(t, o.tokens.Revoke(o.tokens.List()[0].ID))
	if answer, _ := o.ask(t, "GET", "/v1/openapi.json", bearer(secret)); answer.StatusCode != 401 && answer.StatusCode != 429 {
		t.Errorf("a revoked token: %s", answer.Status)
	}
}

// The name of the scheme has no case, and any number of blanks follow it (RFC 9110).
func TestTokensAreShownInAnyCase(t *testing.T) {
	o := offer(t, false)
	secret := o.token(t, api.Read)
	for shown, want := range map[string]int{"bearer " + secret: 200, "BEARER   " + secret: 200, "Basic " + secret: 401, "Bearer": 401, secret: 401} {
		answer, text := o.ask(t, "GET", "/v1/openapi.json", func(r *http.Request) { r.Header.Set("Authorization", shown) })
		if answer.StatusCode != want {
			t.Errorf("%q: %s %.200s, want %d", strings.ReplaceAll(shown, secret, "SECRET"), answer.Status, text, want)
		}
	}
}

// Pages elsewhere, and names that somebody points at this machine, get nothing.
func TestHostAndOrigin(t *testing.T) {
	o := offer(t, false)
	secret := o.token(t, api.Admin)
	port := o.url[strings.LastIndex(o.url, ":"):]
	for _, c := range []struct {
		what   string
		change func(*http.Request)
		want   int
	}{
		{"as it is", func(*http.Request) {}, 200},
		{"localhost", func(r *http.Request) { r.Host = "localhost" + port }, 200},
		{"a name that is configured", func(r *http.Request) { r.Host = "NODE.example:8467" }, 200},
		{"a name that is not", func(r *http.Request) { r.Host = "evil.example" + port }, 403},
		{"another port", func(r *http.Request) { r.Host = "127.0.0.1:1" }, 403},
		{"no port", func(r *http.Request) { r.Host = "127.0.0.1" }, 403},
		{"the own origin", func(r *http.Request) { r.Header.Set("Origin", o.url) }, 200},
		{"another origin", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		{"another port's origin", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		{"no origin that has a name", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
	} {
		if answer, text := o.ask(t, "GET", "/v1/status?fit=false", func(r *http.Request) { bearer(secret)(r); c.change(r) }); answer.StatusCode != c.want {
			t.Errorf("%s: %s %s, want %d", c.what, answer.Status, text, c.want)
		}
	}
	cross := func(r *http.Request) { bearer(secret)(r); r.Header.Set("Sec-Fetch-Site", "cross-site") }
	if answer, _ := o.ask(t, "POST", "/v1/pause", cross); answer.StatusCode != 403 {
		t.Errorf("another site changes something: %s", answer.Status)
	}
}

// The socket serves programs, not pages, and only by its name.
func TestSocketRefusesPages(t *testing.T) {
	h := offer(t, false).server.Handler(server.Socket{})
	for _, c := range []struct {
		host, header string
		want         int
	}{{"localhost", "", 200}, {"localhost", "Origin", 403}, {"localhost", "Referer", 403}, {"evil.example", "", 403}, {"", "", 403}, {"localhost:80", "", 403}} {
		w := &recorder{header: http.Header{}}
		r, err := http.NewRequest("GET", "http://localhost/v1/status?fit=false", nil)
		require.NoError(t, err)
		r.Host = c.host
		if c.header != "" {
			r.Header.Set(c.header, "http://localhost/")
		}
		h.ServeHTTP(w, r)
		if w.status != c.want {
			t.Errorf("host %q, header %q: %d, want %d", c.host, c.header, w.status, c.want)
		}
	}
}

type recorder struct {
	header http.Header
	status int
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) Write(p []byte) (int, error) { return len(p), nil }
func (w *recorder) WriteHeader(status int)      { w.status = status }

// A code begins one session, whose cookie no script and no other site uses. A server at
// another port, which is sent the cookie, lacks the key.
func TestSession(t *testing.T) {
	o := offer(t, false)
	begin := func(code string) (*http.Response, string) {
		return o.ask(t, "POST", "/v1/session", func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"code": %q}`, code)))
			r.ContentLength = -1
			r.Header.Set("Origin", o.url)
		})
	}
	code := o.server.Code().Code
	if answer, text := begin("wrong"); answer.StatusCode != 401 || len(answer.Cookies()) != 0 {
		t.Errorf("a wrong code: %s %s", answer.Status, text)
	}
	answer, text := begin(code)
	if answer.StatusCode != 200 || len(answer.Cookies()) != 1 {
		t.Fatalf("%s %s, cookies %v", answer.Status, text, answer.Cookies())
	}
	cookie, key := answer.Cookies()[0], api.Session{}
	if err := json.Unmarshal([]byte(text), &key); err != nil || key.Key == "" || strings.Contains(cookie.Value, key.Key) {
		t.Errorf("the key: %v in %s", err, text)
	}
	for _, wrong := range []string{"", "x", cookie.Value} {
		answer, text := o.ask(t, "GET", "/v1/status?fit=false", func(r *http.Request) {
			r.AddCookie(cookie)
			r.Header.Set("P2pnode-Session", wrong)
		})
		if answer.StatusCode != 401 {
			t.Errorf("the cookie with the key %q: %s %s", wrong, answer.Status, text)
		}
	}
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge <= 0 {
		t.Errorf("the cookie is %v", cookie)
	}
	if answer, _ := begin(code); answer.StatusCode != 401 {
		t.Errorf("a code that was used: %s", answer.Status)
	}
	for _, c := range []struct {
		method, path, origin, site string
		want                       int
	}{
		{"GET", "/v1/status?fit=false", "", "same-origin", 200},
		{"GET", "/v1/status?fit=false", "", "", 200},
		{"GET", "/v1/status?fit=false", "", "same-site", 403},
		{"GET", "/v1/status?fit=false", "", "cross-site", 403},
		{"DELETE", "/v1/tokens/none", o.url, "same-origin", 404},
		{"DELETE", "/v1/tokens/none", o.url, "", 404},
		{"DELETE", "/v1/tokens/none", "", "same-site", 403},
		{"DELETE", "/v1/tokens/none", "", "", 403},
		{"DELETE", "/v1/session", o.url, "same-origin", 204},
		{"GET", "/v1/status?fit=false", "", "same-origin", 401},
	} {
		answer, text := o.ask(t, c.method, c.path, func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: "p2pnode-session-of-another", Value: "x"})
			r.AddCookie(cookie)
			r.Header.Set("P2pnode-Session", key.Key)
			for name, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
		})
		if answer.StatusCode != c.want {
			t.Errorf("%+v: %s %s", c, answer.Status, text)
		}
	}
}

// The server does not wait for a client that sends too much, or nothing.
func TestSizesAndTimes(t *testing.T) {
	o := offer(t, false)
	secret := o.token(t, api.Admin)
	answer, text := o.ask(t, "POST", "/v1/predict", func(r *http.Request) {
		bearer(secret)(r)
		r.Body, r.ContentLength = io.NopCloser(io.LimitReader(endless{}, 16<<20)), 16<<20
	})
	if answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large request: %s %s", answer.Status, text)
	}
	heavy := `{"records": [` + strings.Repeat(`{"": 1}, `, 100_000) + "{}]}"
	answer, text = o.ask(t, "POST", "/v1/records", func(r *http.Request) {
		bearer(secret)(r)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(heavy)), int64(len(heavy))
	})
	if answer.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "send it in parts") {
		t.Errorf("a request of many objects: %s %.1000s", answer.Status, text)
	}
	answer, text = o.ask(t, "POST", "/v1/records/file", func(r *http.Request) { bearer(secret)(r); r.Header.Set("Content-Type", "image/png") })
	if answer.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(text, "hint") {
		t.Errorf("a picture: %s %s", answer.Status, text)
	}
	rows := `{"rows": [` + strings.Repeat("1, ", 5000) + "1]}"
	answer, text = o.ask(t, "POST", "/v1/predict/rows", func(r *http.Request) {
		bearer(secret)(r)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(rows)), int64(len(rows))
	})
	if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, "body.rows[0] expected object") || len(text) > 1000 {
		t.Errorf("a mistake in each row: %s, %d bytes: %.1000s", answer.Status, len(text), text)
	}
}

// Strangers make the server read little.
func TestRequestsOfStrangersAreSmall(t *testing.T) {
	o := offer(t, false)
	for _, c := range []struct{ size, want int }{{2 << 10, http.StatusUnprocessableEntity}, {8 << 10, http.StatusRequestEntityTooLarge}} {
		answer, text := o.ask(t, "POST", "/v1/session", func(r *http.Request) {
			body := `{"code": [` + strings.Repeat("1,", c.size/2) + `1]}`
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		})
		if answer.StatusCode != c.want {
			t.Errorf("%d bytes: %s %s", c.size, answer.Status, text)
		}
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// What does not fit the node, is not there, or is asked in the wrong way have a status each.
func TestStatuses(t *testing.T) {
	t.Parallel()
	o := offer(t, false)
	token := o.token(t, api.Admin)
	for _, c := range []struct {
		method, path string
		want         int
		says         string
	}{
		{"GET", "/v1/sums", http.StatusConflict, "has no private sums"},
		{"GET", "/v1/members", http.StatusConflict, "has joined no private network"},
		{"DELETE", "/v1/records/77", http.StatusNotFound, "no such record"},
		{"GET", "/v1/nothing", http.StatusNotFound, `nothing to ask for here"`},
		{"POST", "/v1/nothing", http.StatusNotFound, `nothing to ask for here"`},
		{"DELETE", "/v1/status", http.StatusMethodNotAllowed, "nothing to ask for here with DELETE"},
		{"GET", "/v1/predict", http.StatusMethodNotAllowed, "ask with POST"},
	} {
		answer, text := o.ask(t, c.method, c.path, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
		if answer.StatusCode != c.want || !strings.Contains(text, c.says) || answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %s, %s", c.method, c.path, answer.Status, text)
		}
	}
}

// Who asks for a path with another method is told with which ones it may be asked.
func TestAnotherMethod(t *testing.T) {
	o := offer(t, false)
	for path, may := range map[string]string{
		"/v1/predict": "POST", "/v1/predict/rows": "POST", "/v1/pause": "POST", "/v1/resume": "POST", "/v1/records/file": "DELETE, POST", "/v1/session": "DELETE, POST",
		"/v1/records": "GET, HEAD, POST", "/v1/logs/levels": "GET, HEAD, PUT", "/v1/status": "GET, HEAD", "/metrics": "GET, HEAD", "/healthz": "GET, HEAD", "/": "GET, HEAD", "/app.js": "GET, HEAD",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH"} {
			if strings.Contains(may, method) {
				continue
			}
			answer, text := o.ask(t, method, path, nil)
			if answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != may || !strings.Contains(text, "ask with "+may+";") {
				t.Errorf("%s %s: %s, Allow %q, want %q: %s", method, path, answer.Status, answer.Header.Get("Allow"), may, text)
			}
		}
	}
}

// Without pages too a wrong method is told from a wrong path, and a node that is not ready says
// what to do.
func TestWithoutPages(t *testing.T) {
	h := server.New(server.Config{Owner: noOwner{}, Log: slog.New(slog.DiscardHandler), Ready: func() error { return errors.New("no such socket") }}).Handler(server.Socket{})
	for ask, want := range map[string]string{
		"POST /healthz": "405 GET, HEAD", "PUT /readyz": "405 GET, HEAD", "GET /readyz": "503 ", "POST /": "404 ", "GET /nothing": "404 ", "GET /healthz": "204 ",
	} {
		method, path, _ := strings.Cut(ask, " ")
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(method, "http://localhost"+path, nil))
		if got := fmt.Sprint(answer.Code, " ", answer.Header().Get("Allow")); got != want {
			t.Errorf("%s: %s, want %s", ask, got, want)
		}
		if answer.Code == http.StatusServiceUnavailable && !strings.Contains(answer.Body.String(), `"hint":"wait a moment, or start the daemon"`) {
			t.Errorf("%s: %s", ask, answer.Body)
		}
	}
}

// noOwner owns nothing.
type noOwner struct{ api.Owner }

// A request that breaks off is answered with what is wrong with it, in words.
func TestABodyThatBreaksOff(t *testing.T) {
	o := offer(t, false)
	host := strings.TrimPrefix(o.url, "http://")
	secret := o.token(t, api.Data)
	for _, route := range []string{"/v1/predict", "/v1/records", "/v1/records/file", "/v1/records/stream", "/v1/session"} {
		for _, body := range []string{"Content-Length: 100\r\n\r\n{\"a\": 0", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", "Transfer-Encoding: chunked\r\n\r\nno chunk\r\n"} {
			conn, err := net.Dial("tcp", host)
			require.NoError(t, err)
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s", route, host, secret, body)
			require.NoError(t, err, conn.(*net.TCPConn).CloseWrite(), conn.SetReadDeadline(time.Now().Add(time.Minute)))
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err, answer.Body.Close(), conn.Close())
			if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), `"detail":"the body of the request breaks off before its end","hint":"send `) {
				t.Errorf("%s with %q: %s %s", route, body, answer.Status, text)
			}
		}
	}
}

// A request whose rest does not come is answered after a while, and its connection is over,
// whether anything reads the rest or not.
func TestSlowClients(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it waits twenty seconds")
	}
	t.Parallel()
	o := offer(t, false)
	host := strings.TrimPrefix(o.url, "http://")
	right := fmt.Sprintf("%s\r\nAuthorization: Bearer %s", host, o.token(t, api.Admin))
	for _, c := range []struct {
		what, route, host string
		want              int
	}{
		{"half a request", "POST /v1/predict", right, http.StatusRequestTimeout},
		{"half a file", "POST /v1/records/file", right, http.StatusRequestTimeout},
		{"no token", "POST /v1/predict", host, http.StatusUnauthorized},
		{"another host", "POST /v1/predict", "evil.example", http.StatusForbidden},
		{"a page", "GET /", host, http.StatusOK},
		{"no route", "POST /v1/nothing", host, http.StatusNotFound},
		{"a body that nobody reads", "DELETE /v1/tokens/none", right, http.StatusNotFound},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", host)
			require.NoError(t, err)
			defer conn.Close()
			_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\n{", c.route, c.host)
			require.NoError(t, err, conn.SetReadDeadline(time.Now().Add(time.Minute)))
			from := bufio.NewReader(conn)
			answer, err := http.ReadResponse(from, nil)
			require.NoError(t, err)
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err, answer.Body.Close())
			if answer.StatusCode != c.want || strings.Contains(string(text), "127.0.0.1") {
				t.Errorf("%s, want %d: %s", answer.Status, c.want, text)
			}
			if _, err := from.ReadByte(); err != io.EOF {
				t.Errorf("the connection goes on: %v", err)
			}
		})
	}
}

// A client that sends the whole of a file before it looks at the answer learns why the file was
// refused at its start.
func TestRefusedFile(t *testing.T) {
	o := offer(t, false)
	host := strings.TrimPrefix(o.url, "http://")
	conn, err := net.Dial("tcp", host)
	require.NoError(t, err)
	defer conn.Close()
	const size = 16 << 20
	_, err = fmt.Fprintf(conn, "POST /v1/records/file HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", host, o.token(t, api.Admin), size)
	require.NoError(t, err)
	_, err = conn.Write(make([]byte, size))
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err, answer.Body.Close())
	if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "bytes of 0") {
		t.Errorf("%s: %s", answer.Status, text)
	}
}

// Over TLS a client knows the node by its peer ID, and talks to no other.
func TestPinnedPeer(t *testing.T) {
	o := offer(t, true)
	id, err := peer.IDFromPrivateKey(o.files.Key)
	require.NoError(t, err)
	other, err := peer.Decode("12D3KooWKRyzVWW6ChFjQjK4miCty85Niy48tpPV95XdKu1BcvMA")
	require.NoError(t, err)
	secret := o.token(t, api.Read)
	for _, c := range []struct {
		what   string
		remote client.Remote
		right  bool
	}{
		{"the node", client.Remote{URL: o.url, Token: secret, Peer: id}, true},
		{"another peer", client.Remote{URL: o.url, Token: secret, Peer: other}, false},
		{"a certificate that nobody vouches for", client.Remote{URL: o.url, Token: secret}, false},
		{"no token", client.Remote{URL: o.url, Peer: id}, false},
	} {
		asks, err := client.NewRemote(c.remote)
		require.NoError(t, err)
		if s, err := asks.Progress(t.Context()); (err == nil) != c.right || c.right && s.Peer != id.String() {
			t.Errorf("%s: %v", c.what, err)
		}
		require.NoError(t, asks.Close())
	}
	for _, wrong := range []client.Remote{{URL: "http://192.0.2.1:8467"}, {URL: "http://127.0.0.1:1", Peer: id}, {URL: "127.0.0.1:1"}, {URL: "ftp://x"}, {URL: "https://x/path"}} {
		if _, err := client.NewRemote(wrong); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// A stream that cannot begin is answered with what is wrong.
func TestAStreamThatCannotBegin(t *testing.T) {
	o := offer(t, false)
	answer, text := o.ask(t, http.MethodGet, "/v1/logs?follow=true", bearer(o.token(t, api.Admin)))
	if answer.StatusCode != http.StatusBadRequest || answer.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(text, "only a daemon keeps its log") {
		t.Errorf("%s %v: %s", answer.Status, answer.Header, text)
	}
}

// Events come as they happen, and again after the last one that was seen.
func TestEvents(t *testing.T) {
	o := offer(t, false)
	secret := o.token(t, api.Admin)
	asks, err := client.NewRemote(client.Remote{URL: o.url, Token: secret})
	require.NoError(t, err)
	_, err = asks.Put(t.Context(), api.Lines{From: 1, Lines: []string{`{"a": "0.2", "y": "1"}`}})
	require.NoError(t, err)
	var last api.Event
	for e, err := range asks.Events(t.Context(), 0) {
		require.NoError(t, err)
		if last = e; e.Kind == api.EventImported {
			break
		}
	}
	require.NoError(t, asks.Delete(t.Context(), []uint64{1}))
	r, err := http.NewRequestWithContext(t.Context(), "GET", o.url+"/v1/events?since=0", nil)
	require.NoError(t, err)
	bearer(secret)(r)
	r.Header.Set("Last-Event-ID", fmt.Sprint(last.ID))
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	second, err := lines.ReadString('\n')
	require.NoError(t, err)
	if first != fmt.Sprintf("id: %d\n", last.ID+1) || !strings.HasPrefix(second, "data: {") || !strings.Contains(second, string(api.EventDeleted)) {
		t.Errorf("%q, %q after %d", first, second, last.ID)
	}
}

// Who follows what happens, and who streams records, does so no more once the token is revoked.
func TestRevokedTokensEndStreams(t *testing.T) {
	o := offer(t, false)
	begin := func(method, path string, body io.Reader, scope api.Scope) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, o.url+path, body)
		require.NoError(t, err)
		bearer(o.token(t, scope))(r)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	lines, feed := io.Pipe()
	go func() { _, _ = feed.Write([]byte(`{"a": "0.1", "y": "1"}` + "\n")) }()
	events, records := begin("GET", "/v1/events", nil, api.Read), begin("POST", "/v1/records/stream", lines, api.Data)
	var first api.LineOutcome
	said := json.NewDecoder(records.Body)
	require.NoError(t, said.Decode(&first))
	for _, made := range o.tokens.List() {
		require.NoError(t, o.tokens.Revoke(made.ID))
	}
	ended := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, events.Body); ended <- err }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Error("the events go on")
	}
	var last struct{ Error api.Problem }
	go func() { ended <- said.Decode(&last) }()
	select {
	case err := <-ended:
		if err != nil || last.Error.Status != http.StatusUnauthorized {
			t.Errorf("the stream does not end with what is wrong: %+v, %v", last, err)
		}
		if err := said.Decode(&last); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("after its last line the stream ends with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the daemon still waits for records")
	}
	require.NoError(t, feed.Close())
	if life := o.tokens.Life("none"); life.Err() == nil {
		t.Error("a token that is not there may be used")
	}
}

// Where the pages come from another process than the daemon, that one says that it is gone.
func TestDaemonIsGone(t *testing.T) {
	gone := client.New(client.Socket(filepath.Join(t.TempDir(), "none")))
	h := server.New(server.Config{Owner: gone, Log: slog.New(slog.DiscardHandler)}).Handler(server.Socket{})
	w := &recorder{header: http.Header{}}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/status", nil)
	require.NoError(t, err)
	if h.ServeHTTP(w, r); w.status != http.StatusBadGateway {
		t.Errorf("%d", w.status)
	}
}

// halfAList is an owner whose list of records fails after its first one.
type halfAList struct{ api.Owner }

func (halfAList) Records(context.Context, bool) iter.Seq2[api.RecordInfo, error] {
	return func(yield func(api.RecordInfo, error) bool) {
		if yield(api.RecordInfo{Number: 1}, nil) {
			yield(api.RecordInfo{}, errors.New("the disk is on fire"))
		}
	}
}

// A list of records that fails before any of it was sent is answered with what is wrong.
func TestListOfRecordsThatFails(t *testing.T) {
	h := server.New(server.Config{Owner: halfAList{}, Log: slog.New(slog.DiscardHandler)}).Handler(server.Socket{})
	w := &recorder{header: http.Header{}}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/records", nil)
	require.NoError(t, err)
	if h.ServeHTTP(w, r); w.status != http.StatusInternalServerError {
		t.Errorf("%d", w.status)
	}
}

// A number that no program could hold is named, with its place: a request can be long.
func TestNumberThatIsTooLarge(t *testing.T) {
	o := offer(t, false)
	answer, text := o.ask(t, "POST", "/v1/records", func(r *http.Request) {
		bearer(o.token(t, api.Data))(r)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"records": [{"a": 0.5, "y": 1}, {"a": 1e400, "y": 1}]}`)), -1
	})
	if answer.StatusCode != http.StatusBadRequest || !strings.Contains(text, "number 1e400 before byte 45") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// A request that comes again with its key stores nothing twice. Another program's key is
// another one.
func TestIdempotencyKey(t *testing.T) {
	o := offer(t, false)
	secret := o.token(t, api.Data)
	other := o.token(t, api.Data)
	columns := map[string]string{"column": "a", "both": "a", "the header's column": "Idempotency-Key"}
	add := func(key, records string) (status int, outcomes string) {
		answer, text := o.ask(t, "POST", "/v1/records", func(r *http.Request) {
			bearer(secret)(r)
			if key == "other" {
				bearer(other)(r)
				key = "first"
			}
			id, named := columns[key]
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"id": "`+id+`", "records": `+records+`}`)), -1
			if key != "" && (!named || key == "both") {
				r.Header.Set("Idempotency-Key", key)
			}
		})
		var a api.Acknowledgement
		if answer.StatusCode == 200 {
			require.NoError(t, json.Unmarshal([]byte(text), &a))
		}
		for _, l := range a.Lines {
			outcomes += l.Outcome + " "
		}
		return answer.StatusCode, outcomes
	}
	const two = `[{"a": "0.5", "y": "1"}, {"a": 0.25, "y": 2}]`
	for i, c := range []struct {
		key, records string
		status       int
		outcomes     string
	}{
		{"", two, 200, "new new "},
		{"", two, 200, "new new "},
		{"first", two, 200, "new new "},
		{"first", two, 200, "same same "},
		{"second", two, 200, "new new "},
		{"third", `[{"a": "0.5", "y": "1"}, {"a": "x", "y": "1"}]`, 200, "new bad "},
		{"third", `[{"a": "0.5", "y": "1"}, {"a": "0", "y": "1"}]`, 200, "same new "},
		{"other", two, 200, "new new "},
		{"", `[]`, 422, ""},
		{"", `[1]`, 422, ""},
		{"fourth", `[{"Idempotency-Key": "x", "a": 0, "y": 1}]`, 400, ""},
		{"column", two, 200, "new new "},
		{"both", two, 400, ""},
		{"the header's column", two, 200, "bad bad "}, // a column like any other, which these lack
		{"the header's column", `[{"Idempotency-Key": "x", "a": 0, "y": 1}, {"Idempotency-Key": "x", "a": 0, "y": 2}]`, 200, "new replaced "},
		{"Küche", two, 200, "new new "},
		{"Köche", two, 200, "new new "},
		{"K\xfcche", two, 400, ""}, // as in Latin-1
		{"", "[{\"a\": 0, \"y\": \"\xfc\"}]", 400, ""},
		{"", `[{"a": 0, "y": 1, "a": 1}]`, 400, ""},
		{"", `[{"a": 0, "y": 1, "\u0061": 1}]`, 400, ""},
		{"", `[{"a": 0, "y": 1}], "records": [{"a": 1, "y": 1}]`, 400, ""},
		{"", `[{"a": [0, {"b": 1, "b": 2}], "y": 1}]`, 400, ""},
		{"", `[{"a": "a", "y": 1}, {"y": 1, "a": 0}]`, 200, "bad new "},
	} {
		if status, outcomes := add(c.key, c.records); status != c.status || outcomes != c.outcomes {
			t.Errorf("%d: %d %q, want %d %q", i, status, outcomes, c.status, c.outcomes)
		}
	}
}

// Each line of a stream is acknowledged before the next one comes.
func TestStreamOfRecords(t *testing.T) {
	o := offer(t, false)
	lines, feed := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), "POST", o.url+"/v1/records/stream?id=n", lines)
	require.NoError(t, err)
	bearer(o.token(t, api.Data))(r)
	r.Header.Set("Content-Type", "application/x-ndjson")
	go func() { _, _ = feed.Write([]byte(`{"n": "1", "a": "0.1", "y": "1"}` + "\n")) }()
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	said := json.NewDecoder(answer.Body)
	for i, want := range []string{api.LineNew, api.LineNew, api.LineSame, api.LineReplaced, api.LineBad} {
		if i > 0 {
			_, err := feed.Write([]byte([]string{`{"n": "2", "a": "0.2", "y": "1"}`, `{"n": "2", "a": "0.2", "y": "1"}`, `{"n": "2", "a": "0.3", "y": "1"}`, `{"n": "3"}`}[i-1] + "\n"))
			require.NoError(t, err)
		}
		var l api.LineOutcome
		require.NoError(t, said.Decode(&l))
		if l.Outcome != want || l.Line != i+1 {
			t.Errorf("line %d: %+v, want %s", i+1, l, want)
		}
	}
	require.NoError(t, feed.Close())
	if rest, err := io.ReadAll(answer.Body); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

// stream sends a whole stream of records and returns the answer and its lines.
func (o *offered) stream(t *testing.T, body string, change func(*http.Request)) (answer *http.Response, lines []api.LineOutcome, text string) {
	t.Helper()
	secret := o.token(t, api.Data)
	answer, text = o.ask(t, "POST", "/v1/records/stream", func(r *http.Request) {
		bearer(secret)(r)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		if change != nil {
			change(r)
		}
	})
	if answer.StatusCode == http.StatusOK {
		for said := json.NewDecoder(strings.NewReader(text)); said.More(); {
			var l api.LineOutcome
			require.NoError(t, said.Decode(&l))
			lines = append(lines, l)
		}
	}
	return answer, lines, text
}

// A line of a stream that is too long is bad, and those after it are stored.
func TestALongLineOfAStream(t *testing.T) {
	o := offer(t, false)
	const good, limit = `{"a": 0.5, "y": 1}`, 1 << 20
	most := good + strings.Repeat(" ", limit-len(good))
	for _, c := range []struct{ body, outcomes string }{
		{good + "\n" + most + " \n" + good + "\n" + good, "new bad new new "},
		{most + "\n" + most + strings.Repeat(" ", 3*limit) + "\n" + most, "new bad new "},
		{most + "  ", "bad "},
	} {
		_, lines, text := o.stream(t, c.body, nil)
		outcomes := ""
		for i, l := range lines {
			if outcomes += l.Outcome + " "; l.Line != i+1 || (l.Outcome == api.LineBad) != strings.Contains(l.Reason, "longer than 1048576 bytes") {
				t.Errorf("line %d: %+v", i+1, l)
			}
		}
		if outcomes != c.outcomes {
			t.Errorf("%q, want %q: %.1000s", outcomes, c.outcomes, text)
		}
	}
}

// A byte order mark before the first line of a stream is no part of it.
func TestAStreamBeginsWithAMark(t *testing.T) {
	o := offer(t, false)
	const good, mark = `{"a": 0.5, "y": 1}` + "\n", "\ufeff"
	if _, lines, text := o.stream(t, mark+good+mark+good, nil); len(lines) != 2 || lines[0].Outcome != api.LineNew || lines[1].Outcome != api.LineBad {
		t.Error(text)
	}
	if answer, lines, text := o.stream(t, mark, nil); answer.StatusCode != http.StatusOK || lines != nil {
		t.Errorf("a mark alone: %s %s", answer.Status, text)
	}
}

// What cannot be lines of JSON is refused as that; curl calls them a form.
func TestTheKindOfAStream(t *testing.T) {
	o := offer(t, false)
	for media, want := range map[string]int{"text/csv": 415, "text/csv; charset=utf-8": 415, "multipart/form-data; boundary=x": 415,
		"": 200, "application/x-ndjson": 200, "application/jsonl": 200, "application/json": 200, "application/x-www-form-urlencoded": 200, "text/plain": 200} {
		answer, _, text := o.stream(t, `{"a": 0.5, "y": 1}`, func(r *http.Request) { r.Header.Set("Content-Type", media) })
		if answer.StatusCode != want || want != 200 && !strings.Contains(text, "hint") {
			t.Errorf("%q: %s %s", media, answer.Status, text)
		}
	}
}

// An Idempotency-Key is refused where it would not make a retry harmless.
func TestIdempotencyKeyElsewhere(t *testing.T) {
	o := offer(t, false)
	secret := o.token(t, api.Data)
	for _, path := range []string{"stream", "file", "lines"} {
		answer, text := o.ask(t, "POST", "/v1/records/"+path, func(r *http.Request) {
			bearer(secret)(r)
			r.Header.Set("Idempotency-Key", "first")
		})
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(text, "POST /v1/records only") || !strings.Contains(text, "id=COLUMN") {
			t.Errorf("%s: %s %s", path, answer.Status, text)
		}
	}
}

// full is a node whose disk has room for one line.
type full struct {
	api.Owner
	lines int
}

func (f *full) Put(_ context.Context, l api.Lines) (a api.Acknowledgement, err error) {
	if f.lines += len(l.Lines); f.lines > 1 {
		return a, api.Advise(fmt.Errorf("%w on the disk", api.ErrFull), "make some")
	}
	if l.Lines[0] != "" {
		a.Lines = []api.LineOutcome{{Line: l.From, Outcome: api.LineNew}}
	}
	return a, nil
}

// A stream that cannot go on ends with a line that says why, and with a broken connection,
// also when no line of the answer came before. The log says so, too, without what was sent.
func TestAStreamThatCannotGoOn(t *testing.T) {
	for _, before := range []string{`{"secret": 1}`, ""} {
		var log bytes.Buffer
		s := httptest.NewServer(server.New(server.Config{Owner: new(full), Log: slog.New(slog.NewTextHandler(&log, nil))}).Handler(server.Socket{}))
		lines, feed := io.Pipe()
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/v1/records/stream", lines)
		require.NoError(t, err)
		r.Host = server.SocketHost
		go func() { _, _ = feed.Write([]byte(before + "\n")) }()
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		said := json.NewDecoder(answer.Body)
		if before != "" {
			var first api.LineOutcome
			require.NoError(t, said.Decode(&first))
		}
		_, err = feed.Write([]byte("{\"secret\": 2}\n"))
		require.NoError(t, err)
		var last map[string]api.Problem
		require.NoError(t, said.Decode(&last))
		if p := last["error"]; answer.StatusCode != http.StatusOK || len(last) != 1 || p.Status != http.StatusInsufficientStorage || p.Kind != "full" || p.Hint != "make some" {
			t.Errorf("the last line is %+v", last)
		}
		if err := said.Decode(&last); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the connection is not broken: %v", err)
		}
		require.NoError(t, answer.Body.Close())
		s.Close()
		if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "stream of records broke off") || !strings.Contains(said, "no room") || strings.Contains(said, "secret") {
			t.Errorf("the log says %s", said)
		}
	}
}
