package storage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"p2pnode/internal/durable"
)

const (
	// sparseBytes is how much of a file must be unused for [Open] to compact it.
	sparseBytes = 16 << 20
	// compactBatch is how many bytes one transaction writes into the new file.
	compactBatch = 1 << 20
)

// used returns how many bytes of the file are in use, and how many are unused but were
// used before.
func (s *Store) used(tx *bbolt.Tx) (used, unused int64) {
	stats := s.db.Stats()
	unused = int64(stats.FreePageN+stats.PendingPageN) * s.page
	return tx.Size() - unused, unused
}

// Used returns how many bytes of the file are in use. New data fills the rest before the
// file grows.
func (s *Store) Used() (used int64, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		used, _ = s.used(tx)
		return nil
	})
	return used, err
}

// sparse reports whether a file that was opened just now is worth compacting: more than
// half of it, and more than sparseBytes, is unused.
func (s *Store) sparse() (is bool) {
	_ = s.view(func(tx *bbolt.Tx) error { // cannot fail: the file was opened just now
		used, unused := s.used(tx)
		is = unused > sparseBytes && unused > used
		return nil
	})
	return is
}

// Compact writes everything that the file holds into a new file without unused space, and
// puts the new file in its place. Meanwhile nothing else can read or write. What was
// paid, the anchor and all numbers stay the same.
//
// The new file has another name at first. It gets the name of the old one only when it
// has been compared with it, is on disk completely, and is locked. After a crash there is
// either the old file or the new one; the next opening removes what a crash left of the
// new one. After an error the old file stays in use, unless the error is an
// [ErrPoisoned].
func (s *Store) Compact() error {
	if err := s.upgraded(); err != nil {
		return fmt.Errorf("storage: compact: %w", err)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	made := &Store{path: s.path + ".compacting"}
	err := s.protect(func() error { return s.copyInto(made) })
	if err != nil {
		return errors.Join(fmt.Errorf("storage: compact %s, nothing has changed: %w", s.path, err), remove(made.path))
	}
	old := s.db
	if err := os.Rename(made.path, s.path); err != nil {
		return errors.Join(fmt.Errorf("storage: compact %s, nothing has changed: %w", s.path, err), made.Close(), remove(made.path))
	}
	s.db, s.file = made.db, made.file // the store now holds the lock of the new file
	if err := errors.Join(durable.SyncDir(filepath.Dir(s.path)), old.Close()); err != nil {
		return s.fail(err) // a crash now could leave either file
	}
	return nil
}

// copyInto makes another file with the same content. The file is open and on disk when it
// returns; after an error it is closed.
func (s *Store) copyInto(made *Store) error {
	err := s.db.View(func(tx *bbolt.Tx) error {
		used, _ := s.used(tx)
		return errors.Join(enoughRoom(s.path, "compacting the database", used), remove(made.path))
	})
	if err == nil {
		err = made.lock(bbolt.Options{})
	}
	if err != nil {
		return err
	}
	made.db.NoSync = true // Sync is called once, at the end
	err = bbolt.Compact(made.db, s.db, compactBatch)
	if err == nil {
		err = made.db.Sync()
	}
	made.db.NoSync = false
	if err == nil {
		err = made.view(func(tx *bbolt.Tx) error { return checkPages(tx, made.file) })
	}
	if err == nil {
		err = s.sameAs(made)
	}
	if err != nil {
		return errors.Join(err, made.Close())
	}
	return nil
}

// sameAs returns an error unless another store holds the same bytes.
func (s *Store) sameAs(made *Store) error {
	return s.db.View(func(tx *bbolt.Tx) error {
		return made.db.View(func(other *bbolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
				copied := other.Bucket(name)
				if copied == nil {
					return fmt.Errorf("%w: the copy lacks a part", ErrDamaged)
				}
				return sameBucket(b.Cursor(), copied.Cursor())
			})
		})
	})
}

func sameBucket(a, b *bbolt.Cursor) error {
	key, value := a.First()
	other, copied := b.First()
	for key != nil && bytes.Equal(key, other) && bytes.Equal(value, copied) {
		key, value = a.Next()
		other, copied = b.Next()
	}
	if key != nil || other != nil {
		return fmt.Errorf("%w: the copy is not the same", ErrDamaged)
	}
	return nil
}
