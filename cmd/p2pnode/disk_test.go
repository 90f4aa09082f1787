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
// owner is answered, and nothing is sent that is not paid for: neighbours hear no model but those
// that were on disk before. Then everything goes on, and nothing was paid twice.
func TestLabSlowDisk(t *testing.T) {
	nightly(t)
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
	most := d.status(t).Round // nothing after it is on disk for now
	answers := 0
	for end := time.Now().Add(slow - time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) { // three releases a second are usual
		before := s.Held()
		d.status(t)
		now := other.heard(t, d.id)
		after := s.Held()
		if before == 0 || after == 0 {
			break // the disk is quick again; it was a busy machine
		}
		answers++
		if now > most {
			t.Fatalf("round %d is sent, and %d is the last that is on disk", now, most)
		}
	}
	if answers == 0 {
		t.Fatal("the owner was not answered while a write waited for the disk")
	}
	n.flows(t, 60*time.Second, "after the disk was slow")
	d.interrupt(t, os.Interrupt)
	require.NoError(t, <-s.ended)
	exact(t, d.dir, other.heard(t, d.id))
}
