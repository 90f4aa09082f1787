// Package durable replaces files so that a crash, or a power cut, leaves the old one or
// the new one.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace makes path a file with these bytes, which only its owner can read, and
// returns when it is on disk. If it is interrupted, path has the old or the new
// content; a file whose name begins with the same letters may be left beside it.
func Replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir returns when the names in a directory are on disk.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
