package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
)

// Another user than the owner of a directory is told who can use it.
func TestIdentityOfAnotherUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.key")
	_, err := NewIdentity(path)
	require.NoError(t, err)

	err = asNobody(func() error {
		_, err := ReadIdentity(path)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "only the user who owns the directory can use it") || !strings.Contains(err.Error(), "give it back with chown") {
		t.Errorf("another user is told %v", err)
	}
}

// Who may not read a file of the directory is not told to put it back from a copy.
func TestFileOfAnotherUser(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{ConfigFile, TaskFile} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	for _, read := range []func() error{
		func() error { _, err := ReadConfig(dir, lineTask()); return err },
		func() error { _, err := ReadTask(dir); return err },
	} {
		err := asNobody(read)
		if err == nil || strings.Contains(err.Error(), "from a copy") || !strings.Contains(err.Error(), "give it back with chown") {
			t.Errorf("another user is told %v", err)
		}
	}
}

// Who may not write where a directory is to be made is told what to do.
func TestDirectoryOfAnotherUser(t *testing.T) {
	open, closed := t.TempDir(), t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(open), 0o755), os.Chmod(open, 0o755), os.Chmod(closed, 0o700))
	for _, dir := range []string{open, filepath.Join(open, "new"), closed} {
		err := asNobody(func() error { return Init(dir, lineTask(), DefaultConfig(lineTask())) })
		if err == nil || !strings.Contains(err.Error(), dir+" cannot be the data directory: ") || !strings.Contains(err.Error(), "or give this one to the user with chown") {
			t.Errorf("%s: another user is told %v", dir, err)
		}
	}
}

// asNobody calls f with the rights of a user who owns nothing.
func asNobody(f func() error) error {
	const nobody = 65534
	told := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
		err := syscall.Setfsuid(nobody)
		if err == nil {
			err = f()
		}
		told <- err
	}()
	return <-told
}

// Root who makes a node in a directory of another user, or uses one there, leaves nothing that
// the user cannot use.
func TestRootInTheDirectoryOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files for another user")
	}
	home := t.TempDir()
	const user = 4321
	require.NoError(t, os.Chown(home, user, user))
	dir := filepath.Join(home, "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	s := openStore(t, dir)
	require.NoError(t, s.Compact(), s.Close())
	upnp, err := ParseSetting("upnp=true", "the test")
	require.NoError(t, err)
	_, err = SetKeys(dir, []Setting{upnp})
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		info, statErr := os.Stat(path)
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != user {
			t.Errorf("%s belongs to %d", path, owner)
		}
		return errors.Join(err, statErr)
	}))
}
