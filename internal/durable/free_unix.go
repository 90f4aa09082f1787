//go:build linux || darwin

package durable

import "golang.org/x/sys/unix"

// Free is the number of bytes available to this user in the file system of a directory;
// -1: not known.
func Free(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
