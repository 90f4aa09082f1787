package main

import (
	"context"
	"fmt"

	"p2pnode/node/api"

	"github.com/spf13/cobra"
)

func peerCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "peer", Short: "Add and remove peers to start from"}
	c.AddCommand(addPeerCommand(o), removePeerCommand(o))
	return c
}

func addPeerCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "add MULTIADDRESS",
		Short: "Connect to a node now and at every start",
		Long: `Connect to a node now and at every start, to find the others through it. Its
address is what "p2pnode run" and "p2pnode status" print there; it ends in
/p2p/ and the node's ID. A node that cannot be reached now is added, too, and
tried again and again. Without a running daemon the address is kept for the
next start.

Who becomes a neighbour is another matter: that depends on the task and on what
nodes make public.`,
		Example: `  p2pnode peer add /ip4/192.0.2.7/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN
  p2pnode peer add /dns4/learner.example.org/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN --json`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(cmd, o, func(owner api.Owner, ctx context.Context) (api.Addition, error) {
				return owner.AddPeer(ctx, args[0])
			}, additionText)
		},
	}
}

func additionText(a api.Addition) string {
	switch {
	case a.Connected:
		return fmt.Sprintf("Added %s, and connected to it.\n", a.ID)
	case a.Running:
		return fmt.Sprintf("Added %s. It cannot be reached now:\n%sThe node goes on trying.\n", a.ID, paragraph("  ", api.Plain(a.Reason)+"."))
	}
	return fmt.Sprintf("Added %s. The node takes no part in the network now; it connects when it does.\n", a.ID)
}

func removePeerCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "remove ID|MULTIADDRESS",
		Short: "Forget a node that was added",
		Long: `Forget a node that was added with "p2pnode peer add". A connection that is open
stays open, and a neighbour stays a neighbour; the node is just no longer one to
start from.`,
		Example: `  p2pnode peer remove 12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN`,
		Args:    takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(cmd, o, func(owner api.Owner, ctx context.Context) (removal, error) {
				return removal{args[0]}, owner.RemovePeer(ctx, args[0])
			}, removal.String)
		},
	}
	c.ValidArgsFunction = completeKnown(o, addedPeers)
	return c
}

// addedPeers are the IDs of the peers that the owner added.
func addedPeers(ctx context.Context, owner api.Owner) (ids []string, err error) {
	others, err := owner.Acquaintances(ctx)
	for _, p := range others {
		if p.From == "added" {
			ids = append(ids, p.ID)
		}
	}
	return ids, err
}

// removal says which peer was forgotten.
type removal struct {
	Removed string `json:"removed"`
}

// String implements [fmt.Stringer].
func (r removal) String() string { return fmt.Sprintf("Removed %s.\n", r.Removed) }
