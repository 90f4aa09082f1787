//go:build unix

package paper

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock locks f for this process until f is closed, or returns an error if another
// process has locked it.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
