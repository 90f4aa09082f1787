package datadir

import (
	"os"
	"path/filepath"
	"testing"

	"p2pnode/internal/require"
)

// A directory whose database others can read, or whose files they can replace, is not opened,
// and the error says how to mend it.
func TestRightsOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	require.NoError(t, openStore(t, dir).Close())
	files, err := Read(dir)
	require.NoError(t, err)
	for _, wrong := range []struct {
		path  string
		modes [2]os.FileMode
		want  string
	}{
		{filepath.Join(dir, StoreFile), [2]os.FileMode{0o640, 0o600}, "could see your records with it; take their rights away with: chmod 600 " + filepath.Join(dir, StoreFile)},
		{dir, [2]os.FileMode{0o770, 0o755}, "take their rights away with: chmod 700 " + dir},
	} {
		require.NoError(t, os.Chmod(wrong.path, wrong.modes[0]))
		_, err := OpenStore(dir, &files)
		says(t, err, wrong.want)
		require.NoError(t, os.Chmod(wrong.path, wrong.modes[1]))
		require.NoError(t, openStore(t, dir).Close())
	}
	open := t.TempDir()
	require.NoError(t, os.Chmod(open, 0o777))
	says(t, Init(open, lineTask(), DefaultConfig(lineTask())), "chmod 700 "+open)
}
