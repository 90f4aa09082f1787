package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"
)

// castagnoli is never changed.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const crcSize = 4

// seal appends a CRC-32C over key and value, because bbolt itself does not notice a
// changed byte in a page.
func seal(key, value []byte) []byte {
	sealed := make([]byte, 0, len(value)+crcSize)
	sealed = append(sealed, value...)
	return binary.LittleEndian.AppendUint32(sealed, sealSum(key, value))
}

// unseal checks the CRC and returns the value. The value shares memory with sealed.
func unseal(key, sealed []byte) ([]byte, error) {
	n := len(sealed) - crcSize
	if n < 0 || binary.LittleEndian.Uint32(sealed[n:]) != sealSum(key, sealed[:n]) {
		return nil, fmt.Errorf("%w: a value does not match its checksum", ErrDamaged)
	}
	return sealed[:n:n], nil
}

func sealSum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// put seals and stores a value.
func put(b *bbolt.Bucket, key, value []byte) error {
	return b.Put(key, seal(key, value))
}

// get returns a value that is valid during the transaction, or nil if there is none.
func get(b *bbolt.Bucket, key []byte) ([]byte, error) {
	sealed := b.Get(key)
	if sealed == nil {
		return nil, nil
	}
	return unseal(key, sealed)
}

// numberKey returns a key for a number. bbolt sorts these keys as the numbers are sorted.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
