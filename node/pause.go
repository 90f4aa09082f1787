package node

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"p2pnode/node/api"
)

// maxReason bounds the text of a reason.
const maxReason = 100

// Pause implements [api.Lifecycle]. When it returns, a running node sends nothing any more.
// It goes on serving its owner, and keeps its records as its configuration says.
func (n *Node) Pause(ctx context.Context, reason string) error {
	if len(reason) > maxReason || strings.ContainsFunc(reason, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return api.WrongRequest(errors.New("node: a reason to pause is a short text in one line"))
	}
	added, err := n.pauses.add(reason)
	if err != nil {
		return err
	}
	if added {
		n.tellPaused(reason)
	}
	return n.pauses.rested(ctx)
}

// Resume implements [api.Lifecycle].
func (n *Node) Resume(_ context.Context, reason string) error {
	removed, err := n.pauses.remove(reason)
	if err == nil && removed > 0 {
		n.diary.Tell(api.Event{Kind: api.EventResumed, Text: "resumed by its owner", Reason: reason})
	}
	return err
}

// Paused lists the reasons for which the node is paused; none: it is not.
func (n *Node) Paused() []api.Pause { return n.pauses.list() }

// Begun waits until Run takes part in the network, and returns the addresses of [Node.Addrs],
// or until the node is paused, and returns the reasons.
func (n *Node) Begun(ctx context.Context) (addrs []string, paused []api.Pause, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if n.pauses.await(ctx, n.pauses.paused) {
			cancel()
		}
	}()
	addrs, err = n.Addrs(ctx)
	if paused = n.Paused(); len(paused) > 0 {
		return nil, paused, nil
	}
	return addrs, nil, err
}

func (n *Node) tellPaused(reason string) {
	n.diary.Tell(api.Event{Kind: api.EventPaused, Text: "paused by its owner: takes no part in the network until it is resumed", Reason: reason})
}
