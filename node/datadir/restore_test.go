package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/storage"
)

// A node is not restored while the clock is behind the copy: it would use rounds again that it
// has used, and sign two models for one.
func TestRestoreNeedsTheTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	require.NoError(t, openStore(t, dir).Close())
	path := filepath.Join(dir, StoreFile)
	later := time.Now().Add(48 * time.Hour)
	require.NoError(t, os.Chtimes(path, later, later))
	if _, err := Restore(dir, "", nil); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("with a clock that is behind: %v", err)
	}
	if kept, err := Kept(dir); err != nil || len(kept) > 0 {
		t.Errorf("something was restored: %q, %v", kept, err)
	}
	soon := time.Now().Add(2 * time.Hour)
	require.NoError(t, os.Chtimes(path, soon, soon))
	_, err := Restore(dir, "", nil)
	require.NoError(t, err)
	if checkClock(storage.Earliest.Add(-time.Hour)) == nil || checkClock(storage.Earliest) != nil {
		t.Error("a clock that was never set is believed")
	}
}
