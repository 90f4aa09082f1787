package datadir

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/node/api"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// ErrOtherTask says that the directory was made for another task, which is another
// network.
var ErrOtherTask = errors.New("another task")

var errOtherIdentity = errors.New("another identity")

// What the store remembers of the directory it belongs to.
const (
	networkKey = "network"
	peerKey    = "peer"
)

// Store is the opened database of a data directory.
type Store struct {
	*storage.Store
	Ledger *storage.Ledger
	Policy privacy.Policy // of its releases
}

// OpenStore opens the database of a directory whose files were read, after checking that it
// belongs to them, and brings it up to this version. The configuration's accounting, which
// may have been left open, becomes the one that was settled. Close it when done.
func OpenStore(dir string, files *Files) (*Store, error) {
	if err := errors.Join(directoryForOwner(dir), storeForOwner(dir)); err != nil {
		return nil, err
	}
	opened, err := storage.Open(filepath.Join(dir, StoreFile))
	if err != nil {
		return nil, unopened(err, dir)
	}
	s := &Store{Store: opened}
	if err = s.claim(dir, *files); err == nil {
		err = s.openLedger(dir, files)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return s, nil
}

// design is what a ledger is opened with.
func (f *Files) design() privacy.Design {
	d := f.Config.Design(f.Task)
	d.Widest = f.Task.Sums.Widest(f.Task, f.Catalogue)
	return d
}

func (s *Store) openLedger(dir string, files *Files) error {
	design := files.design()
	before, err := keptPolicy(s.Store)
	if err != nil {
		return err
	}
	now, err := before.settle(design)
	if err != nil {
		return fmt.Errorf("node: %s: %w", filepath.Join(dir, ConfigFile), err)
	}
	s.Policy = now.Policy
	files.Config.Accounting = string(s.Policy.Terms.Accounting)
	s.Ledger, err = s.OpenLedger(s.Policy)
	if errors.Is(err, storage.ErrBudget) && before.Design != design {
		err = fmt.Errorf("%w (in %s, %s)", err, ConfigFile, before.changes(design))
	}
	if err != nil {
		return fmt.Errorf("node: open the ledger of %s: %w", dir, Mend(err, dir))
	}
	if now.Design != before.Design {
		if err := now.keep(s.Store); err != nil {
			return err
		}
	}
	if !files.Config.Protected() {
		// The ledger keeps the terms of its budget, which is not used.
		s.Policy, err = unprotectedPolicy(files.Task)
	}
	return err
}

// claim writes into a store which task and identity it belongs to. It refuses the store of
// another task or identity, and one that it cannot bring up to this version.
func (s *Store) claim(dir string, files Files) error {
	if err := belongs(s.Store, dir, files); err != nil {
		return err
	}
	if err := upgrade(s.Store, files.Task); err != nil {
		return err
	}
	self, err := peer.IDFromPrivateKey(files.Key)
	if err != nil {
		return fmt.Errorf("node: the identity has no peer ID: %w", err)
	}
	for _, m := range []struct{ key, value string }{{networkKey, NetworkName(files.Task)}, {peerKey, self.String()}} {
		made, err := s.Meta(m.key)
		if err == nil && made != m.value {
			err = s.PutMeta(m.key, m.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// belongs returns an error if the store of the named file or directory was made for another
// task or identity: records and ledger belong to one.
func belongs(store *storage.Store, name string, files Files) error {
	self, err := peer.IDFromPrivateKey(files.Key)
	if err != nil {
		return fmt.Errorf("node: the identity has no peer ID: %w", err)
	}
	for _, m := range []struct {
		key    string
		values []string // the newest last
		file   string
		other  error
	}{
		{networkKey, networkNames(files.Task), TaskFile, ErrOtherTask},
		{peerKey, []string{self.String()}, KeyFile, errOtherIdentity},
	} {
		made, err := store.Meta(m.key)
		if err != nil {
			return err
		}
		if made != "" && !slices.Contains(m.values, made) {
			return fmt.Errorf("node: %s was made for %w (%s %s; its %s now says %s); put the old %s back, or start in a new directory",
				name, m.other, m.key, made, m.file, m.values[len(m.values)-1], m.file)
		}
	}
	return nil
}

// unopened is the error for a directory whose store did not open. One that is in use says so
// itself, and where.
func unopened(err error, dir string) error {
	if errors.Is(err, storage.ErrLocked) {
		return err
	}
	return fmt.Errorf("node: open %s: %w", dir, Mend(err, dir))
}

// Mend adds to an error of a directory's store what the owner can do about it.
func Mend(err error, dir string) error {
	switch {
	case errors.Is(err, storage.ErrMissing), errors.Is(err, storage.ErrDamaged):
		return api.Advise(err, "stop the node, if it runs, and put a backup back with: p2pnode restore FILE --dir "+dir)
	case errors.Is(err, storage.ErrRolledBack):
		return api.Advise(err, "to give its budgets up and go on: p2pnode restore --dir "+dir)
	}
	return err
}
