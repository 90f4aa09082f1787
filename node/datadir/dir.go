// Package datadir reads, makes, changes, restores and erases a node's data directory: its
// identity, configuration, task, private network and database. It starts nothing.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/libp2p/go-libp2p/core/crypto"

	"p2pnode/learner"
)

// The files of a data directory.
const (
	KeyFile    = "identity.key" // libp2p private key, mode 0600
	ConfigFile = "config.toml"
	TaskFile   = "task.toml"
	StoreFile  = "p2pnode.db"
	// CatalogueFile lists the keys of a task that has them, the same everywhere.
	CatalogueFile = "catalogue.csv"
	// ResultsDir has what private sums told, which is public; CommitteeDir what a member
	// of their committee must never lose, show or put back: it belongs in no backup.
	ResultsDir   = "sums"
	CommitteeDir = "committee"
)

// Init makes a data directory: a new identity, the configuration and the task. If
// c leaves the accounting open, it becomes what suits the noise.
// A directory that already holds a node is left as it is, with an error. A task whose key
// has a catalogue needs [Make].
func Init(dir string, t *learner.Task, c Config) error {
	return Make(dir, New{Task: t, Config: c})
}

// New is what a data directory is made of.
type New struct {
	Task      *learner.Task
	Config    Config
	Identity  string // a file that [NewIdentity] made; "": a new identity
	Catalogue []byte // the content of the file that lists the task's keys, if it sums up by them
}

// Make is Init with all choices. Two directories of one identity must never run at the
// same time.
func Make(dir string, n New) error {
	key, err := n.key()
	if err != nil {
		return err
	}
	return makeAs(dir, n, key)
}

// key is the identity.
func (n *New) key() (crypto.PrivKey, error) {
	if n.Identity != "" {
		return readKey(n.Identity)
	}
	return newKey()
}

func makeAs(dir string, n New, key crypto.PrivKey) error {
	if err := errors.Join(n.Task.Validate(), n.Config.Validate(n.Task)); err != nil {
		return err
	}
	listed, err := readCatalogue(n.Task, n.Catalogue)
	if err != nil {
		return err
	}
	if _, err := Plan(n.Task, listed); err != nil {
		return err
	}
	if err := n.Config.openAccounting(n.Task); err != nil {
		return err
	}
	if err := unfinished(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, KeyFile)); err == nil {
		return fmt.Errorf("node: %s already holds a node; choose another directory or remove this one", dir)
	}
	if err := noOrphan(dir); err != nil {
		return err
	}
	files, err := n.files()
	if err != nil {
		return err
	}
	keyBytes, err := crypto.MarshalPrivateKey(key)
	if err != nil {
		return fmt.Errorf("node: make an identity: %w", err)
	}
	return makeDir(dir, append(files, dirFile{KeyFile, keyBytes})) // a directory with a key is complete
}

// files are the files of a directory but for its key.
func (n *New) files() (files []dirFile, err error) {
	if len(n.Catalogue) > 0 {
		files = append(files, dirFile{CatalogueFile, n.Catalogue})
	}
	taskText, err := FormatTask(n.Task)
	if err != nil {
		return nil, fmt.Errorf("node: write the task: %w", err)
	}
	configText, err := encodeTOML(n.Config)
	if err != nil {
		return nil, fmt.Errorf("node: write the configuration: %w", err)
	}
	return append(files, dirFile{TaskFile, taskText}, dirFile{ConfigFile, configText}), nil
}

type dirFile struct {
	name string
	data []byte
}

// makeDir makes a directory, unless it exists, and new files in it. After an error it
// leaves nothing behind that was not there before.
func makeDir(dir string, files []dirFile) (err error) {
	_, missing := os.Stat(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("node: make the data directory: %w", err)
	}
	var made []string // in order
	if missing != nil {
		made = append(made, dir)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := create(path, f.data); err != nil {
			for _, name := range slices.Backward(made) {
				err = errors.Join(err, os.Remove(name))
			}
			return fmt.Errorf("node: make the directory's files: %w", err)
		}
		made = append(made, path)
	}
	return nil
}

// noOrphan refuses a directory with a database and no identity: another identity
// could not use it.
func noOrphan(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, StoreFile)); err != nil {
		return nil
	}
	return fmt.Errorf("node: %s is missing, and the database beside it was made for it; put it back", filepath.Join(dir, KeyFile))
}

// create writes a new file. It does not replace one that exists, because the user may keep
// a file of her own under that name.
func create(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// Files holds the content of the text files of a data directory.
type Files struct {
	Key       crypto.PrivKey
	Task      *learner.Task
	Config    Config
	Catalogue *learner.Catalogue // of the task's key; nil if it has none, or sums nothing up
}

// Read reads the text files of a directory.
func Read(dir string) (Files, error) { return ReadSharing(dir, nil) }

// ReadSharing is Read for many nodes of a task in one process, which share the catalogue
// of its key: then the directory's own is not read. nil: it is.
func ReadSharing(dir string, shared *learner.Catalogue) (Files, error) {
	if err := unfinished(dir); err != nil {
		return Files{}, err
	}
	key, err := readKey(filepath.Join(dir, KeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		if err := noOrphan(dir); err != nil {
			return Files{}, err
		}
		return Files{}, fmt.Errorf("node: %s holds no node; make one with: p2pnode init --dir %s", dir, dir)
	}
	if err != nil {
		return Files{}, err
	}
	taskText, err := os.ReadFile(filepath.Join(dir, TaskFile))
	if err != nil {
		return Files{}, fmt.Errorf("node: read the task: %w; put it back from a copy, or from another node of the network: the file is the same everywhere", err)
	}
	t, err := ParseTask(taskText)
	if err != nil {
		return Files{}, fmt.Errorf("%s: %w", filepath.Join(dir, TaskFile), err)
	}
	configText, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		return Files{}, fmt.Errorf("node: read the configuration: %w; put it back from a copy, or make a new directory with p2pnode init and copy its %s", err, ConfigFile)
	}
	c, err := ParseConfig(configText, t)
	if err != nil {
		return Files{}, fmt.Errorf("%s: %w", filepath.Join(dir, ConfigFile), err)
	}
	files := Files{key, t, c, shared}
	if shared == nil {
		files.Catalogue, err = catalogueIn(dir, t)
	}
	return files, err
}
