package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/testnet/lab"
)

// underName is the name under which the test binary is the helper of [lab.NewSystem].
const underName = "under"

// system tells a daemon the time of day, and may slow its disk.
type system struct {
	*lab.System
	cmd   *exec.Cmd
	ended chan error // receives what Run returned
}

// under puts a system under a command that has not started.
func under(t *testing.T, cmd *exec.Cmd) *system {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	helper := filepath.Join(shortTemp(t), underName)
	require.NoError(t, os.Symlink(self, helper))
	s, err := lab.NewSystem(cmd, helper)
	require.NoError(t, err)
	return &system{s, cmd, make(chan error, 1)}
}

// start is startWith for the command.
func (s *system) start(t *testing.T, dir string) *daemon {
	t.Helper()
	return launch(t, dir, s.cmd, func() { go func() { s.ended <- s.Run() }() })
}

// While a write takes as long as it takes to be on disk, a minute in the nightly tests, the
// owner is answered, and nothing is sent that is not paid for: neighbours hear one model at
// most, which was on disk before. Then everything goes on, and nothing was paid twice.
func TestLabSlowDisk(t *testing.T) {
	n := newNetwork(t, 2, nil, 0)
	d, other := n.nodes[1], n.nodes[0]
	d.interrupt(t, os.Interrupt)
	s := under(t, n.command(t, 1, d.dir))
	d = s.start(t, d.dir)
	n.nodes[1] = d
	n.flows(t, 90*time.Second, "with a disk that can be slow")
	slow := max(5*time.Second, outage(t))
	s.Stall(slow)
	require.Eventually(t, "a write waits for the disk", func() bool { return s.Held() > 0 })
	begin, answers := time.Now(), 0
	for last := other.heard(t, d.id); time.Since(begin) < slow-time.Second; time.Sleep(50 * time.Millisecond) { // three releases a second are usual
		asked := time.Now()
		if d.status(t); time.Since(asked) > slow/2 {
			t.Fatalf("the owner waited for %v, and the disk is slow for %v", time.Since(asked), slow)
		}
		if s.Held() > 0 {
			answers++
		}
		if now := other.heard(t, d.id); now > last+1 {
			t.Fatalf("round %d is sent and nothing after round %d was on disk", now, last)
		}
	}
	if answers == 0 {
		t.Fatal("no write waited; nothing is tested")
	}
	n.flows(t, 60*time.Second, "after the disk was slow")
	d.interrupt(t, os.Interrupt)
	require.NoError(t, <-s.ended)
	exact(t, d.dir, other.heard(t, d.id))
}
