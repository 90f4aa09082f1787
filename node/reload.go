package node

import (
	"context"

	"p2pnode/node/datadir"
)

// Reload reads the configuration again, and applies those of its keys that may change
// while the node runs. It returns all keys whose values differ from those that the node
// uses. After an error nothing has changed.
func (n *Node) Reload(context.Context) ([]datadir.KeyChange, error) {
	before := *n.live.Load()
	read, err := datadir.ReadConfig(n.dir, n.files.Task, n.over...)
	if err != nil {
		return nil, err
	}
	if read.Accounting == "" {
		read.Accounting = before.Accounting // the settled one
	}
	after, changes := before.Reloaded(read)
	n.live.Store(&after)
	if s := n.current(); s != nil {
		s.discovery.Bootstrap(n.bootstrap())
	}
	return changes, n.retainNow()
}
