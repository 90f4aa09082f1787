package storage

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"p2pnode/learner"
)

// Import stores the records of one file with their cells, all or none. It writes them in
// batches, so that neither memory nor a transaction grows with the file. No reader sees
// the records before [Import.Commit]; if the process ends before that, [Open] removes
// them. While an import is under way the store takes no other records, but releases go
// on. An Import is not safe for concurrent use.
type Import struct {
	store   *Store
	in      Intake
	now     time.Time
	last    slot
	first   learner.Seq // the number of its first record
	waiting []slot      // records that are not written yet
	marked  bool        // the mark of an unfinished import is on disk
	ended   bool
}

// Digest is the SHA-256 of a whole file.
type Digest [sha256.Size]byte

// MarshalText writes the digest as hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("storage: a SHA-256 has %d hexadecimal digits, not %d", hex.EncodedLen(len(d)), len(text))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Imported is an earlier import of a file.
type Imported struct {
	Records int
	First   learner.Seq // the number of the first one; 0: their numbers do not follow each other
	Time    time.Time
	Size    int64 // of the file, in bytes; 0: not known
}

// errEnded is the error of an import that was committed or dropped before.
var errEnded = errors.New("storage: this import has ended: begin another one")

// importBatch is how many records wait to be written together.
const importBatch = 8192

// Import begins an import, after the end of an import that is under way. The caller ends
// it with Commit or Drop. It opens cohorts as [Store.Put] does, and also when the ledger
// retires the newest cohort, or that contributes to a private sum, while the import is
// under way: the records that were added before stay in it, later ones do not join it.
func (s *Store) Import(in Intake, now time.Time) (*Import, error) {
	if in.Size < 1 {
		return nil, fmt.Errorf("storage: import: the cohort size %d is not positive", in.Size)
	}
	if err := s.upgraded(); err != nil {
		return nil, fmt.Errorf("storage: import: %w", err)
	}
	s.appending.Lock()
	last, err := s.lastSlot()
	if err == nil {
		err = s.openCohort(&last, in, now)
	}
	if err != nil {
		s.appending.Unlock()
		return nil, fmt.Errorf("storage: import: %w", err)
	}
	return &Import{store: s, in: in, now: now, last: last, first: last.record.Seq + 1}, nil
}

// Add takes a record, whose X must not change any more. It fails if Admit refuses the
// record, and after Commit or Drop.
func (i *Import) Add(r learner.Record) error {
	if i.ended {
		return errEnded
	}
	if err := i.in.Admit(&r); err != nil {
		return fmt.Errorf("storage: record %d of the import does not fit the task: %w; encode it with the task", i.last.record.Seq+2-i.first, err)
	}
	i.store.leaveCohort(&i.last)
	i.last = i.last.next(r, i.in.Size, i.now)
	i.waiting = append(i.waiting, i.last)
	if len(i.waiting) < importBatch {
		return nil
	}
	err := i.store.update(func(tx *bbolt.Tx) error {
		if !i.marked {
			if err := put(tx.Bucket(bucketStore), keyIncoming, numberKey(uint64(i.first))); err != nil {
				return err
			}
		}
		return putSlots(tx, i.waiting)
	})
	if err != nil {
		return fmt.Errorf("storage: import: %w", err)
	}
	i.marked, i.waiting = true, i.waiting[:0]
	return nil
}

// Commit makes the records visible and stores the digest and the size of the file with them.
// It returns the number of the first one; without any record it stores nothing. It fails
// after Commit or Drop. After an error the caller must still call Drop.
func (i *Import) Commit(file Digest, size int64) (first learner.Seq, err error) {
	if i.ended {
		return 0, errEnded
	}
	count := uint64(i.last.record.Seq - i.first + 1)
	if count == 0 {
		return i.first, i.Drop()
	}
	note := Imported{int(count), i.first, i.now, size}.encode()
	err = i.store.update(func(tx *bbolt.Tx) error {
		if err := putSlots(tx, i.waiting); err != nil {
			return err
		}
		b := tx.Bucket(bucketStore)
		if err := b.Delete(keyIncoming); err != nil {
			return err
		}
		return put(b, importKey(file), note)
	})
	if err != nil {
		return 0, fmt.Errorf("storage: import: %w", err)
	}
	i.end()
	return i.first, nil
}

