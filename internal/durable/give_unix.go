//go:build unix

package durable

import (
	"os"
	"syscall"
)

// gives reports whether what is made in a directory may belong to somebody else than the process.
func gives(dir string) bool {
	if os.Geteuid() != 0 {
		return false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && owner.Uid != 0
}

// give gives what was just made in a directory to the directory's owner. Both are open, so
// nobody puts something else in their places meanwhile. Where root may not do that, it stays
// root's.
func give(in *os.Root, f *os.File) {
	info, err := in.Stat(".")
	if err != nil {
		return
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
		_ = f.Chown(int(owner.Uid), int(owner.Gid))
	}
}
