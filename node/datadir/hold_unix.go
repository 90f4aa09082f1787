//go:build linux || darwin

package datadir

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// hold waits until nobody else holds a directory, and then holds it until release is
// called or the process ends.
func hold(dir string) (release func() error, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), d.Close())
	}
	return d.Close, nil
}
