package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/libp2p/go-libp2p/core/crypto"

	"p2pnode/internal/durable"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/storage"
)

// Configure gives a data directory the task, the configuration and the private network of
// n. It is for a program that owns the directory and brings these with it. If the
// directory holds no node yet, Configure makes one, as [Make] does; otherwise it replaces
// the files. The node's identity, records and ledger stay, and so does its catalogue if n
// has none. A private network that the node belongs to stays too, whatever n says:
// leaving something out must not open a node to everybody, or to others.
//
// Configure refuses a task of another network with [ErrOtherTask]. With [api.ErrRequest]
// it refuses another private network or key, a catalogue that is not the task's, and an
// invitation for another identity. It refuses a directory in use with
// [storage.ErrLocked]. [OpenStore] refuses what the ledger does not allow. If the process
// is killed at any moment, Configure can be called again.
func Configure(dir string, n New) (err error) {
	if err := n.Check(); err != nil {
		return api.WrongRequest(err)
	}
	if n.Catalogue, err = n.catalogueOf(dir); err != nil {
		return api.WrongRequest(err)
	}
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("node: make the data directory: %w", err)
	}
	release, err := hold(dir) // two calls at once would make two identities
	if err != nil {
		return unopened(err, dir)
	}
	defer func() { err = errors.Join(err, release()) }()
	return configure(dir, n)
}

// catalogueOf returns the catalogue of n or, if it has none, that of the directory. It
// fails if this is not the task's catalogue.
func (n *New) catalogueOf(dir string) (content []byte, err error) {
	if content = n.Catalogue; len(content) == 0 && n.Task.SumsCatalogue() != "" {
		content, err = os.ReadFile(filepath.Join(dir, CatalogueFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("node: read the catalogue: %w", err)
		}
	}
	_, err = ReadCatalogue(n.Task, content)
	return content, err
}

func configure(dir string, n New) error {
	if err := unfinished(dir); err != nil {
		return err
	}
	key, err := readKey(filepath.Join(dir, KeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return found(dir, n)
	}
	if err != nil {
		return err
	}
	if n.Key != nil && !n.Key.Equals(key) {
		return api.WrongRequest(otherIdentity(dir))
	}
	if err := storage.DropUnfinished(filepath.Join(dir, StoreFile)); err != nil {
		return unopened(err, dir)
	}
	if err := n.Config.settleAccounting(dir, n.Task); err != nil {
		return err
	}
	files, err := n.texts(dir)
	if err != nil {
		return err
	}
	return rewrite(dir, Files{Key: key, Task: n.Task, Config: n.Config}, files)
}

// found makes a new data directory. It replaces the files of an earlier call that was
// killed before it made the key.
func found(dir string, n New) error {
	if err := noOrphan(dir); err != nil {
		return err
	}
	if err := n.Config.openAccounting(n.Task); err != nil {
		return api.WrongRequest(err)
	}
	files, err := n.texts(dir)
	if err != nil {
		return err
	}
	key, err := n.key()
	if err != nil {
		return err
	}
	text, err := crypto.MarshalPrivateKey(key)
	if err != nil {
		return fmt.Errorf("node: make an identity: %w", err)
	}
	return replaceAll(dir, append(files, dirFile{KeyFile, text}))
}

// texts returns the files of a directory except its key. The files that keep strangers
// away come first.
func (n *New) texts(dir string) ([]dirFile, error) {
	files, err := n.Private.files(dir, n.Config.Listen)
	if err != nil {
		return nil, err
	}
	own, err := n.files()
	return append(files, own...), err
}

// settleAccounting chooses an accounting for the noise if it is left open. If the
// directory's present configuration has the same noise, it takes over the accounting from
// there, because computing a policy can take seconds.
func (c *Config) settleAccounting(dir string, t *learner.Task) error {
	if c.Accounting != "" {
		return nil
	}
	var have Config
	text, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err == nil && decodeTOML(text, &have) == nil && have.Noise == c.Noise {
		c.Accounting = have.Accounting
		return nil
	}
	if err := c.openAccounting(t); err != nil {
		return api.WrongRequest(err)
	}
	return nil
}

// rewrite replaces the files of an existing node where they differ. It fails if another
// process has the directory open.
func rewrite(dir string, as Files, files []dirFile) (err error) {
	same := true
	for _, f := range files {
		have, err := os.ReadFile(filepath.Join(dir, f.name))
		same = same && err == nil && bytes.Equal(have, f.data)
	}
	if same {
		return nil
	}
	store, err := storage.Open(filepath.Join(dir, StoreFile))
	if err != nil {
		return unopened(err, dir)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := belongs(store, dir, as); err != nil {
		return err
	}
	return replaceAll(dir, files)
}
