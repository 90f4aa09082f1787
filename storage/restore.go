package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"

	"p2pnode/internal/durable"
	"p2pnode/privacy"
)

// Backup writes a consistent copy of the database, for [Restore], while the node goes on
// working. w should be fast, for example a file: a write that makes the database grow
// waits for the end of the copy, and so does a deletion. So w must not call the store. The
// copy holds the records unencrypted.
func (s *Store) Backup(w io.Writer) error {
	err := s.view(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: it ends before its last page", ErrDamaged)
	}
	if err != nil {
		return fmt.Errorf("storage: copy the database: %w", err)
	}
	return nil
}

// Restore replaces the database at path by the copy at from, a file that [Store.Backup]
// or a stopped node wrote, and writes a new anchor beside it. Every cohort in it is
// retired and later rounds are above round, so that nothing released after the copy was
// made is released again; give the highest round that peers have heard. Restore keeps
// what was at path, the anchor included, beside it, and returns the name under which it
// is kept ("" if nothing was there). from may be path itself, to accept a database that
// its anchor contradicts. Restore only reads from.
//
// accept looks at the copy and returns the policy to open its ledger with. replacing is
// called, unless it is nil, when all is prepared and the old database is kept, before the
// new one takes its place. If one of the two returns an error, nothing is restored.
//
// It fails with ErrLocked if a node has either file open or another restore of path is
// under way, with ErrDamaged or ErrBudget as [Open] and [Store.OpenLedger] do, and then
// nothing has changed.
//
// Restore works in this order: it writes the copy under another name, verifies all of it,
// retires its cohorts and gives it its anchor; it copies the old database aside, then its
// anchor; it renames the new database into place, then its anchor. Each step is on disk
// before the next. After a crash there is the old database with the old anchor, or the
// new one with the old anchor, which opens only if the two fit together and otherwise
// says to restore again. The next restore removes what the crash left under path and
// ".restoring".
//
// Records that came after the copy are not in it. If they are imported again,
// they get a new budget, though they may have been released before.
func Restore(from, path string, accept func(*Store) (privacy.Policy, error), replacing func() error, round uint64) (kept string, err error) {
	r := restore{from: from, path: path, copied: path + ".restoring"}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.prepare(accept, round); errors.Is(err, ErrLocked) {
		return "", fmt.Errorf("storage: nothing has changed: %w", err)
	} else if err != nil {
		return "", fmt.Errorf("storage: restore %s, nothing has changed: %w", from, err)
	}
	if kept, err = r.keepOld(); err != nil {
		return "", fmt.Errorf("storage: keep what is at %s, nothing has changed: %w", path, err)
	}
	if replacing != nil {
		if err := replacing(); err != nil {
			if kept != "" {
				err = errors.Join(err, remove(kept, anchorPath(kept)))
			}
			return "", fmt.Errorf("storage: restore %s, restore again: %w", from, err)
		}
	}
	if err := r.replace(); err != nil {
		return kept, fmt.Errorf("storage: replace %s, restore again: %w", path, err)
	}
	return kept, nil
}

// keptAs stands between the name of a replaced database and a number.
const keptAs = ".replaced-"

// lockedAs follows the name of a database that is being restored. Holding that file keeps
// other restores away, for which the locks of the two databases are not enough: there may
// be none at path, or none that can be locked, and a restore in place only reads it.
const lockedAs = ".restoring.lock"

// restore is one run of Restore.
type restore struct {
	from, path string
	copied     string         // the name of the new database until it is in place
	alone      bool           // no other restore of path is under way
	there      bool           // a file exists at path
	made       bool           // the file at path is an empty one, made to lock it
	held       []func() error // release the locks of from and path, which no node may open meanwhile
}

// prepare makes the new database and its anchor under another name.
func (r *restore) prepare(accept func(*Store) (privacy.Policy, error), round uint64) error {
	release, err := holdLock(r.path + lockedAs)
	if err != nil {
		return err
	}
	r.held, r.alone, r.there = append(r.held, release), true, exists(r.path)
	source := &Store{path: r.from}
	if err := source.lock(bbolt.Options{ReadOnly: true}); err != nil {
		return err
	}
	r.held = append(r.held, source.Close)
	if r.there {
		if err := r.lockTarget(); err != nil {
			return err
		}
	}
	if err := errors.Join(remove(r.copied, anchorPath(r.copied)), writeFile(r.copied, source.Backup)); err != nil {
		return err
	}
	old, err := readAnchor(anchorPath(r.path))
	if err != nil {
		return err
	}
	s, err := (&Store{path: r.copied, copied: true}).open()
	if err != nil {
		return err
	}
	p, err := accept(s)
	if err == nil {
		err = s.retire(p, old, round)
	}
	return errors.Join(err, s.Close())
}

