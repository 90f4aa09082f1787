package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/local"
)

// daemon is a running p2pnode process.
type daemon struct {
	dir     string
	id      string
	address string    // for --bootstrap
	api     string    // where it is asked over a network
	owner   api.Owner // asks it over its socket
	cmd     *exec.Cmd
	log     bytes.Buffer // to be read after cmd.Wait
	ended   chan error   // receives what cmd.Wait returned
}

// initNode makes a data directory with records in it.
func initNode(t *testing.T, flags ...string) string {
	t.Helper()
	return initNodeAt(t, "/ip4/127.0.0.1/tcp/0", flags...)
}

// initNodeAt is initNode with an address to listen on.
func initNodeAt(t *testing.T, address string, flags ...string) string {
	t.Helper()
	dir := shortTemp(t)
	cli(t, nil, append([]string{"init", "--dir", dir, "--no-mdns", "--listen", address,
		"--wake", "0.3", "--releases", "1000"}, flags...)...)
	cli(t, nil, "data", "import", filepath.Join("testdata", "files", "ratings.csv"), "--dir", dir)
	return dir
}

// copyNode copies the data directory of a node that does not run.
func copyNode(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, exec.Command("cp", "-pR", from+"/.", to).Run())
}

// shortTemp is a directory that goes with the test. The path of t.TempDir is too
// long for a unix socket on some systems.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p2pnode")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// cli runs a p2pnode command that must succeed, and reads its answer into v.
func cli(t *testing.T, v any, args ...string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("p2pnode", append(args, "--json")...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("p2pnode %q: %v\n%s", args, err, &stderr)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(out, v); err != nil {
		t.Fatalf("p2pnode %q printed %q: %v", args, out, err)
	}
}

// start runs a daemon and returns when it is ready. It is killed with the test.
func start(t *testing.T, dir string) *daemon {
	t.Helper()
	return startWith(t, dir, exec.Command("p2pnode", "run", "--json", "--dir", dir))
}

// startWith is start with the command that runs the daemon.
func startWith(t *testing.T, dir string, cmd *exec.Cmd) *daemon {
	t.Helper()
	return launch(t, dir, cmd, func() {})
}

// launch is startWith, and calls begun when the process has begun.
func launch(t *testing.T, dir string, cmd *exec.Cmd, begun func()) *daemon {
	t.Helper()
	d := &daemon{dir: dir, cmd: cmd, ended: make(chan error, 1)}
	d.cmd.Stderr = &d.log
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun()
	var r ready
	decodeErr := json.NewDecoder(stdout).Decode(&r)
	go func() { d.ended <- d.cmd.Wait() }()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // unless it has ended
		<-d.ended
		if t.Failed() {
			t.Logf("log of %s:\n%s", r.Peer, &d.log)
		}
	})
	if decodeErr != nil || len(r.Addresses) == 0 && len(r.Paused) == 0 {
		t.Fatalf("the daemon said %+v, %v", r, decodeErr)
	}
	d.id, d.api = r.Peer, r.API
	if len(r.Paused) == 0 {
		d.address = r.Addresses[0]
	}
	owner, err := local.Connect(t.Context(), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close() })
	d.owner = owner
	return d
}

// end waits until the process has ended.
func (d *daemon) end(t *testing.T) *os.ProcessState {
	t.Helper()
	select {
	case err := <-d.ended:
		d.ended <- err // for the cleanup
		return d.cmd.ProcessState
	case <-time.After(patience):
		t.Fatalf("%s did not end within %v", d.id, patience)
		return nil
	}
}

// interrupt stops the daemon, which must succeed within a few seconds, or more on a busy machine.
func (d *daemon) interrupt(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := d.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if state := d.end(t); !state.Success() || time.Since(start) > 20*time.Second {
		t.Errorf("after %v: %v in %v, want exit status 0 in a few seconds", signal, state, time.Since(start))
	}
}

// heard is the newest round the daemon has heard of a neighbour, 0 if none.
func (d *daemon) heard(t *testing.T, of string) uint64 {
	t.Helper()
	peers, err := d.owner.Peers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range peers {
		if p.ID == of {
			return p.Round
		}
	}
	return 0
}

func (d *daemon) status(t *testing.T) api.Status {
	t.Helper()
	s, err := d.owner.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
