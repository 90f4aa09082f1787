package durable

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"p2pnode/internal/require"
)

// A file that was cleared holds as many zeros, and its holes take no room.
func TestClear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	secret := bytes.Repeat([]byte("secret"), 1000)
	const hole, size = 1 << 22, 1<<22 + 6000
	f, err := os.Create(path)
	require.NoError(t, err)
	for _, at := range []int64{0, hole} {
		_, err := f.WriteAt(secret, at)
		require.NoError(t, err)
	}
	before := room(t, f)
	require.NoError(t, Clear(f))
	if after := room(t, f); after > before {
		t.Errorf("clearing took room: %d blocks, %d before", after, before)
	}
	require.NoError(t, f.Close())
	if text, err := os.ReadFile(path); err != nil || len(text) != size || len(bytes.Trim(text, "\x00")) > 0 {
		t.Errorf("%d bytes, %v; want %d zeros", len(text), err, size)
	}
}

// room is how many blocks a file takes.
func room(t *testing.T, f *os.File) int64 {
	t.Helper()
	info, err := f.Stat()
	require.NoError(t, err)
	return info.Sys().(*syscall.Stat_t).Blocks
}
