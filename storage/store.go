package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"p2pnode/internal/durable"
)

// The errors that callers tell apart.
var (
	// ErrLocked: another process (or another Store) has the file open.
	ErrLocked = errors.New("storage: another p2pnode uses this directory")
	// ErrDamaged: the file, or a value in it, is not what was written.
	ErrDamaged = errors.New("storage: the file is damaged")
	// ErrMissing: the file is not there, and its anchor says that it was.
	ErrMissing = errors.New("storage: the database is missing")
	// errUnfinished: a crash or a full disk interrupted bbolt's first write.
	errUnfinished = errors.New("storage: the file is unfinished and holds nothing: delete it and start again")
	// ErrClosed: the store was closed before.
	ErrClosed = errors.New("storage: the store is closed: open it again")
	// ErrNoRecord: there is no such record, or it was deleted before.
	ErrNoRecord = errors.New("storage: no such record")
)

// lockWait is how long Open waits for another process to release the file.
const lockWait = time.Second

// The top-level buckets. All their values are sealed.
var (
	bucketStore   = []byte("store")   // single values, by the keys below
	bucketRecords = []byte("records") // by arrival number
	bucketCells   = []byte("cells")   // by arrival number
	bucketLedger  = []byte("ledger")  // by sequence number
	bucketEdges   = []byte("edges")   // by peer
	bucketPeers   = []byte("peers")   // by peer
	bucketSums    = []byte("sums")    // uploads, by the sum's name
	bucketIDs     = []byte("ids")     // by arrival number
	bucketKnown   = []byte("known")   // where the record with an ID is, by the ID

	keyCommitted = []byte("committed")
	keyMeta      = []byte("meta/") // followed by the caller's key
	keySchema    = []byte("schema")
	keyWriter    = []byte("writer")   // the version of the program that wrote the schema
	keyImport    = []byte("import/")  // followed by a file's digest
	keyIncoming  = []byte("incoming") // the key of the first record of an import under way
)

func buckets() [][]byte {
	return [][]byte{bucketStore, bucketRecords, bucketCells, bucketLedger, bucketEdges, bucketPeers, bucketSums, bucketIDs, bucketKnown}
}

// Store is one node's file. It is safe for concurrent use. Every method that
// changes something returns after the change is on disk.
type Store struct {
	db     *bbolt.DB
	file   *os.File // the file that db has open
	path   string
	page   int64  // bytes of a page
	copied bool   // it is a copy of a file that stays in place
	kept   string // the name of the copy that was made before the upgrade; "": none
	// release1 is true while the records are as the first release left them.
	release1 atomic.Bool
	// broken is set once bbolt panicked: its locks may be held for ever.
	broken atomic.Bool
	// failed is the error of the first write that failed, if one did. bbolt reads through
	// a memory map, so it could continue with bytes that never reached the disk.
	failed  atomic.Pointer[error]
	failing chan struct{} // closed once failed is set

	// wiped is set once all unused pages were overwritten, and that is on disk. Before, a page
	// that is read as zeros may be another one on the disk: a write of an earlier run failed
	// late. It is guarded by writing.
	wiped bool

	writing sync.Mutex   // no write may begin before the failure of an earlier one is noted
	reading sync.RWMutex // held for writing while no read transaction may be open

	commits, anchors stopwatch // see [Stats]

	appending sync.Mutex // one Put or Import at a time
	deleting  sync.Mutex // one DeleteRecords or Expire at a time

	ledgerMu sync.Mutex
	ledger   *Ledger // two ledgers over one file would not see each other's debits
}

// Open opens the file at path, or creates it with mode 0600, and verifies all of it
// except the ledger's chain, which OpenLedger verifies. It fails with ErrLocked after
// about a second if the file is in use, with ErrMissing if there is only an anchor, with
// ErrDamaged if the file is not as it was written, and with another error if a newer
// version of the program wrote it.
//
// Before it changes the layout of an older file, it copies the file. The name of the copy
// ends in ".before-schema-" and the number of the new layout; it stays for 30 days. If
// most of a file is unused, Open compacts it.
func Open(path string) (*Store, error) { return (&Store{path: path}).open() }

