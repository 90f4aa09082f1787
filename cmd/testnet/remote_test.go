package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// roomTask is a task whose records suit a small test.
const roomTask = `name = "room"
features = [{name = "outside", kind = "number", min = -1.0, max = 1.0}]
target = {name = "power", min = -2.0, max = 2.0}
`

// outpost is a daemon that others ask over TLS.
type outpost struct {
	Peer      string
	Addresses []string
	API       string
	token     string
}

func (o *outpost) address() string { return o.API + "/#" + o.Peer }

// settle runs a daemon with records of its own that other machines may ask; with
// experiment, for their errors, too.
func settle(t *testing.T, program, task, name string, settings ...string) *outpost {
	t.Helper()
	dir := filepath.Join(filepath.Dir(task), name)
	ask := func(in string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), program, append(args, "--dir", dir, "--json")...)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("p2pnode %v: %v", args, err)
		}
		return out
	}
	made := []string{"init", "--task", task, "--for", "test", "--listen", "/ip4/127.0.0.1/tcp/0", "--releases", "1", "--wake", "0.05"}
	for _, s := range settings {
		made = append(made, "--set", s)
	}
	ask("", made...)
	rows := "outside,power\n"
	for i := range 60 {
		rows += fmt.Sprintf("%g,%g\n", float64(i)/30-1, float64(i)/20-1.5)
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(file, []byte(rows), 0o600))
	ask("", "data", "import", file)
	var token struct{ Secret string }
	require.NoError(t, json.Unmarshal(ask("", "token", "new", "collector"), &token))
	o := &outpost{token: token.Secret}
	ctx, stop := context.WithCancel(t.Context())
	run := exec.CommandContext(ctx, program, "run", "--api", "127.0.0.1:0", "--api-public", "--dir", dir, "--json")
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	out, err := run.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	t.Cleanup(func() { stop(); _ = run.Wait() })
	require.NoError(t, json.NewDecoder(out).Decode(o))
	return o
}

// One table comes of daemons that run elsewhere. Left out are those that cannot be asked,
// that are another peer, and whose errors stay with their owners.
func TestCollect(t *testing.T) {
	home, err := os.MkdirTemp("", "fleet") // short: sockets are made in it
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	program, task := daemon(t), filepath.Join(home, "room.toml")
	require.NoError(t, os.WriteFile(task, []byte(roomTask), 0o600))
	first := settle(t, program, task, "a", "experiment=true")
	from := "bootstrap=" + first.Addresses[0]
	second := settle(t, program, task, "b", "experiment=true", from)
	third := settle(t, program, task, "c", "experiment=true", from)
	silent := settle(t, program, task, "d", from)
	var tokens bytes.Buffer
	fmt.Fprintln(&tokens, "# who may ask")
	for _, o := range []*outpost{first, second, third, silent} {
		fmt.Fprintln(&tokens, o.Peer, o.token)
	}
	file := filepath.Join(home, "tokens")
	require.NoError(t, os.WriteFile(file, tokens.Bytes(), 0o600))
	other, gone := third.API+"/#"+first.Peer, "https://127.0.0.1:1/#"+first.Peer
	code, stdout, stderr := testnetRun(t, t.Context(), "--token-file", file, "--json",
		"--api", first.address()+","+second.address(), third.address(), silent.address(), other, gone)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var r struct {
		Nodes    int
		Task     string
		Verdict  string
		Complete bool
		Rows     []struct {
			Method string
			Error  float64
			Bytes  float64
		}
		Missed []struct{ Address, Why string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	if r.Nodes != 3 || r.Task != "room" || !r.Complete || len(r.Rows) != 2 || r.Rows[0].Method != "alone" || r.Rows[1].Method != "broadcast" || r.Rows[0].Error <= 0 || r.Rows[1].Bytes <= 0 {
		t.Errorf("the table is %s", stdout)
	}
	want := map[string]string{silent.address(): "experiment = true", other: "the server is not " + first.Peer, gone: "connection refused"}
	for _, m := range r.Missed {
		if want[m.Address] == "" || !strings.Contains(m.Why, want[m.Address]) {
			t.Errorf("%s is left out: %s", m.Address, m.Why)
		}
	}
	if len(r.Missed) != len(want) {
		t.Errorf("left out are %+v; want %v", r.Missed, want)
	}
	code, stdout, stderr = testnetRun(t, t.Context(), "--token-file", file, "--api", first.address(), second.address(), silent.address())
	if code != 0 || !strings.Contains(stdout, "private broadcast") || !strings.Contains(stdout, "1 of 3 nodes are left out") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	if strings.Contains(stdout+stderr, first.token) {
		t.Error("a token is shown")
	}
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	code, stdout, stderr = testnetRun(t, interrupted, "--token-file", file, "--api", first.address(), second.address(), silent.address())
	if code != exitInterrupted || !strings.Contains(stdout, "private broadcast") || !strings.Contains(stdout, "experiment = true") || !strings.Contains(stdout, "Interrupted") {
		t.Errorf("interrupted: exit code %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := testnetRun(t, t.Context(), "--token-file", file, "--api", silent.address()); code != exitFailed || !strings.Contains(stderr, "none of the 1 nodes") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestCollectUsage(t *testing.T) {
	dir := t.TempDir()
	named := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	const id = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
	one, two, none, bad := named("one", "secret\n"), named("two", id+" secret\n"), named("none", "# nobody\n"), named("bad", "secret x\n")
	for _, c := range []struct{ args, want string }{
		{"--api https://127.0.0.1:1/#" + id, "the nodes want a token"},
		{"--token-file " + one, "goes with --api"},
		{"--api https://127.0.0.1:1 --token-file " + one, "does not end with the peer ID"},
		{"--api https://127.0.0.1:1/#me --token-file " + one, "does not end with the peer ID"},
		{"--api http://192.0.2.1:1 --token-file " + one, "ask it over https"},
		{"--api http://127.0.0.1:1 --token-file " + two, "no token for http://127.0.0.1:1"},
		{"--api http://127.0.0.1:1 --token-file " + none, "there is no token"},
		{"--api http://127.0.0.1:1 --token-file " + bad, "line 1 does not begin with a peer ID"},
		{"--api http://127.0.0.1:1 --token-file missing", "no such file"},
		{"--api http://127.0.0.1:1 --sim --token-file " + one, "--sim: does not go with --api"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "secret") {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, code, stderr, c.want)
		}
	}
}
