package summing

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// smallDisk mounts a file system of that many megabytes.
func smallDisk(t *testing.T, at string, megabytes string) {
	t.Helper()
	if os.Getenv("P2PNODE_LAB") == "" {
		t.Skip("runs in a step of its own: set P2PNODE_LAB=yes and run as root, as it mounts a file system")
	}
	require.NoError(t, os.MkdirAll(at, 0o700), syscall.Mount("none", at, "tmpfs", 0, "size="+megabytes+"m"))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(at, syscall.MNT_DETACH)) })
}

// fillUp takes all room of a disk.
func fillUp(t *testing.T, disk string) (fill string) {
	t.Helper()
	fill = filepath.Join(disk, "fill")
	f, err := os.Create(fill)
	require.NoError(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return fill
}

// On a full disk keys are erased, too, once, whether there is room for the note of it or not, and
// no new ones are made. What was erased needs no room later.
func TestLabErasingOnAFullDisk(t *testing.T) {
	members, keys := committee(t)
	s := testSum(t, 3, keys)
	root := t.TempDir()
	smallDisk(t, root, "1")
	d, err := openDirectory(root, s.ID)
	require.NoError(t, err)
	_, _, err = d.secrets(1)
	require.NoError(t, err)
	fill := fillUp(t, root)
	if err := d.erase(true); !errors.Is(err, syscall.ENOSPC) || !d.cleared() || !d.over() || d.noted() {
		t.Errorf("error %v, cleared %v, over %v", err, d.cleared(), d.over())
	}
	require.NoError(t, os.Remove(fill), d.erase(true))
	if d.begun() || !d.over() || !d.dead() {
		t.Errorf("with room again: keys %v, over %v, dead %v", d.begun(), d.over(), d.dead())
	}
	fillUp(t, root)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	desk := members[0].desk
	go func() {
		ended <- desk.Member(ctx, s, Membership{Root: root, Open: time.Hour, Later: time.Hour})
	}()
	require.Eventually(t, "it says that the sum is dead", func() bool { return desk.State(s.ID).Dead })
	stop()
	require.NoError(t, <-ended)
}

// A member that fails to continue a sum erases its keys all the same once their time is over.
func TestOverdueKeysAreErased(t *testing.T) {
	members, keys := committee(t)
	s := testSum(t, 3, keys)
	m := members[0]
	d, err := openDirectory(m.root, s.ID)
	require.NoError(t, err)
	_, _, err = d.secrets(time.Now().Add(-time.Hour).Unix())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(d.name(journalName), frame([]byte("no input")), 0o600))
	for _, later := range []time.Duration{2 * time.Hour, time.Minute} {
		erased := later < time.Hour
		if err := m.desk.Member(t.Context(), s, Membership{Root: m.root, Open: time.Hour, Later: later}); err == nil || d.begun() == erased || d.over() != erased {
			t.Errorf("%v after the closing: error %v, keys %v, over %v", later, err, d.begun(), d.over())
		}
	}
}

// A member whose disk is full is not there for the others, who do not begin without it, until
// there is room again.
func TestLabMemberOnAFullDisk(t *testing.T) {
	members, keys := committee(t)
	r := &trial{t: t, members: members, sum: testSum(t, 3, keys)}
	t.Cleanup(r.running.Wait)
	full := members[0]
	smallDisk(t, full.root, "2")
	fill := fillUp(t, full.root)
	err := full.desk.Member(t.Context(), r.sum, Membership{Root: full.root, Open: time.Hour, Later: time.Hour})
	if s := full.desk.State(r.sum.ID); !errors.Is(err, syscall.ENOSPC) || s.Duty != nil || s.Failure == nil || Holds(full.root, r.sum.ID) {
		t.Errorf("error %v, state %+v", err, s)
	}
	require.NoError(t, os.Remove(fill))
	for _, m := range members {
		r.start(m)
	}
	require.Eventually(t, "the sum is open", func() bool { return full.desk.opening(r.sum.ID) != nil })
	if s := full.desk.State(r.sum.ID); s.Failure != nil || s.Duty == nil {
		t.Errorf("it takes part, and its state is %+v", s)
	}
}
