//go:build linux || darwin

package main

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// occupy locks a directory until release is called or the process ends. The lock has its name
// only once it is held, so that nobody takes the directory for abandoned before.
func occupy(dir string) (release func() error, err error) {
	f, err := os.CreateTemp(dir, lockName)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, lockName))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// abandoned reports whether the process that occupied a directory is gone, and the directory is not.
func abandoned(dir string) bool {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false // of an earlier version, or of another user
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false
	}
	locked, err := f.Stat()
	there, gone := os.Stat(path)
	return err == nil && gone == nil && os.SameFile(locked, there) // else its process has just removed it
}
