package node

import (
	"context"
	"errors"
)

var errNoPause = errors.New("node: this version cannot be paused")

// Pause implements [api.Lifecycle].
func (n *Node) Pause(context.Context, string) error { return errNoPause }

// Resume implements [api.Lifecycle].
func (n *Node) Resume(context.Context, string) error { return errNoPause }
