package storage

import (
	"fmt"
	"strconv"

	"go.etcd.io/bbolt"

	"p2pnode/internal/program"
)

// schemaVersion is the version of the file's layout. A program refuses a file with a
// newer one.
//
// Version 2 added the time at which a cohort was opened and three kinds of ledger
// entries.
//
// Version 3 added the owner's cells, and codes records as [learner.Task.Encode] does now;
// the file may end with records of an import that was not finished.
//
// Version 4 added contributions to private sums, and their entries in the ledger.
//
// Version 5 added the IDs of records.
const schemaVersion = 5

// schemaRelease1 is the layout of the first release, which [Store.Upgrade] converts to
// the present one.
const schemaRelease1 = 2

// sinceRelease1 lists the buckets that a file of the first release does not have.
var sinceRelease1 = [][]byte{bucketCells, bucketSums, bucketIDs, bucketKnown}

// prepare creates the buckets of a new file, or checks the schema of an old one. It
// converts a file from before the first release to the schema of that release, and a
// later file to this version.
func (s *Store) prepare() error {
	var known int // version
	var empty bool
	err := s.view(func(tx *bbolt.Tx) error {
		first, _ := tx.Cursor().First()
		empty = first == nil
		b := tx.Bucket(bucketStore)
		if b == nil {
			return nil
		}
		text, err := get(b, keySchema)
		if err != nil {
			return err
		}
		version, err := strconv.Atoi(string(text))
		if err != nil {
			return nil
		}
		if version > schemaVersion {
			return tooNew(b, version)
		}
		known = version
		return nil
	})
	s.release1.Store(known > 0 && known <= schemaRelease1)
	if err != nil || known == schemaVersion || known == schemaRelease1 {
		return err
	}
	if !empty && known == 0 {
		return fmt.Errorf("%w: it has no p2pnode schema", ErrDamaged)
	}
	if known > 0 {
		if err := s.keepBefore(); err != nil {
			return err
		}
	}
	return s.update(func(tx *bbolt.Tx) error {
		switch {
		case known > schemaRelease1: // versions 3 and 4
			return laterBuckets(tx)
		case known > 0:
			return putSchema(tx, schemaRelease1)
		}
		for _, name := range buckets() {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return putSchema(tx, schemaVersion)
	})
}

// laterBuckets adds the buckets that earlier versions did not have.
func laterBuckets(tx *bbolt.Tx) error {
	for _, name := range sinceRelease1 {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return putSchema(tx, schemaVersion)
}

func putSchema(tx *bbolt.Tx, version int) error {
	b := tx.Bucket(bucketStore)
	if err := put(b, keyWriter, []byte(program.Version())); err != nil {
		return err
	}
	return put(b, keySchema, []byte(strconv.Itoa(version)))
}

// tooNew returns the error for a file that a later program, or a later version of this
// one, wrote.
func tooNew(b *bbolt.Bucket, version int) error {
	writer, err := get(b, keyWriter)
	by := "a newer p2pnode"
	if err == nil && writer != nil {
		by = "p2pnode " + string(writer)
	}
	return fmt.Errorf("storage: %s wrote the file, with schema %d, and this is p2pnode %s, which knows schema %d at most: use that version or a newer one; "+
		"the copy that an upgrade kept beside it, if it is still there, knows nothing of what was paid since", by, version, program.Version(), schemaVersion)
}
