package datadir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/storage"
)

// mount mounts a file system for a test.
func mount(t *testing.T, kind, options string) string {
	t.Helper()
	if os.Getenv("P2PNODE_LAB") == "" {
		t.Skip("runs in a step of its own: set P2PNODE_LAB=yes and run as root, as it mounts a file system")
	}
	dir := t.TempDir()
	require.NoError(t, syscall.Mount("none", dir, kind, 0, options))
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// fill takes all that is free of a disk.
func fill(t *testing.T, disk string) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	require.NoError(t, err)
	for err == nil {
		_, err = io.WriteString(f, strings.Repeat("full", 1<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	require.NoError(t, f.Close())
}

// A node on a full disk is erased like any other, although its database has holes.
func TestLabEraseOnAFullDisk(t *testing.T) {
	disk := mount(t, "tmpfs", "size=8m")
	dir := filepath.Join(disk, "node")
	require.NoError(t, Init(dir, lineTask(), DefaultConfig(lineTask())))
	require.NoError(t, openStore(t, dir).Close())
	fill(t, disk)
	second := filepath.Join(disk, "second") // another name shows what became of the content
	require.NoError(t, os.Link(filepath.Join(dir, StoreFile), second))
	if left, err := Erase(dir); err != nil || len(left) > 0 {
		t.Fatalf("left %q, %v", left, err)
	}
	if text, err := os.ReadFile(second); err != nil || len(text) == 0 || len(strings.Trim(string(text), "\x00")) > 0 {
		t.Errorf("%d bytes of the database, %v; want zeros", len(text), err)
	}
}

// Where a file system needs room to overwrite, as an overlay does for files of its lower layer,
// the files are removed all the same, and named.
func TestLabEraseWhereOverwritingNeedsRoom(t *testing.T) {
	disk, lower := mount(t, "tmpfs", "size=8m"), t.TempDir()
	upper := filepath.Join(disk, "upper")
	require.NoError(t, Init(lower, lineTask(), DefaultConfig(lineTask())))
	require.NoError(t, os.Mkdir(upper, 0o700), os.Mkdir(filepath.Join(disk, "work"), 0o700))
	dir := mount(t, "overlay", fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s/work", lower, upper, disk))
	require.NoError(t, openStore(t, dir).Close())
	fill(t, disk)
	left, err := Erase(dir)
	if err == nil || !storage.DiskFull(err) || !strings.Contains(err.Error(), "were not overwritten before: identity.key, config.toml, task.toml.") {
		t.Errorf("%v, want a full disk and the names of the files of the lower layer", err)
	}
	if got := names(t, dir); len(got) > 0 || len(left) > 0 {
		t.Errorf("the directory has %q, and left are %q", got, left)
	}
}
