package mobile

import (
	"context"
	"errors"
	"time"

	"p2pnode/node/datadir"
)

// leaveTimeout is how long the neighbours have to answer a node that leaves.
const leaveTimeout = 4 * time.Second

// LeaveAndErase tells the neighbours that the node leaves, stops it, and erases the
// data directory as [Erase] does. It returns within fifteen seconds. If the node has
// not stopped by then nothing is erased: [CodeBusy], call it again. It may be called
// after [Node.Stop] too, and fails with [CodeStopped] once it has succeeded.
func (n *Node) LeaveAndErase() (err error) {
	defer n.guard(&err)
	_ = n.do(func() error { // neighbours that were not told notice it within an hour
		ctx, cancel := context.WithTimeout(n.ctx, leaveTimeout)
		defer cancel()
		_, err := n.node.Leave(ctx)
		return err
	})
	if err := n.Stop(); errorCode(err) == CodeBusy || errors.Is(err, errNotMade) {
		return err
	}
	n.erasing.Lock()
	defer n.erasing.Unlock()
	if n.erased {
		return errStopped
	}
	if err := Erase(n.config.DataDir); err != nil {
		return err
	}
	n.erased = true
	return nil
}

// Erase overwrites and removes the content of a data directory (examples, models,
// ledger, identity), and then the directory itself, if nothing else is in it. It is for
// a directory that cannot be opened: damaged, of another task, or half erased. What was
// released stays with the peers that heard it. The ledger is lost: the same examples in
// a new directory get a second budget. It fails with [CodeBusy] while a node has the
// directory open, and with [CodeInput] if the path is not absolute, or there is no node's data.
func Erase(dataDir string) (err error) {
	defer guard(&err)
	if err := absolute(dataDir); err != nil {
		return err
	}
	_, err = datadir.Erase(dataDir)
	return err
}
