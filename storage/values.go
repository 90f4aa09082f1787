package storage

import (
	"bytes"
	"encoding/json"

	"go.etcd.io/bbolt"
)

// PutMeta stores a small string, for example the task's hash.
func (s *Store) PutMeta(key, value string) error {
	return s.putValue(metaKey(key), []byte(value))
}

// Meta returns the string that PutMeta stored last, or "" if there is none.
func (s *Store) Meta(key string) (string, error) {
	value, err := s.value(metaKey(key))
	return string(value), err
}

// PutMetaJSON stores a small value as [Store.PutMeta] does.
func (s *Store) PutMetaJSON(key string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.PutMeta(key, string(text))
}

// MetaJSON reads into v what PutMetaJSON stored last. If there is nothing, v stays as it is.
func (s *Store) MetaJSON(key string, v any) error {
	text, err := s.Meta(key)
	if err != nil || text == "" {
		return err
	}
	return json.Unmarshal([]byte(text), v)
}

func metaKey(key string) []byte { return append(bytes.Clone(keyMeta), key...) }

func (s *Store) putValue(key, value []byte) error {
	return s.update(func(tx *bbolt.Tx) error {
		return put(tx.Bucket(bucketStore), key, value)
	})
}

// value returns a copy that outlives the transaction.
func (s *Store) value(key []byte) (value []byte, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		found, err := get(tx.Bucket(bucketStore), key)
		value = bytes.Clone(found)
		return err
	})
	return value, err
}
