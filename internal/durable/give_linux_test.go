package durable

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"p2pnode/internal/require"
)

// What root makes in a directory of another user belongs to that user. What was there before
// stays whose it is, and so does what a link leads to.
func TestRootGives(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files for another user")
	}
	const user, group = 4321, 1234
	dir := t.TempDir()
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	roots := filepath.Join(t.TempDir(), "of root")
	require.NoError(t, os.WriteFile(roots, nil, 0o600), os.WriteFile(in("before"), nil, 0o600), os.Symlink(roots, in("link")))
	require.NoError(t, os.Chown(dir, user, group))

	require.NoError(t, Replace(in("replaced"), []byte("text")), MkdirAll(in("a", "b")), MkdirAll(in("a")), MkdirAll(in("c")+"/"))
	for _, name := range []string{"made", "before", "link"} {
		f, err := OpenFile(in(name), os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	for name, want := range map[string]uint32{"replaced": user, "made": user, "a": user, "a/b": user, "c": user, "before": 0, "link": 0} {
		info, err := os.Stat(in(name))
		require.NoError(t, err)
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != want {
			t.Errorf("%s belongs to %d:%d, not %d", name, owner.Uid, owner.Gid, want)
		}
	}
	if list, err := os.ReadDir(in("c")); err != nil || len(list) > 0 {
		t.Errorf("a new directory holds %v, %v", list, err)
	}
	if f, err := OpenFile(in("made"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
		t.Error("a file that was there was made anew")
	}
}
