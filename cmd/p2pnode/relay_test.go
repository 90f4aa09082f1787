package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
)

// A relay has nothing to read again, and goes on at the signal at which a daemon does.
func TestRelayAtSIGHUP(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("p2pnode", "relay", "--dir", filepath.Join(shortTemp(t), "relay"), "--listen", "/ip4/127.0.0.1/tcp/0")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // for a test that fails
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, cmd.Process.Signal(syscall.SIGHUP))
	said, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.Contains(said, "no configuration to read again") {
		t.Fatalf("it said %q, %v", said, err)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt), cmd.Wait())
}

// A relay that cannot say where it is fails, and does not end as one that was told to.
func TestRelayWithoutOutput(t *testing.T) {
	t.Parallel()
	gone, err := os.Open(os.DevNull) // it takes no writes
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	c := newCommand(&options{})
	c.SetArgs([]string{"relay", "--dir", t.TempDir(), "--listen", "/ip4/127.0.0.1/tcp/0"})
	c.SetOut(gone)
	if err := c.ExecuteContext(t.Context()); err == nil {
		t.Error("it ended without an error")
	}
}
