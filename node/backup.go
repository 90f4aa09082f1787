package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"p2pnode/privacy"
	"p2pnode/storage"
)

// restoredRound is the round a restored node goes on from: above every round the
// node can have released, as long as it released fewer than a million a second.
func restoredRound(now time.Time) uint64 { return uint64(now.Unix()) << 20 }

// Verification and Line are what the owner sees of the ledger on disk.
type (
	Verification = storage.Verification
	Line         = storage.Line
)

// Verify reads the ledger's chain and its anchor from disk again. Its errors are
// those of [storage.Store.OpenLedger].
func (n *Node) Verify(context.Context) (Verification, error) { return n.ledger.Verify() }

// Ledger reads all entries of the ledger in order.
func (n *Node) Ledger(context.Context) ([]Line, error) { return n.ledger.Lines() }

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

// Restore puts a copy made by [Node.Backup] in place of the database of a data
// directory that no node has open, and returns the name the replaced one is kept
// under. Without a copy, from empty, it accepts the database that is there. Every
// record in it is retired: what was released after the copy was made is not known,
// so its budget counts as spent. The records go on serving the personal model, and
// new ones begin a new cohort. The copy must be of this node and its task.
func Restore(dir, from string) (kept string, err error) {
	files, err := readDir(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, storeFile)
	if from == "" {
		from = path
	}
	if err := checkCopy(from); err != nil {
		return "", err
	}
	accept := func(copied *storage.Store) (privacy.Policy, error) {
		if err := belongs(copied, from, files); err != nil {
			return privacy.Policy{}, err
		}
		s, err := settle(copied, files.config.design(files.task))
		return s.Policy, err
	}
	kept, err = storage.Restore(from, path, accept, restoredRound(time.Now()))
	if err != nil {
		return "", fmt.Errorf("node: restore %s: %w", dir, err)
	}
	return kept, nil
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
