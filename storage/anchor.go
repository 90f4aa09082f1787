package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The anchor file holds the head of the ledger's chain outside the database:
// sequence (8), CRC (4), little endian, sealed. It is replaced as a whole, so a
// crash leaves the old or the new one.
const anchorSize = 8 + 4

func anchorPath(path string) string { return path + ".anchor" }

// writeAnchor returns after the anchor is on disk. The store's lock keeps other
// writers away from the temporary file.
func writeAnchor(path string, head link) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(encodeAnchor(head))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readAnchor returns the head stored last; found is false if there is no file.
func readAnchor(path string) (head link, found bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return link{}, false, nil
	}
	if err != nil {
		return link{}, false, err
	}
	head, err = decodeAnchor(data)
	return head, true, err
}

func encodeAnchor(head link) []byte {
	data := binary.LittleEndian.AppendUint64(nil, head.sequence)
	return seal(nil, binary.LittleEndian.AppendUint32(data, head.crc))
}

func decodeAnchor(data []byte) (link, error) {
	data, err := unseal(nil, data)
	if err != nil || len(data) != anchorSize {
		return link{}, fmt.Errorf("%w: the anchor is not readable", ErrDamaged)
	}
	return link{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint32(data[8:])}, nil
}
