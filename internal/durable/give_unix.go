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
	return err == nil && other(info) != nil
}

// other returns who else than root owns a file; nil: nobody.
func other(info os.FileInfo) *syscall.Stat_t {
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
		return owner
	}
	return nil
}

// give gives what was just made in a directory to the directory's owner. Both are open, so
// nobody puts something else in their places meanwhile. Where root may not do that, it stays
// root's.
func give(in *os.Root, f *os.File) {
	info, err := in.Stat(".")
	if err != nil {
		return
	}
	if owner := other(info); owner != nil {
		_ = f.Chown(int(owner.Uid), int(owner.Gid))
	}
}
