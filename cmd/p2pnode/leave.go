package main

import (
	"fmt"

	"p2pnode/node/api"

	"github.com/spf13/cobra"
)

func leaveCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "leave",
		Short: "Tell the neighbours that the node leaves, and stop the daemon",
		Long: `Tell the neighbours that the node leaves, so that they look for others at once,
and stop the daemon. Without it a neighbour waits up to an hour for a node that is
away. Records, budget and identity stay: "p2pnode run" takes part again, with
new neighbours. What was sent stays public.`,
		Example: `  p2pnode leave
  p2pnode leave --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, o, api.Owner.Leave, farewellText)
		},
	}
}

func farewellText(f api.Farewell) string {
	text := paragraph("", "No daemon is running."+untold(f.Neighbours))
	if f.Running {
		text = paragraph("", "Left, and the daemon stops."+told(f))
	}
	if f.SumsWait {
		text += paragraph("", memberAway+": run it again soon, and tell the others when.")
	}
	return text
}

// told says how many neighbours heard of it.
func told(f api.Farewell) string {
	if f.Neighbours == 0 {
		return ""
	}
	text := fmt.Sprintf(" %d of %d %s told.", f.Told, f.Neighbours, plural(f.Neighbours, "neighbour was", "neighbours were"))
	if f.Told < f.Neighbours {
		text += " The others notice within an hour."
	}
	return text
}

// untold says what happens to the neighbours of a node that was not running.
func untold(neighbours int) string {
	if neighbours == 0 {
		return ""
	}
	return fmt.Sprintf(" Its %d %s not told, and notice within an hour.", neighbours, plural(neighbours, "neighbour was", "neighbours were"))
}
