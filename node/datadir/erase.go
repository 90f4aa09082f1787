package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"p2pnode/internal/durable"
	"p2pnode/node/api"
	"p2pnode/node/summing"
	"p2pnode/storage"
)

// erasingFile marks a directory whose erasure has begun. It is made before anything else
// changes and removed last. So an interrupted erasure leaves a directory that is not a
// node any more and can be erased again.
const erasingFile = "p2pnode.erasing"

// ErrInUse says that a node has the directory open.
var ErrInUse = storage.ErrLocked

// Erase overwrites and removes the files of a node: its database with records, ledger and
// models, the databases that restores kept, the identity, the configuration, the task,
// and the files of a private network. Then it removes the directory, unless there are
// other files in it; it returns their names. After an error or an interruption it can be
// called again; until then [Read] refuses the directory.
//
// It needs no room on a full disk, unless the file system needs some to overwrite. Then
// it removes all the same, and its error names the files that it could not overwrite.
//
// It refuses a directory that a node has open, with an error that wraps [ErrInUse], a
// directory that holds no node, and one in which a symbolic link or a directory has the
// name of one of the node's files. It follows no link.
//
// Overwritten bytes may still be on the medium: file systems that write to new blocks
// (copy on write, journals, snapshots) and flash keep old blocks. Copies elsewhere stay,
// and so does what was released. The ledger is gone, so records that are imported again
// anywhere get a second budget.
func Erase(dir string) (left []string, err error) {
	e, err := openErasure(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.root.Close()) }()
	made, err := hold(dir) // otherwise Configure could make a node of the files being erased
	if err != nil {
		return nil, fmt.Errorf("node: erase %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, made()) }()
	release, err := storage.Hold(filepath.Join(dir, StoreFile))
	if err != nil {
		return nil, fmt.Errorf("node: erase %s: %w", dir, err)
	}
	err = e.run()
	if err = errors.Join(err, release()); err != nil {
		return nil, fmt.Errorf("node: the erasure of %s is not finished, erase it again: %w", dir, err)
	}
	left, err = e.leave()
	return left, errors.Join(err, e.claim())
}

// Erasable returns why [Erase] would refuse a directory. It does not check whether the
// directory is in use.
func Erasable(dir string) error {
	e, err := openErasure(dir)
	if err != nil {
		return err
	}
	return e.root.Close()
}

// noNode returns the error for a directory without a node.
func noNode(dir string) error {
	return api.WrongRequest(fmt.Errorf("node: %s holds no node; there is nothing to erase", dir))
}

// unfinished returns an error if the erasure of a directory has begun.
func unfinished(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, erasingFile)); err != nil {
		return nil
	}
	return api.Advise(fmt.Errorf("node: the erasure of %s was interrupted", dir), "finish it with: p2pnode erase --dir "+dir)
}

// erasure is one run of Erase.
type erasure struct {
	dir  string
	root *os.Root
	kept []string // files that were removed without being overwritten
}

// openErasure opens a directory that can be erased.
func openErasure(dir string) (e *erasure, err error) {
	e = &erasure{dir: dir}
	e.root, err = os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return e, noNode(dir)
	}
	if info, look := os.Stat(dir); look == nil && !info.IsDir() {
		return e, api.WrongRequest(unusable(dir, syscall.ENOTDIR))
	}
	if err != nil {
		return e, fmt.Errorf("node: erase %s: %w", dir, err)
	}
	if err := e.look(); err != nil {
		return e, errors.Join(err, e.root.Close())
	}
	return e, nil
}

// look refuses a directory that cannot be erased, before anything changes.
func (e *erasure) look() error {
	names, err := e.files()
	if err != nil {
		return fmt.Errorf("node: erase %s: %w", e.dir, err)
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	// Other programs also have files called config.toml.
	if unfinished(e.dir) == nil && !has(StoreFile) && !(has(KeyFile) && has(ConfigFile) && has(TaskFile)) {
		return noNode(e.dir)
	}
	for _, name := range names {
		info, err := e.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a daemon that is stopping has just removed its socket
		}
		if err != nil {
			return fmt.Errorf("node: erase %s: %w", e.dir, err)
		}
		if !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSocket {
			return fmt.Errorf("node: nothing was erased: %s is a directory, a link or a device, which erasing does not follow; remove it, and what it leads to, by hand",
				filepath.Join(e.dir, name))
		}
	}
	return nil
}

