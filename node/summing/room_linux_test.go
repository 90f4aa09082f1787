package summing

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// A member whose disk is full is not there for the others, who do not begin without it, until
// there is room again.
func TestLabMemberOnAFullDisk(t *testing.T) {
	if os.Getenv("P2PNODE_LAB") == "" {
		t.Skip("runs in a step of its own: set P2PNODE_LAB=yes and run as root, as it mounts a file system")
	}
	members, keys := committee(t)
	r := &trial{t: t, members: members, sum: testSum(t, 3, keys)}
	t.Cleanup(r.running.Wait)
	full := members[0]
	require.NoError(t, os.MkdirAll(full.root, 0o700), syscall.Mount("none", full.root, "tmpfs", 0, "size=2m"))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(full.root, syscall.MNT_DETACH)) })
	fill := filepath.Join(full.root, "fill")
	require.NoError(t, os.WriteFile(fill, make([]byte, 3<<19), 0o600))
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
