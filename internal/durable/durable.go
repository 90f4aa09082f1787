// Package durable replaces files so that a crash, or a power cut, leaves the old one or
// the new one, and clears what a file held. What root makes in a directory of another user
// belongs to that user, who could not go on with it otherwise.
package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Replace makes path a file with these bytes, which only its owner can read, and
// returns when it is on disk. If it is interrupted, path has the old or the new
// content; a file whose name begins with the same letters may be left beside it.
func Replace(path string, data []byte) error {
	f, err := createTemp(path)
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

// createTemp makes a file beside path with a new name.
func createTemp(path string) (*os.File, error) {
	if !gives(filepath.Dir(path)) {
		return os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	}
	for {
		f, err := create(fmt.Sprintf("%s.%d", path, rand.Uint32()), os.O_RDWR, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// create makes a new file. It belongs to the directory's owner if root makes it.
func create(path string, flag int, mode os.FileMode) (*os.File, error) {
	flag |= os.O_CREATE | os.O_EXCL
	if !gives(filepath.Dir(path)) {
		return os.OpenFile(path, flag, mode)
	}
	in, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := in.OpenFile(filepath.Base(path), flag, mode)
	if failed, ok := errors.AsType[*fs.PathError](err); ok { // its path is the name alone
		failed.Op, failed.Path = "open", path
	}
	if err == nil {
		give(in, f)
	}
	return f, err
}

// OpenFile is [os.OpenFile], and a file that it makes belongs to the directory's owner.
func OpenFile(path string, flag int, mode os.FileMode) (*os.File, error) {
	if flag&os.O_CREATE == 0 || !gives(filepath.Dir(path)) {
		return os.OpenFile(path, flag, mode)
	}
	// Only what is certainly new is given away: another user may put a link to a file of
	// root's here.
	f, err := create(path, flag, mode)
	if flag&os.O_EXCL == 0 && errors.Is(err, fs.ErrExist) {
		return os.OpenFile(path, flag, mode)
	}
	return f, err
}

// MkdirAll makes a directory that only its owner can read, and those above it, unless they
// are there. Each belongs to the owner of the one that it is in.
func MkdirAll(path string) error {
	path = filepath.Clean(path)
	above := filepath.Dir(path)
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) || above == path { // no such drive
		return os.MkdirAll(path, 0o700)
	}
	if err := MkdirAll(above); err != nil {
		return err
	}
	if !gives(above) {
		return os.MkdirAll(path, 0o700)
	}
	if err := mkdir(above, filepath.Base(path)); err != nil {
		return os.MkdirAll(path, 0o700) // another process made it, or it cannot be made
	}
	return nil
}

// mkdir makes a directory in another one, and gives it away if it is empty, as a new one is: its
// name may be that of another one by now.
func mkdir(above, name string) error {
	in, err := os.OpenRoot(above)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := in.Mkdir(name, 0o700); err != nil {
		return err
	}
	d, err := in.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.ReadDir(1); err == io.EOF {
		give(in, d)
	}
	return nil
}

// SyncDir returns when the names in a directory are on disk.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// block is how much is looked at together: no more than a page of a database, which is the
// least that is left as a hole.
const block = 4096

// Clear replaces the content of a file by zeros, which are on disk when it returns. What is
// zero already stays as it is. So holes stay holes, and a full disk has room for it, unless
// the file system writes every change to another place.
func Clear(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	content, zeros := make([]byte, block), make([]byte, block)
	for at := int64(0); at < info.Size(); at += block {
		n := min(block, info.Size()-at)
		// What cannot be read is overwritten too.
		if _, err := f.ReadAt(content[:n], at); err == nil && bytes.Equal(content[:n], zeros[:n]) {
			continue
		}
		if _, err := f.WriteAt(zeros[:n], at); err != nil {
			return errors.Join(err, f.Sync())
		}
	}
	return f.Sync()
}
