package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// Hold keeps every other process, and every other Store of this process, from opening the
// database at path until release is called. The database may be damaged; if there is
// none, Hold makes it. It fails with ErrLocked, after about a second, if somebody has it
// open.
func Hold(path string) (release func() error, err error) {
	s := &Store{path: path}
	switch err := s.lock(bbolt.Options{}); {
	case err == nil:
		return s.Close, nil
	case errors.Is(err, ErrDamaged), errors.Is(err, errUnfinished): // nobody can open such a file anyway
		return func() error { return nil }, nil
	default:
		return nil, err
	}
}

// DropUnfinished removes a database that a crash interrupted while it was made, so that
// nothing is in it. It leaves every other file alone. It fails with ErrLocked if
// somebody is making it now.
func DropUnfinished(path string) error {
	s := &Store{path: path}
	if !s.unfinished() {
		return nil
	}
	switch err := s.lock(bbolt.Options{}); {
	case err == nil: // an empty file, which this has made a database
		return s.Close()
	case errors.Is(err, errUnfinished): // nobody can open such a file anyway
		return os.Remove(path)
	default:
		return err
	}
}

// besides matches the suffixes of the files that lie beside a database.
var besides = regexp.MustCompile(`^((\.replaced-[0-9]+|\.restoring)?(\.anchor)?|\.restoring\.lock|\.before-schema-[0-9]+(\.unfinished)?|\.compacting)$`)

// IsFile reports whether name belongs to the named database in the same directory: the
// database, its anchor, or a file that a restore, an upgrade or a compaction kept or left
// unfinished.
func IsFile(database, name string) bool {
	rest, found := strings.CutPrefix(name, database)
	return found && besides.MatchString(rest)
}

// Where bbolt's magic number is in either of the first two pages, and what it is.
const magicAt, magic = 16, 0xED0CDAED

// begun reports whether a file is what a crash leaves of bbolt's first write: it begins as
// that does, or holds nothing but zeros.
func begun(path string) bool {
	data, err := os.ReadFile(path)
	const metaPage = 4
	first := make([]byte, 8, magicAt+4) // the number of the page
	first = binary.NativeEndian.AppendUint16(first, metaPage)
	first = append(first, make([]byte, magicAt-len(first))...)
	first = binary.NativeEndian.AppendUint32(first, magic)
	return err == nil && (bytes.HasPrefix(first, data) || len(bytes.Trim(data, "\x00")) == 0 || IsDatabase(path))
}

// IsDatabase reports whether one of the first two pages of a file, which may be damaged, says
// that it is a database.
func IsDatabase(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return slices.ContainsFunc([]int64{0, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10}, func(page int64) bool { // the second, by the size of a page
		var word [4]byte
		_, err := f.ReadAt(word[:], page+magicAt)
		return err == nil && binary.NativeEndian.Uint32(word[:]) == magic
	})
}
