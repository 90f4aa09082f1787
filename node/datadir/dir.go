// Package datadir reads, makes, changes, restores and erases a node's data directory: its
// identity, configuration, task, private network and database. It starts nothing.
package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"

	"p2pnode/learner"
	"p2pnode/node/api"
)

// Init makes a data directory: a new identity, the configuration and the task. If c
// leaves the accounting open, Init chooses the one that suits the noise. It fails if the
// directory already holds a node, and leaves it as it is. A task whose key has a
// catalogue needs [Make].
func Init(dir string, t *learner.Task, c Config) error {
	return Make(dir, New{Task: t, Config: c})
}

// New is what a data directory is made of.
type New struct {
	Task      *learner.Task
	Config    Config
	Identity  string         // a file that [NewIdentity] made; "": a new identity
	Key       crypto.PrivKey // the identity instead, of an invitation; nil: none
	until     time.Time      // when the membership of that identity ends; zero: never
	Catalogue []byte         // the content of the file that lists the task's keys, if the task adds up by them
	// Shared replaces that file, for a node that [ReadSharing] opens with the same
	// catalogue: then no file is written.
	Shared *learner.Catalogue
	// Private keeps strangers away from the start; the zero value does not.
	Private PrivateNetwork
}

// Make is Init with all choices. Two directories with one identity must never run at the
// same time.
func Make(dir string, n New) error {
	key, err := n.key()
	if err != nil {
		return err
	}
	return makeAs(dir, n, key)
}

// key returns the identity for the directory.
func (n *New) key() (crypto.PrivKey, error) {
	if n.Key != nil {
		return n.Key, n.Current(time.Now())
	}
	if n.Identity != "" {
		return readKey(n.Identity)
	}
	return newKey()
}

func makeAs(dir string, n New, key crypto.PrivKey) error {
	if err := n.Check(); err != nil {
		return err
	}
	listed, err := n.listed()
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
		return api.Advise(fmt.Errorf("node: %s already holds a node; choose another directory", dir),
			"init --if-missing leaves this one as it is; this erases it, its records and its ledger: p2pnode erase --dir "+dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return unusable(dir, err)
	}
	if err := errors.Join(noOrphan(dir), directoryForOwner(dir)); err != nil {
		return err
	}
	files, err := n.texts(dir)
	if err != nil {
		return err
	}
	keyBytes, err := crypto.MarshalPrivateKey(key)
	if err != nil {
		return fmt.Errorf("node: make an identity: %w", err)
	}
	return makeDir(dir, append(files, dirFile{KeyFile, keyBytes})) // a directory with a key is complete
}

// Check returns what is wrong with the task, the configuration, or their private network.
// It does not look at the catalogue.
func (n *New) Check() error {
	return errors.Join(n.Task.Validate(), n.Config.Validate(n.Task), n.Private.check(n.Config.Listen))
}

// CatalogueHash returns the SHA-256 of the file that the task needs and n does not have
// yet; ok is false if no file is missing.
func (n *New) CatalogueHash() (sum [sha256.Size]byte, ok bool) {
	raw, err := hex.DecodeString(n.Task.SumsCatalogue())
	if err != nil || len(raw) != sha256.Size || len(n.Catalogue) > 0 {
		return sum, false
	}
	return [sha256.Size]byte(raw), true
}

// listed returns the catalogue of the task's key.
func (n *New) listed() (*learner.Catalogue, error) {
	if n.Shared != nil {
		return n.Shared, nil
	}
	return ReadCatalogue(n.Task, n.Catalogue)
}

// files returns the files of a directory except its key and those of a private network.
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

// Files holds the content of the text files of a data directory.
type Files struct {
	Key       crypto.PrivKey
	Task      *learner.Task
	Config    Config
	Catalogue *learner.Catalogue // of the task's key; nil if the key has none, or the task adds nothing up
}

// Read reads the text files of a directory, and applies settings to its configuration.
func Read(dir string, over ...Setting) (Files, error) { return ReadSharing(dir, nil, over...) }

// ReadSharing is Read for many nodes of a task in one process, which share the catalogue
// of its key: then the directory's own catalogue is not read. If shared is nil, it is.
func ReadSharing(dir string, shared *learner.Catalogue, over ...Setting) (Files, error) {
	if err := unfinished(dir); err != nil {
		return Files{}, err
	}
	key, err := readKey(filepath.Join(dir, KeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		if err := noOrphan(dir); err != nil {
			return Files{}, err
		}
		return Files{}, holdsNone(dir)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return Files{}, unusable(dir, err)
	}
	if err != nil {
		return Files{}, err
	}
	t, err := ReadTask(dir)
	if err != nil {
		return Files{}, err
	}
	c, err := ReadConfig(dir, t, over...)
	if err != nil {
		return Files{}, err
	}
	files := Files{key, t, c, shared}
	if shared == nil {
		files.Catalogue, err = catalogueIn(dir, t)
	}
	return files, err
}

// ReadConfig reads the configuration of a directory, and applies settings to it.
func ReadConfig(dir string, t *learner.Task, over ...Setting) (Config, error) {
	text, err := configText(dir)
	if err != nil {
		return Config{}, err
	}
	return parseConfig(filepath.Join(dir, ConfigFile), text, t, over)
}

func configText(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		return nil, unread("configuration", err, "put it back from a copy, or make a new directory with p2pnode init and copy its "+ConfigFile)
	}
	return text, nil
}

// unread is the error of a file that cannot be read: lost is what to do if it is not there.
func unread(what string, err error, lost string) error {
	if errors.Is(err, fs.ErrPermission) {
		lost = "the file must belong to the user who runs the node: if another user made it, give it back with chown"
	}
	return fmt.Errorf("node: read the %s: %w; %s", what, err, lost)
}

// holdsNone is the error of a directory that should hold a node.
func holdsNone(dir string) error {
	if HoldsRelay(dir) {
		return fmt.Errorf("node: %s holds a relay, and no node: of one that is a member, p2pnode committee status and committee keys tell", dir)
	}
	return fmt.Errorf("node: %s holds no node; make one with: p2pnode init --dir %s", dir, dir)
}

// ReadTask reads the task of a directory.
func ReadTask(dir string) (*learner.Task, error) {
	text, err := os.ReadFile(filepath.Join(dir, TaskFile))
	if err != nil {
		there := func(name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return err == nil }
		if errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc([]string{KeyFile, ConfigFile, StoreFile}, there) {
			return nil, holdsNone(dir)
		}
		if errors.Is(err, syscall.ENOTDIR) {
			return nil, unusable(dir, err)
		}
		return nil, unread("task", err, "put it back from a copy, or from another node of the network: the file is the same everywhere")
	}
	t, err := parseWhole(text)
	if err == nil {
		return t, nil
	}
	if _, short := ParseTask(text); short == nil {
		return nil, fmt.Errorf("node: %s leaves out keys, as a task for p2pnode init may, and a node's own has them all: put that back from a copy, or from another node of the network. "+
			"Another task is another network, and needs a directory of its own", filepath.Join(dir, TaskFile))
	}
	return nil, fmt.Errorf("%s: %w", filepath.Join(dir, TaskFile), err)
}
