package main

import (
	"os"
	"syscall"
)

// scratchRoom is more than a few thousand nodes write, in bytes.
const scratchRoom = 4 << 30

// scratch is where the nodes keep their directories: in memory if there is room,
// because a thousand databases on one disk wait for each other at every release.
// The environment variable TMPDIR decides otherwise.
func scratch() string {
	const memory = "/dev/shm"
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memory, &s) == nil && s.Bavail*uint64(s.Bsize) > scratchRoom {
		return memory
	}
	return os.TempDir()
}