// run overwrites all files before it removes any.
func (e *erasure) run() error {
	if err := e.mark(); err != nil {
		return err
	}
	names, err := e.files()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := e.needsRoom(name, e.overwrite(name)); err != nil {
			return err
		}
	}
	if err := e.forgetSums(); err != nil {
		return err
	}
	for _, name := range names {
		if err := e.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(e.sync(), e.root.Remove(erasingFile), e.sync())
}

// forgetSums erases the secrets that a member of a committee keeps, and removes the
// results of private sums.
func (e *erasure) forgetSums() error {
	err := e.needsRoom(CommitteeDir, summing.Forget(filepath.Join(e.dir, CommitteeDir)))
	return errors.Join(err, e.root.RemoveAll(CommitteeDir), e.root.RemoveAll(ResultsDir))
}

// needsRoom passes an error of overwriting on, unless the disk is full: then what has the name
// is only removed.
func (e *erasure) needsRoom(name string, err error) error {
	if err == nil || !storage.DiskFull(err) {
		return err
	}
	e.kept = append(e.kept, name)
	return nil
}

// claim returns an error that names what was removed without being overwritten.
func (e *erasure) claim() error {
	if len(e.kept) == 0 {
		return nil
	}
	return fmt.Errorf("node: the files of the node in %s are removed, but the disk is full and its file system needs room to overwrite, so these were not overwritten before: %s. What they held may stay on the disk until other files take its place (%w)",
		e.dir, strings.Join(e.kept, ", "), syscall.ENOSPC)
}

// mark makes erasingFile, on disk when it returns.
func (e *erasure) mark() error {
	f, err := e.root.OpenFile(erasingFile, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), e.sync())
}

// overwrite replaces the content of a file by zeros, which are on disk when it returns. A
// file that is gone is no error.
func (e *erasure) overwrite(name string) error {
	info, err := e.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if err := e.root.Chmod(name, 0o600); err != nil { // its owner may have made it read-only
		return err
	}
	f, err := e.root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(durable.Clear(f), f.Close())
}

// sync makes the new and the removed directory entries durable.
func (e *erasure) sync() error {
	d, err := e.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// leave removes the directory if it is empty, and else lists what is left in it. A
// directory that is a mount point may stay.
func (e *erasure) leave() (left []string, err error) {
	entries, err := fs.ReadDir(e.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("node: look at what is left of %s: %w", e.dir, err)
	}
	for _, f := range entries {
		left = append(left, f.Name())
	}
	if info, err := os.Lstat(e.dir); len(left) == 0 && err == nil && info.IsDir() {
		_ = os.Remove(e.dir)
	}
	return left, nil
}

// files returns the names of the node's files that exist, the identity first and without
// erasingFile.
func (e *erasure) files() ([]string, error) {
	entries, err := fs.ReadDir(e.root.FS(), ".")
	var names []string
	for _, f := range entries {
		if name := f.Name(); name == KeyFile {
			names = slices.Insert(names, 0, name)
		} else if IsOwn(name) {
			names = append(names, name)
		}
	}
	return names, err
}

// SpoolPrefix begins the name of a file that holds records on their way in or out.
const SpoolPrefix = "spool."

// temporary matches the names of files that may be left when the command doctor or an import
// is interrupted, and halfWritten the end of the name of one whose writing was.
var (
	temporary   = regexp.MustCompile(`^(doctor-|` + regexp.QuoteMeta(SpoolPrefix) + `)[0-9]+$`)
	halfWritten = regexp.MustCompile(`\.[0-9]+$`)
)

// IsOwn reports whether a file with this name in a data directory belongs to the node.
func IsOwn(name string) bool {
	switch halfWritten.ReplaceAllString(name, "") {
	case KeyFile, ConfigFile, TaskFile, CatalogueFile, TokensFile, networkKeyFile, PrivateFile, membersFile:
		return true
	}
	return name == SocketFile || storage.IsFile(StoreFile, name) || temporary.MatchString(name)
}
