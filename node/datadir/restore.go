package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/node/api"
	"p2pnode/node/summing"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// restoredRound returns the round from which a restored node continues. It is above every
// round that the node can have released if it released fewer than a million a second.
func restoredRound(now time.Time) uint64 { return uint64(now.Unix()) << 20 }

// ClockBehind returns how far a clock that says now is behind the latest of the files that are there,
// and its name, or behind any time at which it can have been set. It is not if that is below 0.
func ClockBehind(now time.Time, files ...string) (behind time.Duration, what string) {
	behind, what = storage.Earliest.Sub(now), "this program"
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.ModTime().Sub(now) > behind {
			behind, what = info.ModTime().Sub(now), f
		}
	}
	return behind, what
}

// clockTolerance is how far a clock may be behind the time of a file for which it is believed:
// file systems without time zones are hours wrong.
const clockTolerance = 24 * time.Hour

// checkClock returns an error if a clock that says now must be behind, because it was never set,
// or because one of the files is from later. A restored node would then use rounds again that it
// has used since the copy was made: its neighbours would hold two models that it signed for one
// round, which is a proof against it.
func checkClock(now time.Time, files ...string) error {
	behind, what := ClockBehind(now, files...)
	if !now.Before(storage.Earliest) && behind <= clockTolerance {
		return nil
	}
	return api.Advise(fmt.Errorf("node: this machine's clock says %s, which is before %s was made, and a restored node goes on with rounds that follow from the time", now.UTC().Format("2006-01-02 15:04 UTC"), what),
		"set the clock, then restore; if the clock is right and the time of the file is not, set that with touch")
}

// NeedsRestore reports whether the database of a data directory has to be accepted
// by [Restore] before it can be used: its anchor, or a peer, contradicts it.
func NeedsRestore(dir string) (needs bool, err error) {
	files, err := Read(dir)
	if err != nil {
		return false, err
	}
	s, err := OpenStore(dir, &files)
	if errors.Is(err, storage.ErrRolledBack) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return s.Ledger.Contradicted() > 0, s.Close()
}

// Kept returns the names of the databases that earlier restores replaced and kept, and of
// those that upgrades kept. They hold records, even those that were deleted since.
func Kept(dir string) ([]string, error) { return storage.Kept(filepath.Join(dir, StoreFile)) }

// Restore replaces the database of a data directory that no node has open by a copy that
// [storage.Store.Backup] made, and returns the name under which it keeps the replaced
// one. If from is empty, it accepts the database that is there. Every record in the
// database is retired: it is unknown what was released after the copy was made, so the
// records' budget counts as spent. The records still serve the personal model, and new
// records begin a new cohort. The copy must be of this node and its task. If the node was in
// a private network, what kept strangers away must be in the directory.
//
// confirm, unless nil, is called before anything changes, with the number of records that
// would be retired. If it returns an error, the restore ends and returns that error
// unchanged.
func Restore(dir, from string, confirm func(records int) error) (kept string, err error) {
	files, err := Read(dir)
	if _, noKey := os.Stat(filepath.Join(dir, KeyFile)); err != nil && from != "" && errors.Is(noKey, fs.ErrNotExist) {
		return "", fmt.Errorf("node: %s holds no node, and a copy has the database alone: put %s, %s and %s of its node there first, and what else its directory had: %s, %s, %s, %s and %s",
			dir, KeyFile, ConfigFile, TaskFile, PrivateFile, membersFile, networkKeyFile, CatalogueFile, TokensFile)
	}
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, StoreFile)
	inPlace := from == ""
	if inPlace {
		from = path
	}
	if _, err := os.Stat(from); inPlace && errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("node: %w", Mend(fmt.Errorf("%w (%s)", storage.ErrMissing, path), dir))
	}
	if err := checkCopy(from); err != nil {
		return "", err
	}
	if !inPlace && !storage.IsDatabase(from) {
		return "", noCopy(from)
	}
	if err := checkClock(time.Now(), from, path); err != nil {
		return "", err
	}
	var refusal error
	accept := func(copied *storage.Store) (privacy.Policy, error) {
		if err := belongs(copied, from, files); err != nil {
			return privacy.Policy{}, err
		}
		if err := refuseOpen(copied, dir); err != nil {
			return privacy.Policy{}, err
		}
		before, err := keptPolicy(copied)
		if err != nil {
			return privacy.Policy{}, err
		}
		s, err := before.settle(files.design())
		if err == nil && confirm != nil {
			refusal = confirmed(copied, confirm)
			err = refusal
		}
		if err != nil {
			return privacy.Policy{}, err
		}
		return s.Policy, nil
	}
	// A member of a committee that is restored must say nothing in the sums that it was in.
	forget := func() error { return summing.Forget(filepath.Join(dir, CommitteeDir)) }
	kept, err = storage.Restore(from, path, accept, forget, restoredRound(time.Now()))
	switch {
	case err == nil:
		return kept, nil
	case refusal != nil:
		return "", refusal
	case inPlace:
		err = Mend(err, dir)
	case errors.Is(err, storage.ErrDamaged):
		err = fmt.Errorf("%w; take another backup", err)
	}
	return "", fmt.Errorf("node: %w", err) // the storage error says what was restored
}

// RestoreStrands reports whether the node of a directory cannot take part any more once
// it is restored; see [learner.Task.Stranded].
func RestoreStrands(dir string) (bool, error) {
	t, err := ReadTask(dir)
	if err != nil {
		return false, err
	}
	key, err := readKey(filepath.Join(dir, KeyFile))
	if err != nil {
		return false, err
	}
	self, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return false, fmt.Errorf("node: the identity has no peer ID: %w", err)
	}
	return t.Stranded(gossip.ID(self), restoredRound(time.Now())), nil
}

// confirmed calls confirm with the number of records in a copy.
func confirmed(copied *storage.Store, confirm func(records int) error) error {
	c, err := copied.Count()
	if err != nil {
		return err
	}
	return confirm(c.Records + c.Aside)
}

// leastCopy is a lower bound on the size of a database in bytes: four pages of the
// smallest size.
const leastCopy = 4 * 4096

// checkCopy returns an error for a file that cannot be a copy of a database.
func checkCopy(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("node: read the copy: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() < leastCopy {
		return noCopy(path)
	}
	return nil
}

func noCopy(path string) error {
	return fmt.Errorf("node: %s is no copy of a node's database; name a file that p2pnode backup made (if this is one, it is damaged: take another)", path)
}
