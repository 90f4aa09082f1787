package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"p2pnode/node/api"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// restoredRound is the round a restored node goes on from: above every round the
// node can have released, as long as it released fewer than a million a second.
func restoredRound(now time.Time) uint64 { return uint64(now.Unix()) << 20 }

// Verify reads the ledger's chain and its anchor from disk again. Its errors are
// those of [storage.Store.OpenLedger].
func (n *Node) Verify(context.Context) (api.Verification, error) {
	v, err := n.ledger.Verify()
	return v, mend(err, n.dir)
}

// Ledger reads all entries of the ledger in order.
func (n *Node) Ledger(context.Context) ([]api.Line, error) { return n.ledger.Lines() }

// Backup writes a consistent copy of the database: records, ledger, models and
// neighbours, but not the identity, the configuration and the task. It may run
// beside everything else.
func (n *Node) Backup(ctx context.Context, w io.Writer) error {
	return n.store.Backup(contextWriter{ctx, w})
}

// contextWriter stops writing when its context ends.
type contextWriter struct {
	ctx context.Context
	io.Writer
}

// Write implements [io.Writer].
func (w contextWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// mend adds to an error of a directory's store what its owner can do about it.
func mend(err error, dir string) error {
	switch {
	case errors.Is(err, storage.ErrMissing), errors.Is(err, storage.ErrDamaged):
		return api.Advise(err, "stop the node, if it runs, and put a backup back with: p2pnode restore FILE --dir "+dir)
	case errors.Is(err, storage.ErrRolledBack):
		return api.Advise(err, "to give its budgets up and go on: p2pnode restore --dir "+dir)
	}
	return err
}

// NeedsRestore reports whether the database of a data directory has to be accepted
// by [Restore] before it can be used: its anchor, or a peer, contradicts it.
func NeedsRestore(dir string) (needs bool, err error) {
	n, err := Open(dir, slog.New(slog.DiscardHandler))
	if errors.Is(err, storage.ErrRolledBack) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return n.ledger.Contradicted() > 0, n.Close()
}

// Kept names the databases that earlier restores replaced and kept. They hold
// records, those deleted since too.
func Kept(dir string) ([]string, error) { return storage.Kept(filepath.Join(dir, storeFile)) }

// Restore puts a copy made by [Node.Backup] in place of the database of a data
// directory that no node has open, and returns the name the replaced one is kept
// under. Without a copy, from empty, it accepts the database that is there. Every
// record in it is retired: what was released after the copy was made is not known,
// so its budget counts as spent. The records go on serving the personal model, and
// new ones begin a new cohort. The copy must be of this node and its task.
//
// confirm, unless nil, is asked before anything changes, with the number of records
// that would be retired; an error of it ends the restore.
func Restore(dir, from string, confirm func(records int) error) (kept string, err error) {
	files, err := readDir(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, storeFile)
	inPlace := from == ""
	if inPlace {
		from = path
	}
	if _, err := os.Stat(from); inPlace && errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("node: %w", mend(fmt.Errorf("%w (%s)", storage.ErrMissing, path), dir))
	}
	if err := checkCopy(from); err != nil {
		return "", err
	}
	accept := func(copied *storage.Store) (privacy.Policy, error) {
		if err := belongs(copied, from, files); err != nil {
			return privacy.Policy{}, err
		}
		before, err := keptPolicy(copied)
		if err != nil {
			return privacy.Policy{}, err
		}
		s, err := before.settle(files.config.design(files.task))
		if err != nil || confirm == nil {
			return s.Policy, err
		}
		c, err := copied.Count()
		if err == nil {
			err = confirm(c.Records + c.Aside)
		}
		return s.Policy, err
	}
	kept, err = storage.Restore(from, path, accept, restoredRound(time.Now()))
	switch {
	case err == nil:
		return kept, nil
	case inPlace:
		err = mend(err, dir)
	case errors.Is(err, storage.ErrDamaged):
		err = fmt.Errorf("%w; take another backup", err)
	}
	return "", fmt.Errorf("node: restore %s: %w", dir, err)
}

// leastCopy is less than any database has bytes: four pages of the smallest size.
const leastCopy = 4 * 4096

// checkCopy refuses what cannot be a copy.
func checkCopy(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("node: read the copy: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() < leastCopy {
		return fmt.Errorf("node: %s is no copy of a node's database; name a file that p2pnode backup made", path)
	}
	return nil
}
