package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// errErased is what a node says whose owner has had it erased.
var errErased = errors.New("node: the node is being erased")

// farewellTimeout bounds how long a node that is erased waits for its neighbours.
const farewellTimeout = 10 * time.Second

// Erase implements [api.Lifecycle]. Run returns, and nothing can be asked of the node any
// more, as soon as the owner has confirmed. An error that wraps [api.ErrEnded] comes after
// that; a command or another program finishes what is left then.
func (n *Node) Erase(ctx context.Context, confirm string) (api.Erased, error) {
	if confirm != n.self.String() {
		return api.Erased{}, api.WrongRequest(fmt.Errorf("node: nothing was erased: %q is not the peer ID of this node, %s", confirm, n.self))
	}
	if err := datadir.Erasable(n.dir); err != nil {
		return api.Erased{}, err
	}
	n.diary.Tell(api.Event{Kind: api.EventErased, Text: "erased by its owner"})
	leave, cancel := context.WithTimeout(ctx, farewellTimeout)
	defer cancel()
	farewell, err := n.Leave(leave)
	if err != nil {
		return api.Erased{}, err
	}
	left, err := n.eraseNow(ctx)
	if err != nil {
		return api.Erased{}, fmt.Errorf("%w: %w", api.ErrEnded, err)
	}
	return api.Erased{Left: append([]string{}, left...), Farewell: farewell}, nil
}

// eraseNow ends everything and erases the directory.
func (n *Node) eraseNow(ctx context.Context) (left []string, err error) {
	if err := n.pauses.close(ctx); err != nil {
		return nil, err
	}
	if err := n.Close(); err != nil {
		return nil, err
	}
	return datadir.Erase(n.dir)
}
