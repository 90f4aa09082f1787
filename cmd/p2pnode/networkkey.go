package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

func networkKeyCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "network-key",
		Short: "Keep strangers away with a key that all nodes of the network share",
		Long: `Keep strangers away with a key that all nodes of the network share. A stranger
without it cannot connect and cannot read what is sent. The key works with TCP and
WebSocket, not with QUIC. It cannot be taken away from one node: for that there are
membership lists, see "p2pnode members". Both can be used together.

It is the file swarm.key of the data directory, as other libp2p programs use it,
and takes effect at the next start of the daemon.`,
	}
	c.AddCommand(&cobra.Command{
		Use:   "create",
		Short: "Make a new network key",
		Example: `  p2pnode network-key create
  p2pnode network-key create --dir /var/lib/p2pnode --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showKey(cmd, o, "Made a network key. It takes effect when the daemon starts. Copy its file to the other nodes\n"+
				"over a channel nobody listens to, and run there: p2pnode network-key import FILE\n")(datadir.CreateNetworkKey(o.dir))
		},
	}, &cobra.Command{
		Use:   "import FILE",
		Short: "Use the network key of another node, its file swarm.key",
		Example: `  p2pnode network-key import swarm.key
  p2pnode network-key import --json swarm.key`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showKey(cmd, o, "Imported the network key. It takes effect when the daemon starts.\n")(datadir.ImportNetworkKey(o.dir, args[0]))
		},
	}, &cobra.Command{
		Use:   "show",
		Short: "The fingerprint of the network key, to compare with that of other nodes",
		Example: `  p2pnode network-key show
  p2pnode network-key show --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showKey(cmd, o, "")(datadir.ReadNetworkKey(o.dir))
		},
	})
	return c
}

// showKey prints what a command did and the key, unless it failed.
func showKey(cmd *cobra.Command, o *options, did string) func(datadir.NetworkKey, error) error {
	return func(k datadir.NetworkKey, err error) error {
		if err != nil {
			return err
		}
		return show(cmd, o, k, func(k datadir.NetworkKey) string {
			return did + table([]any{"fingerprint", k.Fingerprint}, []any{"file", k.File})
		})
	}
}

// privateRows says in the status who may speak to the node.
func privateRows(s api.Status) [][]any {
	p := s.Private
	if p == nil {
		return nil
	}
	var rows [][]any
	if p.Key != "" {
		rows = append(rows, []any{"network key", "fingerprint " + p.Key})
	}
	if p.Network == "" {
		return rows
	}
	add := "p2pnode members add " + s.Peer
	switch {
	case p.Damage != "":
		rows = append(rows, []any{"NO MEMBERS", fmt.Sprintf("the list of %s is not used: %s. This node speaks to bootstrap peers only, until one brings another list or you import it with: p2pnode members import FILE", p.Network, api.Plain(p.Damage))})
	case p.Version == 0:
		rows = append(rows, []any{"members", fmt.Sprintf("of %s: no list yet, so this node speaks to bootstrap peers only. The keeper of the list lets this node in with: %s", p.Network, add)})
	case !p.Listed:
		rows = append(rows, []any{"NO MEMBER", fmt.Sprintf("this node is not on the list of %s (version %d), or its membership has expired. The keeper of the list lets it in with: %s", p.Network, p.Version, add)})
	default:
		text := fmt.Sprintf("of %s: %d, list version %d", p.Network, p.Members, p.Version)
		if p.Expires != nil {
			text += fmt.Sprintf("; this node until %s", moment(*p.Expires))
		}
		rows = append(rows, []any{"members", text})
	}
	if n := len(p.RefusedBy); n > 0 {
		rows = append(rows, []any{"refused by", fmt.Sprintf("%d %s, on whose list this node is not; the latest %s. The keeper of the list lets it in with: %s",
			n, plural(n, "peer", "peers"), p.RefusedBy[0].Peer, add)})
	}
	if n := len(p.TurnedAway); n > 0 {
		rows = append(rows, []any{"turned away", fmt.Sprintf("%d %s in the last hour, the latest %s", n, plural(n, "stranger", "strangers"), p.TurnedAway[0].Peer)})
	}
	return rows
}