// Drop removes the records, unless they are committed. A second Drop does nothing.
func (i *Import) Drop() error {
	if i.ended {
		return nil
	}
	defer i.end()
	if !i.marked {
		return nil
	}
	if err := i.store.dropUnfinished(); err != nil {
		return fmt.Errorf("storage: drop an import; it is gone when the file is opened next: %w", err)
	}
	return nil
}

func (i *Import) end() {
	i.ended, i.waiting = true, nil
	i.store.appending.Unlock()
}

// Imported returns the newest import of a file with this digest, and whether there
// was one. Deleting its records does not change that.
func (s *Store) Imported(file Digest) (earlier Imported, found bool, err error) {
	note, err := s.value(importKey(file))
	if err != nil || note == nil {
		return Imported{}, false, err
	}
	earlier, err = decodeImported(note)
	return earlier, err == nil, err
}

// ImportSizes returns the sizes of all files that were imported, each once and ascending,
// without those of which it is not known.
func (s *Store) ImportSizes() (sizes []int64, err error) {
	err = s.eachUnder(keyImport, func(_, note []byte) error {
		i, err := decodeImported(note)
		if err == nil && i.Size > 0 {
			sizes = append(sizes, i.Size)
		}
		return err
	})
	slices.Sort(sizes)
	return slices.Compact(sizes), err
}

// Remember notes that a file was imported, as [Import.Commit] does for its own file.
func (s *Store) Remember(file Digest, as Imported) error {
	return s.putValue(importKey(file), as.encode())
}

func (i Imported) encode() []byte {
	note := binary.LittleEndian.AppendUint64(nil, uint64(i.Records))
	note = binary.LittleEndian.AppendUint64(note, uint64(i.First))
	note = binary.LittleEndian.AppendUint64(note, uint64(i.Time.UnixNano()))
	return binary.LittleEndian.AppendUint64(note, uint64(i.Size))
}

// decodeImported reads what encode wrote; earlier versions did so without the size.
func decodeImported(note []byte) (Imported, error) {
	switch len(note) {
	case 3 * 8:
		note = append(note, make([]byte, 8)...)
	case 4 * 8:
	default:
		return Imported{}, fmt.Errorf("%w: the note of an import has the wrong form", ErrDamaged)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(note[8*i:]) }
	return Imported{int(word(0)), learner.Seq(word(1)), time.Unix(0, int64(word(2))), int64(word(3))}, nil
}

func importKey(file Digest) []byte { return append(bytes.Clone(keyImport), file[:]...) }

// unfinished returns the key of the first record of an unfinished import, or nil if
// there is none.
func unfinished(tx *bbolt.Tx) ([]byte, error) {
	key, err := get(tx.Bucket(bucketStore), keyIncoming)
	return bytes.Clone(key), err
}

// dropUnfinished removes the records of an unfinished import in batches. If it is
// interrupted, the next opening of the file continues it.
func (s *Store) dropUnfinished() error {
	for more := true; more; {
		var first []byte
		err := s.view(func(tx *bbolt.Tx) (err error) {
			first, err = unfinished(tx)
			return err
		})
		if err != nil || first == nil {
			return err
		}
		err = s.update(func(tx *bbolt.Tx) error {
			b, cells := tx.Bucket(bucketRecords), tx.Bucket(bucketCells)
			c := b.Cursor()
			for range importBatch {
				// The last ones go first, so that the rest is still an unfinished import.
				key, _ := c.Last()
				if key == nil || bytes.Compare(key, first) < 0 {
					more = false
					return tx.Bucket(bucketStore).Delete(keyIncoming)
				}
				if err := cells.Delete(key); err != nil {
					return err
				}
				if err := b.Delete(key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
