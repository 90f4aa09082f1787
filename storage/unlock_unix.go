//go:build linux || darwin

package storage

import (
	"os"
	"syscall"
)

// unlock drops the lock of bbolt's file. Closing the file does not, because its memory map
// keeps it open.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
