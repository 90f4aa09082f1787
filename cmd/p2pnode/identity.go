package main

import (
	"github.com/spf13/cobra"

	"p2pnode/node/datadir"
)

func identityCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "identity FILE",
		Short: "Make an identity before there is a task to take part in",
		Long: `Make an identity in a new file only you can read, and print its peer ID. Of a file
that is there already it says the peer ID, and changes nothing.
A task with private sums names the members of its committee by their IDs, and one of
the learner polar its servers. So each of them makes an identity first, tells the ID
to the author of the task, and uses the file with "p2pnode init --identity FILE"
when the task is there. The others need none: init makes theirs.`,
		Example: `  p2pnode identity member.key
  p2pnode identity member.key --json`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := datadir.NewIdentity(args[0])
			if err != nil {
				return err
			}
			return show(cmd, o, newIdentity{Peer: id.String(), File: args[0]}, newIdentity.String)
		},
	}
}

// newIdentity says what identity made.
type newIdentity struct {
	Peer string `json:"peer"`
	File string `json:"file"`
}

// String implements [fmt.Stringer].
func (i newIdentity) String() string { return i.Peer + "\n" }
