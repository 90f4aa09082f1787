package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"p2pnode/internal/durable"
	"p2pnode/node/api"
)

// The files of a data directory.
const (
	KeyFile    = "identity.key" // libp2p private key, mode 0600
	SocketFile = "p2pnode.sock" // where the daemon listens, mode 0600
	TokensFile = "tokens.json"  // who may ask over a network: hashes of their tokens, mode 0600
	ConfigFile = "config.toml"
	TaskFile   = "task.toml"
	StoreFile  = "p2pnode.db"
	// CatalogueFile lists the keys of a task that has a catalogue. It is the same on
	// every node.
	CatalogueFile = "catalogue.csv"
	// ResultsDir holds the results of private sums, which are public. CommitteeDir holds
	// what a member of their committee must never lose, show or restore: it belongs in no
	// backup.
	ResultsDir   = "sums"
	CommitteeDir = "committee"
)

type dirFile struct {
	name string
	data []byte
}

// makeDir makes a directory, unless it exists, and new files in it. After an error it
// leaves nothing behind that was not there before.
func makeDir(dir string, files []dirFile) (err error) {
	_, missing := os.Stat(dir)
	if err := durable.MkdirAll(dir); err != nil {
		return unusable(dir, err)
	}
	var made []string // in the order in which they were made
	if missing != nil {
		made = append(made, dir)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := create(path, f.data); err != nil {
			for _, name := range slices.Backward(made) {
				err = errors.Join(err, os.Remove(name))
			}
			return unusable(dir, err)
		}
		made = append(made, path)
	}
	return nil
}

// unusable says what to do about a path that cannot be a data directory.
func unusable(dir string, err error) error {
	why := fmt.Errorf("node: %s cannot be the data directory: %w", dir, err)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return api.Advise(why, "a file is in its place: name a directory with --dir")
	case errors.Is(err, fs.ErrPermission):
		return api.Advise(why, "this user may not write there: name another directory with --dir, or give this one to the user with chown")
	}
	return why
}

// noOrphan returns an error for a directory with a database and no identity: another
// identity could not use the database.
func noOrphan(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, StoreFile)); err != nil {
		return nil
	}
	return fmt.Errorf("node: %s is missing, and the database beside it was made for it; put it back", filepath.Join(dir, KeyFile))
}

// create writes a new file, which is on disk when it returns: the peer ID of an identity may be
// in a task soon after. It does not replace one that exists, because it may be a file that the
// user keeps under that name.
func create(path string, data []byte) error {
	file, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = durable.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// The files of a data directory that keep strangers away; both may be missing.
const (
	networkKeyFile = "swarm.key"    // the network key, in the format of libp2p's private networks, mode 0600
	PrivateFile    = "private.toml" // the private network that was joined, and who may sign its lists
	membersFile    = "members.toml" // its newest list
)

// replaceAll writes files in this order, each whole or not at all.
func replaceAll(dir string, files []dirFile) error {
	for _, f := range files {
		if err := durable.Replace(filepath.Join(dir, f.name), f.data); err != nil {
			return fmt.Errorf("node: write %s: %w", filepath.Join(dir, f.name), err)
		}
	}
	return nil
}
