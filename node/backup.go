package node

import (
	"context"
	"errors"
	"fmt"
	"io"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// Verify reads the ledger's chain and its anchor from disk again. It fails as
// [storage.Store.OpenLedger] does.
func (n *Node) Verify(context.Context) (api.Verification, error) {
	v, err := n.ledger.Verify()
	return v, datadir.Mend(err, n.dir)
}

// Ledger reads all entries of the ledger in order.
func (n *Node) Ledger(context.Context) ([]api.Line, error) { return n.ledger.Lines() }

// Backup writes a consistent copy of the database: records, ledger, models and
// neighbours, but not the identity, the configuration and the task. Everything else can
// go on meanwhile, however slow w is: writes that make the database grow wait for who
// copies it, so it is copied to the disk first.
func (n *Node) Backup(ctx context.Context, w io.Writer) (err error) {
	if err := n.roomForCopy(); err != nil {
		return err
	}
	copied, err := n.newSpool()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.drop()) }()
	if err := n.store.Backup(contextWriter{ctx, copied}); err != nil {
		return err
	}
	if _, err := copied.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	if _, err := io.Copy(contextWriter{ctx, w}, copied); err != nil {
		return fmt.Errorf("node: send the copy of the database: %w", err)
	}
	n.diary.Tell(api.Event{Kind: api.EventBackup, Text: "database copied for a backup"})
	return nil
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
