package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"p2pnode/discovery/members"
)

func exportMembersCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "export FILE",
		Short: "Write the node's list into a new file, signed as it is; - is standard output",
		Example: `  p2pnode members export copy.toml
  p2pnode members export --json copy.toml`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := openKeeping(cmd, o, "")
			if err != nil {
				return err
			}
			if args[0] == "-" {
				_, err := cmd.OutOrStdout().Write(k.list.Text)
				return err
			}
			err = createFile(args[0], func(w io.Writer) error { _, err := w.Write(k.list.Text); return err })
			if err != nil {
				return err
			}
			k.file = args[0]
			return show(cmd, o, k.edited(k.list), func(e edited) string {
				return fmt.Sprintf("Wrote version %d of the list of %s to %s.\n", e.Version, e.Network, e.File)
			})
		},
	}
}

func importMembersCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Give the node, or a relay, a newer list; - reads standard input",
		Long: `Give the node a newer list. It must be signed by an authority of the network the
node has joined, and not be older than the list it has. A running daemon uses it at
once and spreads it, but not to a member that refuses this node, because its own list
does not name it. So give a list with new members to the relay that the others call
first: it takes a list in the same way, with its own --dir; if it runs, within a minute.`,
		Example: `  p2pnode members import garden.toml
  p2pnode members import --json - < garden.toml`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readList(cmd, args[0])
			if err != nil {
				return err
			}
			had, _ := openKeeping(cmd, o, "") // none is no error
			if _, err := ownMembers(cmd, o, text); err != nil {
				return err
			}
			k, err := openKeeping(cmd, o, "")
			if err != nil {
				return err
			}
			if had.list != nil && had.list.Version == k.list.Version && !bytes.Equal(had.list.Text, k.list.Text) {
				fork := members.Fork{Kept: k.list, Ignored: had.list}
				fmt.Fprintf(cmd.ErrOrStderr(), "p2pnode: two different lists have version %d, and the one that this node had is ignored everywhere now%s; make its changes again\n",
					k.list.Version, printable(fork.Lost()))
			}
			return show(cmd, o, k.edited(k.list), edited.String)
		},
	}
}

// readList reads the text of a list; - is standard input.
func readList(cmd *cobra.Command, name string) ([]byte, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		file, err := openInput(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, members.MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}
