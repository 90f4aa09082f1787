package storage

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"go.etcd.io/bbolt"
)

// update runs fn in a write transaction and commits it to disk. If fn returns an error,
// nothing has changed.
func (s *Store) update(fn func(*bbolt.Tx) error) error {
	var refused error
	err := s.write(func() error {
		err := s.commit(func(tx *bbolt.Tx) error {
			refused = fn(tx)
			return refused
		})
		if refused != nil {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return refused
}

// write runs fn, which writes to the file. After it has failed, the store writes nothing
// any more. After Close it fails with ErrClosed.
func (s *Store) write(fn func() error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	err := s.protect(fn)
	if err == nil || errors.Is(err, ErrClosed) { // bbolt refuses before it writes
		return err
	}
	return s.fail(err)
}

// fail makes every later write fail with this error.
func (s *Store) fail(cause error) error {
	err := fmt.Errorf("%w: %w", ErrPoisoned, cause)
	switch {
	case DiskFull(cause):
		err = fmt.Errorf("storage: the disk is full: free space, then start again; what was stored is there (%w)", err)
	case errors.Is(cause, syscall.EROFS):
		err = fmt.Errorf("storage: %s; what was stored is there (%w)", ReadOnlyDisk, err)
	}
	if s.failed.CompareAndSwap(nil, &err) {
		close(s.failing)
	}
	return err
}

// Failed returns a channel that is closed once a write has failed: see [Store.Failure].
func (s *Store) Failed() <-chan struct{} { return s.failing }

// Failure returns the error of the first write that failed, an ErrPoisoned, and nil while
// none has.
func (s *Store) Failure() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// ReadOnlyDisk says what to do where the operating system refuses with [syscall.EROFS].
const ReadOnlyDisk = "the disk is mounted read-only, as a memory card often is after an error: mount it for writing again, " +
	"or copy the whole directory to another disk (cp -a), open the copy, and never the old one again"

// DiskFull reports whether an error says that the disk or the quota is full. It looks at
// the text, because some errors of bbolt keep only that.
func DiskFull(err error) bool {
	return strings.Contains(err.Error(), syscall.ENOSPC.Error()) || strings.Contains(err.Error(), syscall.EDQUOT.Error())
}

// writable returns an error if nothing can be written any more.
func (s *Store) writable() error {
	if s.broken.Load() {
		return ErrDamaged
	}
	return s.Failure()
}
