package storage

import (
	"bytes"
	"encoding/binary"
	"time"

	"go.etcd.io/bbolt"
)

// Point is a small value with a time.
type Point struct {
	At    time.Time // in whole seconds
	Value []byte
}

// AddPoint adds a value to a named series. It replaces an earlier value of the same
// second. Then it calls thin with all times of the series, ascending, and drops those
// that thin returns. thin must not call the store. Series are stored beside the values of
// PutMeta, so that earlier versions of the program ignore them.
func (s *Store) AddPoint(series string, p Point, thin func([]time.Time) []time.Time) error {
	prefix := seriesKey(series)
	return s.update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketStore)
		if err := put(b, pointKey(prefix, p.At), p.Value); err != nil {
			return err
		}
		var times []time.Time
		c := b.Cursor()
		for key, _ := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = c.Next() {
			at, err := pointTime(prefix, key)
			if err != nil {
				return err
			}
			times = append(times, at)
		}
		callersOwn(func() { times = thin(times) })
		for _, at := range times {
			if err := b.Delete(pointKey(prefix, at)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Points returns a series, oldest first.
func (s *Store) Points(series string) (list []Point, err error) {
	prefix := seriesKey(series)
	err = s.eachUnder(prefix, func(key, value []byte) error {
		at, err := pointTime(prefix, key)
		if err == nil {
			list = append(list, Point{at, bytes.Clone(value)})
		}
		return err
	})
	return list, err
}

// eachUnder visits the values of bucketStore whose keys begin with prefix, in the order of keys,
// until visit returns an error. Keys and values are valid during the visit.
func (s *Store) eachUnder(prefix []byte, visit func(key, value []byte) error) error {
	return s.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketStore).Cursor()
		for key, sealed := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, sealed = c.Next() {
			value, err := unseal(key, sealed)
			if err == nil {
				err = visit(key, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func seriesKey(series string) []byte { return metaKey("series/" + series + "/") }

func pointKey(prefix []byte, at time.Time) []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(prefix), uint64(max(0, at.Unix())))
}

func pointTime(prefix, key []byte) (time.Time, error) {
	if len(key) != len(prefix)+8 {
		return time.Time{}, ErrDamaged
	}
	return time.Unix(int64(binary.BigEndian.Uint64(key[len(prefix):])), 0), nil
}
