package node

import (
	"context"
	"fmt"

	"p2pnode/node/api"
)

// Erase implements [api.Lifecycle].
func (n *Node) Erase(_ context.Context, confirm string) (api.Erased, error) {
	if confirm != n.self.String() {
		return api.Erased{}, api.WrongRequest(fmt.Errorf("node: nothing was erased: %q is not the peer ID of this node, %s", confirm, n.self))
	}
	return api.Erased{}, api.Advise(fmt.Errorf("node: a running node is not erased"), "stop it, and run p2pnode erase --dir "+n.dir)
}
