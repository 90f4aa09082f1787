package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// asked is the status with which a server answers a program.
func asked(t *testing.T, url, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/status?fit=false", nil)
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	return answer.StatusCode
}

// signIn opens an address of p2pnode dashboard as a browser does, and asks with its session.
func signIn(t *testing.T, address string) int {
	t.Helper()
	url, code, found := strings.Cut(address, "/#code=")
	if !found {
		t.Fatalf("%q has no code", address)
	}
	page, err := http.Get(url + "/")
	require.NoError(t, err)
	text, err := io.ReadAll(page.Body)
	require.NoError(t, err, page.Body.Close())
	if page.StatusCode != 200 || !bytes.Contains(text, []byte("<script")) {
		t.Errorf("the page: %s %.100s", page.Status, text)
	}
	answer, err := http.Post(url+"/v1/session", "application/json", strings.NewReader(`{"code": "`+code+`"}`))
	require.NoError(t, err)
	var session api.Session
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&session), answer.Body.Close())
	if len(answer.Cookies()) != 1 {
		t.Fatalf("the code %q: %s", code, answer.Status)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/status?fit=false", nil)
	require.NoError(t, err)
	r.AddCookie(answer.Cookies()[0])
	r.Header.Set("P2pnode-Session", session.Key)
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, got.Body.Close())
	return got.StatusCode
}

// Programs with a token ask a daemon over a network, and no others; tokens and sessions
// outlive the daemon until they are revoked.
func TestTokensOfADaemon(t *testing.T) {
	t.Parallel()
	dir := initNode(t)
	var made api.IssuedToken
	cli(t, &made, "token", "new", "kitchen", "--dir", dir)
	d := startWith(t, dir, exec.Command("p2pnode", "run", "--json", "--dir", dir, "--api", "127.0.0.1:0"))
	var list []api.Token
	cli(t, &list, "token", "list", "--dir", dir)
	if len(list) != 1 || list[0].ID != made.ID || list[0].Name != "kitchen" {
		t.Errorf("tokens %+v, want %s", list, made.ID)
	}
	if got := [3]int{asked(t, d.api, made.Secret), asked(t, d.api, ""), asked(t, d.api, made.Secret+"x")}; got != [3]int{200, 401, 401} {
		t.Errorf("asked with the token, without, and with another: %v", got)
	}
	var code api.Code
	cli(t, &code, "dashboard", "--dir", dir)
	if got := signIn(t, code.URL); got != 200 {
		t.Errorf("a session of the dashboard: %d", got)
	}
	cli(t, nil, "token", "revoke", made.ID, "--dir", dir)
	if got := asked(t, d.api, made.Secret); got != 401 {
		t.Errorf("a revoked token: %d", got)
	}
	d.interrupt(t, syscall.SIGTERM)
	cli(t, &list, "token", "list", "--dir", dir)
	if len(list) != 1 || list[0].Name != "dashboard" || list[0].Expires.IsZero() {
		t.Errorf("tokens %+v, want the session", list)
	}
}

// Without --api, and without a daemon, the command serves the dashboard itself.
func TestDashboardOfACommand(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("p2pnode", "dashboard", "--dir", initNode(t), "--json")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	var code api.Code
	require.NoError(t, json.NewDecoder(out).Decode(&code))
	if got := signIn(t, code.URL); got != 200 {
		t.Errorf("a session of the dashboard: %d", got)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Wait())
}

// Other machines reach the interface only if the owner says so, over TLS.
func TestPublicInterface(t *testing.T) {
	t.Parallel()
	dir := initNode(t)
	for _, c := range []struct{ flags, want string }{
		{"--api 0.0.0.0:0", "--api-public"},
		{"--api nonsense", "IP address"},
		{"--api-public", "--api"},
	} {
		out, err := exec.Command("p2pnode", append([]string{"run", "--dir", dir}, strings.Fields(c.flags)...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, %s", c.flags, err, out)
		}
	}
	d := startWith(t, dir, exec.Command("p2pnode", "run", "--json", "--dir", dir, "--api", "127.0.0.1:0", "--api-public"))
	if !strings.HasPrefix(d.api, "https://") {
		t.Errorf("the interface is at %s", d.api)
	}
}
