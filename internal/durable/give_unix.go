//go:build unix

package durable

import (
	"os"
	"path/filepath"
	"syscall"
)

// give gives a new file or directory to the owner of the directory that it is in, where
// root made it. Where root may not do that, it stays root's.
func give(f *os.File) {
	if os.Geteuid() != 0 {
		return
	}
	if info, err := os.Stat(filepath.Dir(f.Name())); err == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
			_ = f.Chown(int(owner.Uid), int(owner.Gid))
		}
	}
}

// giveDir gives a new directory, and never what somebody put in its place meanwhile.
func giveDir(path string) {
	if f, err := os.OpenFile(path, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0); err == nil {
		give(f)
		f.Close()
	}
}