// holdLock holds a file that is nothing but a lock. One that a crash or a full disk left
// incomplete would lock nothing, so it is emptied first. It is not removed: somebody else may hold
// it by now, and goes on holding it.
func holdLock(path string) (release func() error, err error) {
	s := &Store{path: path}
	err = s.lock(bbolt.Options{})
	if errors.Is(err, ErrDamaged) || errors.Is(err, errUnfinished) {
		if err = os.Truncate(path, 0); err == nil {
			err = s.lock(bbolt.Options{})
		}
	}
	return s.Close, err
}

// retire ends the budgets in a copy whose original may have continued up to the anchor
// old.
func (s *Store) retire(p privacy.Policy, old anchor, round uint64) error {
	l, err := s.readLedger(p, anywhere())
	if err != nil {
		return err
	}
	if old.head.sequence > l.head.sequence { // every round that was paid for took at least one entry
		round = max(round, l.round+old.head.sequence-l.head.sequence)
	}
	return l.Retire(round)
}

// keepOld copies the files at path aside. kept is "" if there were none.
func (r *restore) keepOld() (kept string, err error) {
	if !r.there { // locking creates the file, so it is done only after the copy was verified
		r.there = exists(r.path) // somebody may have made one meanwhile
		if err := r.lockTarget(); err != nil {
			return "", err
		}
		r.made = !r.there
	}
	if !r.there && !exists(anchorPath(r.path)) {
		return "", nil
	}
	for n := 1; kept == "" || exists(kept) || exists(anchorPath(kept)); n++ {
		kept = fmt.Sprintf("%s%s%d", r.path, keptAs, n)
	}
	if r.there {
		err = copyFile(kept, r.path)
	}
	if err == nil && exists(anchorPath(r.path)) {
		err = copyFile(anchorPath(kept), anchorPath(r.path))
	}
	if err = errors.Join(err, durable.SyncDir(filepath.Dir(r.path))); err != nil {
		return "", errors.Join(err, remove(kept, anchorPath(kept)))
	}
	return kept, nil
}

// Kept returns the names of the databases that restores replaced at path, and of those that
// upgrades changed.
func Kept(path string) (kept []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		name := filepath.Join(filepath.Dir(path), e.Name())
		rest, beside := strings.CutPrefix(name, path)
		if beside && besides.MatchString(rest) && (strings.HasPrefix(rest, keptAs) && !strings.HasSuffix(rest, anchorPath("")) || strings.HasPrefix(rest, beforeSchema)) {
			kept = append(kept, name)
		}
	}
	return kept, err
}

// lockTarget keeps nodes away from path.
func (r *restore) lockTarget() error {
	if same, err := sameFile(r.from, r.path); same || err != nil {
		return err // locked as the source
	}
	release, err := Hold(r.path)
	if err == nil {
		r.held = append(r.held, release)
	}
	return err
}

// replace moves the new database into place, and then its anchor.
func (r *restore) replace() error {
	if err := os.Rename(r.copied, r.path); err != nil {
		return err
	}
	r.made = false
	if err := durable.SyncDir(filepath.Dir(r.path)); err != nil {
		return err
	}
	return errors.Join(os.Rename(anchorPath(r.copied), anchorPath(r.path)), durable.SyncDir(filepath.Dir(r.path)))
}

// close releases the locks and removes the files that were not moved into place.
func (r *restore) close() (err error) {
	if r.alone {
		err = remove(r.copied, anchorPath(r.copied), r.path+lockedAs)
	}
	if r.made {
		err = errors.Join(err, remove(r.path))
	}
	for _, release := range r.held {
		err = errors.Join(err, release())
	}
	return err
}

// remove removes the files that are there.
func remove(names ...string) (err error) {
	for _, name := range names {
		if removed := os.Remove(name); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}

// exists reports whether there is a file. It returns true if that cannot be found out.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func sameFile(a, b string) (bool, error) {
	first, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	second, err := os.Stat(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(first, second), err
}

// writeFile makes a new file with the content that write writes. The file is on disk when
// it returns.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	err = writeFile(to, func(w io.Writer) error {
		_, err := io.Copy(w, source)
		return err
	})
	return errors.Join(err, source.Close())
}
