package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"p2pnode/internal/durable"
)

// beforeSchema stands in the name of a copy between the name of the database that was
// upgraded and the number of the new schema.
const beforeSchema = ".before-schema-"

// keptFor is how long a copy that was made before an upgrade is kept. The copy holds
// records, even those that are deleted later.
const keptFor = 30 * 24 * time.Hour

// spare is how many bytes of the disk are left free beside what is about to be written.
const spare = 16 << 20

// keepBefore copies the file beside itself before an upgrade changes it. Nobody else
// writes meanwhile. If the disk has no room for both the copy and the upgrade, nothing
// changes.
func (s *Store) keepBefore() error {
	if s.copied { // a copy: the original stays as it is
		return nil
	}
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("storage: upgrade: %w", err)
	}
	if err := enoughRoom(s.path, "upgrading the database", 2*info.Size()); err != nil {
		return err
	}
	kept := fmt.Sprintf("%s%s%d", s.path, beforeSchema, schemaVersion)
	unfinished := kept + ".unfinished"
	err = remove(unfinished)
	if err == nil {
		err = writeFile(unfinished, func(w io.Writer) error {
			_, err := io.Copy(w, io.NewSectionReader(s.file, 0, info.Size()))
			return err
		})
	}
	if err == nil {
		err = errors.Join(os.Rename(unfinished, kept), durable.SyncDir(filepath.Dir(s.path)))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("storage: keep the database as it is before the upgrade, nothing has changed: %w", err), remove(unfinished))
	}
	s.kept = kept
	return nil
}

// KeptBefore returns the name of the copy that the opening or the upgrade of this store made
// before it changed the layout of the file; "" if it changed none.
func (s *Store) KeptBefore() string { return s.kept }

// enoughRoom returns an error if the disk is known to have no room for that many bytes.
func enoughRoom(path, what string, size int64) error {
	size += spare
	if free := durable.Free(filepath.Dir(path)); free >= 0 && free < size {
		return fmt.Errorf("storage: %s needs %d MB on the disk, and %d MB are free: free some and start again; nothing has changed (%w)", what, size>>20+1, free>>20, syscall.ENOSPC)
	}
	return nil
}

// tidy is the last step of opening a file: it removes files beside it that are not needed
// any more, and compacts the file if most of it is unused.
func (s *Store) tidy(now time.Time) error {
	if err := dropBeside(s.path, now); err != nil || s.release1.Load() || !s.sparse() {
		return err
	}
	err := s.Compact()
	if err != nil && DiskFull(err) && s.writable() == nil {
		return nil // the next opening tries again
	}
	return err
}

// unneeded matches the suffixes of files that a crash left beside a database.
var unneeded = regexp.MustCompile(`^(\.before-schema-[0-9]+\.unfinished|\.compacting)$`)

// dropBeside removes what crashes left, and copies that are older than keptFor.
func dropBeside(path string, now time.Time) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		suffix, beside := strings.CutPrefix(e.Name(), filepath.Base(path))
		if !beside || !besides.MatchString(suffix) || !e.Type().IsRegular() {
			continue
		}
		info, infoErr := e.Info()
		if errors.Is(infoErr, fs.ErrNotExist) {
			continue
		}
		old := strings.HasPrefix(suffix, beforeSchema) && infoErr == nil && now.Sub(info.ModTime()) > keptFor
		if old || unneeded.MatchString(suffix) {
			err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("storage: tidy up beside %s: %w", path, err)
	}
	return nil
}
