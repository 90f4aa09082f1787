package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"p2pnode/node"
)

func peersCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "peers",
		Short: "The neighbours in the similarity graph",
		Example: `  p2pnode peers
  p2pnode peers --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, o, node.Owner.Peers, peersText)
		},
	}
}

func peersText(peers []node.Peer) string {
	if len(peers) == 0 {
		return "No neighbours yet.\n"
	}
	rows := [][]any{{"PEER", "WEIGHT", "CONNECTED", "LISTENING", "ROUND HEARD"}}
	for _, p := range peers {
		rows = append(rows, []any{p.ID, fmt.Sprintf("%.3f", p.Weight), yes(p.Connected), yes(p.Listening), p.Round})
	}
	return table(rows...)
}
