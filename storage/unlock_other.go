//go:build !linux && !darwin

package storage

import "os"

// unlock does nothing: on these systems closing the file drops bbolt's lock, or the lock
// stays until the process ends.
func unlock(*os.File) {}
