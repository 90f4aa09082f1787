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

// ErrOtherTask says that the directory was made for another task, and so for another
// network.
var ErrOtherTask = errors.New("another task")

var errOtherIdentity = errors.New("another identity")

// The keys under which the store remembers the directory that it belongs to.
const (
	networkKey = "network"
	peerKey    = "peer"
)

// Store is the opened database of a data directory.
type Store struct {
	*storage.Store
	Ledger *storage.Ledger
	Policy privacy.Policy // of the ledger's releases
	Left   string         // what kept strangers away and does no more, in words; see [ForgetPrivate]
}

// OpenStore opens the database of a directory whose files were read. It checks that the
// database belongs to them, and upgrades it to this version. If the configuration left
// the accounting open, it is set to the one that was settled. The caller must close the
// store.
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
	if err == nil { // a database that is refused keeps what it remembers
		s.Left, err = s.notePrivate(dir)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return s, nil
}

// design returns the design with which the ledger is opened.
func (f *Files) design() privacy.Design {
	d := f.Config.Design(f.Task)
	d.Widest = f.Task.Sums.Widest(f.Task, f.Catalogue)
	return d
}

// Price returns what a contribution with this mechanism costs by the configuration, as a share
// of a record's budget; see [storage.Ledger.Price].
func (f *Files) Price(m privacy.Mechanism) (float64, error) {
	p, err := f.design().Policy()
	if err != nil {
		return 0, fmt.Errorf("node: %w", err)
	}
	account, err := privacy.NewAccount(p)
	if err != nil {
		return 0, fmt.Errorf("node: %w", err)
	}
	return account.Share(m), nil
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
		// The ledger keeps the terms of its budget, which nothing uses meanwhile.
		s.Policy, err = unprotectedPolicy(files.Task)
	}
	return err
}

// claim writes into a store which task and identity it belongs to. It refuses the store
// of another task or identity, and a store that it cannot upgrade to this version.
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
			return fmt.Errorf("node: store whose the database is: %w", err)
		}
	}
	return nil
}

// belongs returns an error if the store of the named file or directory was made for
// another task or identity: records and ledger belong to one task and one identity.
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
			return fmt.Errorf("node: read whose the database is: %w", err)
		}
		if made != "" && !slices.Contains(m.values, made) {
			return api.Advise(fmt.Errorf("node: %s was made for %w (%s %s; its %s now says %s)", name, m.other, m.key, made, m.file, m.values[len(m.values)-1]),
				"put the old "+m.file+" back, or start in a new directory")
		}
	}
	return nil
}

// unopened returns the error for a directory whose store did not open. The error of a
// directory in use already says so, and where.
func unopened(err error, dir string) error {
	if errors.Is(err, storage.ErrLocked) {
		return err
	}
	return fmt.Errorf("node: open %s: %w", dir, Mend(err, dir))
}

// Mend adds to an error of a directory's store what the owner can do.
func Mend(err error, dir string) error {
	switch {
	case errors.Is(err, storage.ErrMissing), errors.Is(err, storage.ErrDamaged):
		return api.Advise(err, "stop the node, if it runs, and put a backup back with: p2pnode restore FILE --dir "+dir)
	case errors.Is(err, storage.ErrRolledBack):
		return api.Advise(err, "to give its budgets up and go on: p2pnode restore --dir "+dir)
	}
	return err
}
