package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"go.etcd.io/bbolt"

	"p2pnode/internal/require"
)

// bbolt's own Check is the twin on sound files: whatever bbolt writes, and however its
// pages grow, split, merge and become empty, both accept it.
func TestSoundPagesPass(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 12))
		db, err := bbolt.Open(newPath(t), 0o600, &bbolt.Options{NoSync: true})
		require.NoError(t, err)
		t.Cleanup(func() { db.Close() })
		for step := range 40 {
			require.NoError(t, db.Update(func(tx *bbolt.Tx) error { return churn(r, tx, step) }))
			require.NoError(t, db.View(func(tx *bbolt.Tx) error {
				for err := range tx.Check() {
					return fmt.Errorf("seed %d, step %d: the twin says: %w", seed, step, err)
				}
				return checkFile(tx)
			}))
		}
	}
}

func checkFile(tx *bbolt.Tx) error {
	f, err := os.Open(tx.DB().Path())
	if err != nil {
		return err
	}
	return errors.Join(checkPages(tx, f), f.Close())
}

// churn fills, thins out or empties one of a few buckets, some of them nested.
func churn(r *rand.Rand, tx *bbolt.Tx, step int) error {
	b, err := tx.CreateBucketIfNotExists([]byte{'a' + byte(r.IntN(3))})
	if err != nil {
		return err
	}
	if r.IntN(3) == 0 {
		if b, err = b.CreateBucketIfNotExists([]byte("nested")); err != nil {
			return err
		}
	}
	if step%8 == 7 {
		return empty(b)
	}
	for range 1 + r.IntN(300) {
		key := numberKey(uint64(r.IntN(500)))
		if r.IntN(3) == 0 {
			err = b.Delete(key)
		} else {
			err = b.Put(key, make([]byte, r.IntN(1<<r.IntN(14))))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func empty(b *bbolt.Bucket) error {
	for {
		key, value := b.Cursor().First()
		if key == nil {
			return nil
		}
		del := b.Delete
		if value == nil {
			del = b.DeleteBucket
		}
		if err := del(key); err != nil {
			return err
		}
	}
}