func (s *Store) open() (*Store, error) {
	path := s.path
	if exists(anchorPath(path)) {
		switch info, err := os.Stat(path); {
		case !exists(path):
			return nil, fmt.Errorf("%w (%s)", ErrMissing, path)
		case err == nil && info.Size() == 0: // bbolt would begin a new one
			return nil, fmt.Errorf("%w: it is empty, and the anchor beside it says that it was not (%s)", ErrDamaged, path)
		}
	}
	if err := s.lock(bbolt.Options{}); err != nil {
		return nil, err
	}
	// The order matters: nothing may follow bbolt's pages before they are checked.
	err := s.view(func(tx *bbolt.Tx) error { return checkPages(tx, s.file) })
	if err == nil {
		err = s.prepare()
	}
	if err == nil {
		err = s.verify()
	}
	if err == nil {
		err = s.dropUnfinished()
	}
	if err == nil {
		err = s.tidy(time.Now())
	}
	if err != nil {
		s.Close()
		if s.unfinished() && !DiskFull(err) { // bbolt takes a file with nothing but its first two pages for a database
			err = errUnfinished
		}
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return s, nil
}

// lock opens the file and takes its lock.
func (s *Store) lock(o bbolt.Options) error {
	o.Timeout, o.OpenFile = lockWait, s.openFile
	err := s.protect(func() (err error) {
		s.db, err = bbolt.Open(s.path, 0o600, &o)
		return err
	})
	if err != nil {
		if s.broken.Load() {
			s.release()
		}
		return s.openError(err)
	}
	s.page, s.failing = int64(s.db.Info().PageSize), make(chan struct{})
	return s.current()
}

// current returns ErrLocked, and closes the file, if another file has taken its place: a
// restore or a compaction ended while this store waited for the lock.
func (s *Store) current() error {
	mine, err := s.file.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(s.path); err == nil && os.SameFile(mine, there) {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("%w (%s): it was replaced just now, try again", ErrLocked, s.path), err, s.Close())
}

// openFile opens bbolt's file and keeps it for checkPages: on some systems closing a
// second file would release the lock.
func (s *Store) openFile(name string, flag int, mode os.FileMode) (f *os.File, err error) {
	if s.file, err = durable.OpenFile(name, flag, mode); err != nil {
		return nil, err
	}
	if err := exclude(s.file, flag); err != nil {
		s.file.Close()
		return nil, err
	}
	return s.file, nil
}

// openError returns the error for a file that does not open: it is damaged, in use or
// unfinished, or the operating system refused it.
func (s *Store) openError(err error) error {
	var refused syscall.Errno
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("storage: %s: %w", ReadOnlyDisk, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("storage: the directory and the files in it must be writable by the user who runs the node; change that (with chown, if they belong to another user), or copy all of them to a place that is: %w", err)
	case DiskFull(err):
		return fmt.Errorf("storage: the disk is full: free space, then start again: %w", err)
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w (%s): stop it first", ErrLocked, s.path)
	case errors.Is(err, ErrDamaged), errors.As(err, &refused):
		return fmt.Errorf("storage: open %s: %w", s.path, err)
	case s.unfinished():
		return fmt.Errorf("%w (%s)", errUnfinished, s.path)
	case !IsDatabase(s.path):
		return fmt.Errorf("%w: %s is no database of p2pnode, or its beginning is gone: %w", ErrDamaged, s.path, err)
	}
	return fmt.Errorf("%w: open %s: %w", ErrDamaged, s.path, err)
}

// unfinished reports whether the file must be a new one that a crash or a full disk
// interrupted: no ledger was ever opened on it, it is smaller than what bbolt writes
// first, and it begins as that does.
func (s *Store) unfinished() bool {
	_, noAnchor := os.Stat(anchorPath(s.path))
	info, err := os.Stat(s.path)
	return errors.Is(noAnchor, fs.ErrNotExist) && err == nil && info.Size() < int64(newFile*os.Getpagesize()) && begun(s.path)
}

// Close releases the file. Later calls on the store and its ledger that read or write the
// file fail with ErrClosed; that is no failed write. After a panic of bbolt it fails with
// ErrDamaged, and releases the file all the same, unless somebody is still writing to it.
func (s *Store) Close() error {
	if !s.broken.Load() {
		return s.db.Close()
	}
	if !s.writing.TryLock() { // the writer may wait for bbolt's locks for ever
		return fmt.Errorf("%w: stop the process, which releases it", ErrDamaged)
	}
	defer s.writing.Unlock()
	s.release()
	return ErrDamaged
}

// release drops the file's lock and closes the file after bbolt panicked, so that a damaged
// file can be erased or replaced. bbolt's memory map stays until the process ends, because
// somebody may still look at it.
func (s *Store) release() {
	unlock(s.file)
	_ = s.file.Close()
}

// verify reads every value of every bucket once and checks its seal.
func (s *Store) verify() error {
	return s.view(func(tx *bbolt.Tx) error {
		for _, name := range buckets() {
			if s.release1.Load() && slices.ContainsFunc(sinceRelease1, func(later []byte) bool { return bytes.Equal(name, later) }) {
				continue
			}
			err := scan(tx, s.file, name, nil, func(key, sealed []byte) error {
				_, err := unseal(key, sealed)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// view runs fn in a read transaction. The bytes that bbolt returns are valid in fn only.
func (s *Store) view(fn func(*bbolt.Tx) error) error {
	s.reading.RLock()
	defer s.reading.RUnlock()
	return s.protect(func() error { return s.db.View(fn) })
}

// protect runs fn and returns ErrDamaged if bbolt panics or faults in the memory map on
// damaged pages. It drops the panic's text, which may quote stored bytes. A panic of a
// function that the caller gave goes on, but for the writer of Backup: see callersOwn. After Close it returns ErrClosed.
func (s *Store) protect(fn func() error) (err error) {
	if s.broken.Load() {
		return ErrDamaged
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch panicked := recover().(type) {
		case nil:
		case callersPanic:
			panic(panicked.value)
		default:
			s.broken.Store(true)
			err = fmt.Errorf("%w: its pages are unreadable", ErrDamaged)
		}
	}()
	if err = fn(); errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// callersPanic is a panic of a function that the caller gave, on its way through bbolt,
// which ends its transaction.
type callersPanic struct{ value any }

// callersOwn runs a function that the caller gave, inside a transaction. It must not be
// given anything that reads bbolt's memory map, so that a panic in it says nothing of the
// file.
func callersOwn(fn func()) {
	defer func() {
		if panicked := recover(); panicked != nil {
			panic(callersPanic{panicked})
		}
	}()
	fn()
}
