package storage

import (
	"errors"
	"os"
	"regexp"
	"strings"

	"go.etcd.io/bbolt"
)

// Hold keeps every other process, and every other Store of this one, from opening the
// database at path until release is called. The database may be damaged, and is made if
// there is none. It fails with ErrLocked, after about a second, if somebody has it open.
func Hold(path string) (release func() error, err error) {
	s := &Store{path: path}
	switch err := s.lock(bbolt.Options{}); {
	case err == nil:
		return s.Close, nil
	case errors.Is(err, ErrDamaged), errors.Is(err, errUnfinished): // nobody can open it
		return func() error { return nil }, nil
	default:
		return nil, err
	}
}

// DropUnfinished removes a database whose making was interrupted, so that nothing is in
// it; any other stays. It fails with ErrLocked if somebody is making it now.
func DropUnfinished(path string) error {
	s := &Store{path: path}
	if !s.unfinished() {
		return nil
	}
	switch err := s.lock(bbolt.Options{}); {
	case err == nil: // an empty file, which is a database now
		return s.Close()
	case errors.Is(err, errUnfinished): // nobody can open it
		return os.Remove(path)
	default:
		return err
	}
}

// besides matches the suffixes of the files that lie beside a database.
var besides = regexp.MustCompile(`^((\.replaced-[0-9]+|\.restoring)?(\.anchor)?|\.before-schema-[0-9]+(\.unfinished)?|\.compacting)$`)

// IsFile reports whether name belongs to the named database in the same directory: the
// database, its anchor, or a file that a restore, an upgrade or a compaction kept or left
// unfinished.
func IsFile(database, name string) bool {
	rest, found := strings.CutPrefix(name, database)
	return found && besides.MatchString(rest)
}
