package storage

import (
	"errors"
	"os"
	"syscall"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"
)

// exclude keeps other Stores of this process out. On Android bbolt's own lock does not do
// that: it uses fcntl, which locks out other processes but never the same one.
func exclude(f *os.File, flag int) error {
	how := syscall.LOCK_EX
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		how = syscall.LOCK_SH
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(lockWait / 20) {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if time.Now().After(deadline) {
			return bolterrors.ErrTimeout
		}
	}
}
