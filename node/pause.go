package node

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"p2pnode/node/api"
)

// maxReason bounds the length of a reason.
const maxReason = 100

// Pause implements [api.Lifecycle]. When it returns, a running node sends nothing any
// more. It continues to serve its owner, and to keep records as its configuration says.
func (n *Node) Pause(ctx context.Context, reason string) error {
	if len(reason) > maxReason || !utf8.ValidString(reason) || strings.ContainsFunc(reason, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return api.WrongRequest(fmt.Errorf("node: write the reason to pause as one line of printable text, at most %d bytes", maxReason))
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

// Paused lists the reasons for which the node is paused; the list is empty if it is not.
func (n *Node) Paused() []api.Pause { return n.pauses.list() }

// Begun waits until Run takes part in the network, and returns the addresses of
// [Node.Addrs]. If the node is or becomes paused, it returns the reasons instead.
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
