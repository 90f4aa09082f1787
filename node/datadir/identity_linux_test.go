package datadir

import (
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
)

// Another user than the owner of a directory is told who can use it.
func TestIdentityOfAnotherUser(t *testing.T) {
	const nobody = 65534
	path := filepath.Join(t.TempDir(), "identity.key")
	_, err := NewIdentity(path)
	require.NoError(t, err)

	told := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
		err := syscall.Setfsuid(nobody)
		if err == nil {
			_, err = ReadIdentity(path)
		}
		told <- err
	}()
	if err := <-told; err == nil || !strings.Contains(err.Error(), "only the user who owns the directory can use it") {
		t.Errorf("another user is told %v", err)
	}
}
