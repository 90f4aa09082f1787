package durable

import (
	"os"
	"path/filepath"
	"testing"

	"p2pnode/internal/require"
)

// A file is replaced as a whole, for its owner only; where that fails nothing is left.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"first", "", "the third, which is longer"} {
		require.NoError(t, Replace(path, []byte(text)))
		got, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		require.NoError(t, err, statErr)
		if string(got) != text || info.Mode().Perm() != 0o600 {
			t.Errorf("%q, mode %v, in place of %q", got, info.Mode(), text)
		}
	}
	if err := Replace(filepath.Join(dir, "none", "file"), nil); err == nil {
		t.Error("a file in a directory that is not there")
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700), os.WriteFile(filepath.Join(dir, "taken", "x"), nil, 0o600))
	if err := Replace(filepath.Join(dir, "taken"), nil); err == nil {
		t.Error("a directory was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left: %v, %v", entries, err)
	}
}
