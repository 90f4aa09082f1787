//go:build linux || darwin

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// What a killed run left with records of people goes when the next one begins, which says so.
// A directory whose process lives stays, and one without a lock, which is not known to be one.
func TestKilledRunsLeaveNothing(t *testing.T) {
	cmd, _, _, nodes := command(t, "--nodes", "8")
	unknown := filepath.Join(nodes, workplacePrefix+"1")
	require.NoError(t, os.Mkdir(unknown, 0o700))
	begin := func() (said string) {
		t.Helper()
		var b strings.Builder
		dir, release, err := workplace(nodes, &b)
		require.NoError(t, err, os.RemoveAll(dir), release())
		return b.String()
	}
	if said := begin(); said != "" {
		t.Errorf("beside a run that goes on: %s", said)
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if said := begin(); !strings.HasPrefix(said, "testnet: removed "+nodes) || !strings.Contains(said, "which a run that was killed had left") {
		t.Errorf("after a run was killed: %q", said)
	}
	if left, err := os.ReadDir(nodes); err != nil || len(left) != 1 || left[0].Name() != filepath.Base(unknown) {
		t.Errorf("left: %v, %v", left, err)
	}
}
