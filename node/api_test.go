package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/server"
	"p2pnode/node/tokens"
)

// Through the daemon's socket the owner sees the same as directly.
func TestOwnerThroughSocket(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 30), nil)
	// A socket left over by a killed daemon is no obstacle.
	if err := os.WriteFile(filepath.Join(n.dir, datadir.SocketFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	owner := served(t, n)
	if info, err := os.Stat(filepath.Join(n.dir, datadir.SocketFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v; want mode 0600", info, err)
	}
	direct, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s, err := owner.Status(t.Context()); err != nil || s.Records != direct.Records || !reflect.DeepEqual(s.Personal, direct.Personal) {
		t.Errorf("status %+v, %v; want %+v", s, err, direct)
	}
	if s, err := owner.Progress(t.Context()); err != nil || s.Records != direct.Records || s.Personal != nil {
		t.Errorf("progress %+v, %v; want the status without the personal model", s, err)
	}
	if b, err := owner.Budget(t.Context()); err != nil || len(b.Cohorts) != 1 || b.Cohorts[0].Left != 5 {
		t.Errorf("budget %+v, %v", b, err)
	}
	if p, err := owner.Peers(t.Context()); err != nil || len(p) != 0 {
		t.Errorf("peers %v, %v", p, err)
	}
	if _, err := owner.Predict(t.Context(), map[string]string{"a": "1", "b": "0"}); err != nil {
		t.Errorf("predict: %v", err)
	}
	if _, err := owner.Predict(t.Context(), map[string]string{"a": "1"}); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("predict without a column: %v", err)
	}
	if r, err := owner.Import(t.Context(), strings.NewReader("a,b,y\n1,0,x\n"), api.ImportOptions{}); !errors.Is(err, api.ErrBadLines) || r.Bad != 1 {
		t.Errorf("import of a bad file: %+v, %v", r, err)
	}
	if r, err := owner.Import(t.Context(), strings.NewReader("a,b,y\n1,0,2\n"), api.ImportOptions{}); err != nil || r.Records != 1 {
		t.Errorf("import: %+v, %v", r, err)
	}
	ownerSeesTheRest(t, n, owner)
}

// ownerSeesTheRest asks what the daemon answers about its ledger and records.
func ownerSeesTheRest(t *testing.T, n *Node, owner api.Owner) {
	t.Helper()
	if v, err := owner.Verify(t.Context()); err != nil || v.Entries != 0 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	if _, err := newDoor(n.ledger, &n.files.Config).release(query(mechanism(n), 1, 1)); err != nil {
		t.Fatal(err)
	}
	want, err := n.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := owner.Ledger(t.Context()); err != nil || len(lines) != 2 || lines[1] != want[1] || *lines[0].Terms != *want[0].Terms {
		t.Errorf("ledger %+v, %v; want %+v", lines, err, want)
	}
	if v, err := owner.Verify(t.Context()); err != nil || v.Entries != 2 || v.Round != 1 || v.Anchor != 2 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	if err := owner.Delete(t.Context(), []uint64{7}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if list := listed(t, owner, true); len(list) != 31 || !list[6].Deleted || len(list[8].Features) < 3 {
		t.Errorf("records: %+v", list)
	}
	var direct, copied bytes.Buffer
	if err := errors.Join(n.Backup(t.Context(), &direct), owner.Backup(t.Context(), &copied)); err != nil || !bytes.Equal(direct.Bytes(), copied.Bytes()) {
		t.Errorf("backup: %d bytes, %v; want %d", copied.Len(), err, direct.Len())
	}
}

// handlerOf answers as the daemon's socket does.
func handlerOf(n *Node) http.Handler {
	return server.New(server.Config{Owner: n, Log: n.log, Ready: n.Ready, Left: func() {}, Tokens: new(tokens.Store)}).Handler(server.Socket{})
}

// A wrong request is answered with 400 or 422, one for something that is missing with
// 404, and one that the node failed to carry out with 500. All answers say what is wrong.
func TestStatusCodes(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(fixed(1), 5), nil)
	h := handlerOf(n)
	ask := func(method, path, body string) int {
		w := &patientRecorder{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		h.ServeHTTP(w, r)
		var p api.Problem
		if w.Code >= 400 && (json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Detail == "" || p.Status != w.Code || w.Header().Get("Content-Type") != "application/problem+json") {
			t.Errorf("%s %s %s: %d %s", method, path, body, w.Code, w.Body)
		}
		return w.Code
	}
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/healthz", "", 204},
		{"GET", "/readyz", "", 503},
		{"GET", "/v1/status", "", 200},
		{"GET", "/v1/status?fit=maybe", "", 422},
		{"GET", "/v1/status?unknown=1", "", 422},
		{"POST", "/v1/status", "", 405},
		{"GET", "/v1/nothing", "", 404},
		{"POST", "/v1/predict", `{"a":"1","b":"0"}`, 200},
		{"POST", "/v1/predict", `{"a":1,"b":0}`, 200},
		{"POST", "/v1/predict", `{"a":1,"b":{"c":0}}`, 400},
		{"POST", "/v1/predict/rows", `{"rows":[{"a":1,"b":0},{"a":"1"}]}`, 200},
		{"POST", "/v1/predict/rows", `{"rows":[{"a":1,"b":{}}]}`, 400},
		{"POST", "/v1/predict", `{"a":"1"}`, 400},
		{"POST", "/v1/predict", `{"a":"1","b":"0","c":"0"}`, 400},
		{"POST", "/v1/predict", `{`, 400},
		{"POST", "/v1/predict", `{"a":"` + strings.Repeat("1", 17<<20) + `"}`, 413},
		{"POST", "/v1/records/file", "a,b,y\n1,0,x\n", 422},
		{"POST", "/v1/records/file", "", 400},
		{"POST", "/v1/records/delete", `{"numbers":[1]}`, 204},
		{"POST", "/v1/records/delete", `{"numbers":[1]}`, 404},
		{"DELETE", "/v1/records/2", "", 204},
		{"DELETE", "/v1/records/2", "", 404},
		{"DELETE", "/v1/records/two", "", 422},
		{"POST", "/v1/records/delete", `{"numbers":[-1]}`, 422},
		{"DELETE", "/v1/peers/nobody", "", 400},
		{"GET", "/v1/members", "", 409},
		{"GET", "/v1/openapi.json", "", 200},
		{"GET", "/v1/backup", "", 200},
	} {
		if got := ask(c.method, c.path, c.body); got != c.want {
			t.Errorf("%s %s %.50s: %d, want %d", c.method, c.path, c.body, got, c.want)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/budget/verification", "/v1/budget/ledger", "/v1/backup"} {
		if got := ask("GET", path, ""); got != 500 {
			t.Errorf("%s of a closed node: %d, want 500", path, got)
		}
	}
}

// patientRecorder is a client that notes the deadline by which it may take the next
// piece.
type patientRecorder struct {
	*httptest.ResponseRecorder
	until []time.Time
}

func (w *patientRecorder) SetWriteDeadline(t time.Time) error {
	w.until = append(w.until, t)
	return nil
}

// A client that stops receiving its copy is not waited for, because the copy holds up the
// writes of the node.
func TestBackupWaitsForNobody(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(fixed(1), 3000), nil)
	w := &patientRecorder{ResponseRecorder: httptest.NewRecorder()}
	before := time.Now()
	handlerOf(n).ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/backup", nil))
	if w.Code != 200 || len(w.until) < 3 {
		t.Fatalf("status %d, %d deadlines; want one for each piece", w.Code, len(w.until))
	}
	for i, until := range w.until {
		if until.Before(before.Add(20*time.Second)) || until.After(time.Now().Add(20*time.Second)) {
			t.Errorf("piece %d may take until %v, begun at %v", i, until, before)
		}
	}
}
