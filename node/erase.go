package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// errErased is the error of a node whose owner has it erased.
var errErased = errors.New("node: the node is being erased")

// farewellTimeout bounds how long a node that is being erased waits for its neighbours.
const farewellTimeout = 10 * time.Second

// Erase implements [api.Lifecycle]. As soon as the owner has confirmed, Run returns and
// the node answers no more requests. If an error after that wraps [api.ErrEnded], a
// command or another program must finish the erasure.
func (n *Node) Erase(ctx context.Context, confirm string) (api.Erased, error) {
	if confirm != n.self.String() {
		return api.Erased{}, api.WrongRequest(fmt.Errorf("node: nothing was erased: %q is not the peer ID of this node, %s", confirm, n.self))
	}
	if err := datadir.Erasable(n.dir); err != nil {
		return api.Erased{}, err
	}
	leave, cancel := context.WithTimeout(ctx, farewellTimeout)
	defer cancel()
	farewell, err := n.Leave(leave)
	if err != nil {
		return api.Erased{}, err
	}
	n.diary.Tell(api.Event{Kind: api.EventErased, Text: "erased by its owner"})
	left, err := n.eraseNow(ctx)
	if err != nil {
		return api.Erased{}, fmt.Errorf("%w: %w", api.ErrEnded, err)
	}
	return api.Erased{Left: append([]string{}, left...), Farewell: farewell}, nil
}

// eraseNow ends everything that runs and erases the directory.
func (n *Node) eraseNow(ctx context.Context) (left []string, err error) {
	if err := n.pauses.close(ctx); err != nil {
		return nil, err
	}
	if err := n.Close(); err != nil {
		return nil, err
	}
	return datadir.Erase(n.dir)
}
