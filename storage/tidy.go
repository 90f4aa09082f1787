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

// beforeSchema stands between the name of a database that was upgraded and the number of
// the new schema.
const beforeSchema = ".before-schema-"

// keptFor is how long the copy that was made before an upgrade stays. It holds records,
// those deleted since too.
const keptFor = 30 * 24 * time.Hour

// spare is how much room is left beside what is going to be written.
const spare = 16 << 20

// keepBefore copies the file beside itself before an upgrade changes it. Nobody writes
// meanwhile. If there is not enough room for the copy and for the upgrade, nothing changes.
func (s *Store) keepBefore() error {
	if s.copied { // of a file that stays
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
	s.kept = true
	return nil
}

// enoughRoom reports an error if the disk has no room for so many bytes more, where that can
// be known.
func enoughRoom(path, what string, size int64) error {
	size += spare
	if free := durable.Free(filepath.Dir(path)); free >= 0 && free < size {
		return fmt.Errorf("storage: %s needs %d MB on the disk, and %d MB are free: free some and start again; nothing has changed (%w)", what, size>>20+1, free>>20, syscall.ENOSPC)
	}
	return nil
}

// tidy ends the opening of a file: it removes what is not needed any more beside it, and
// makes it smaller if most of it is unused.
func (s *Store) tidy(now time.Time) error {
	if err := dropBeside(s.path, now); err != nil || s.release1.Load() || !s.sparse() {
		return err
	}
	err := s.Compact()
	if err != nil && DiskFull(err) && s.writable() == nil {
		return nil // another time
	}
	return err
}

// unneeded matches the suffixes of what a crash left beside a database.
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
