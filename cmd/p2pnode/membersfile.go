package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"p2pnode/discovery/members"
	"p2pnode/node/api"
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
			return show(cmd, o, edited{k.list.Network, k.list.Version, len(k.list.Members), args[0], k.node.Running}, func(e edited) string {
				return fmt.Sprintf("Wrote version %d of the list of %s to %s.\n", e.Version, e.Network, e.File)
			})
		},
	}
}

func importMembersCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Give the node a newer list; - reads standard input",
		Long: `Give the node a newer list. It must be signed by an authority of the network the
node has joined, and not be older than the list it has. A running daemon uses it at
once and spreads it.`,
		Example: `  p2pnode members import garden.toml
  p2pnode members import --json - < garden.toml`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readList(cmd, args[0])
			if err != nil {
				return err
			}
			_, err = askOwner(cmd, o, func(owner api.Owner, ctx context.Context) (struct{}, error) {
				return struct{}{}, owner.ImportMembers(ctx, text)
			})
			if err != nil {
				return err
			}
			k, err := openKeeping(cmd, o, "")
			if err != nil {
				return err
			}
			return show(cmd, o, edited{k.list.Network, k.list.Version, len(k.list.Members), "", k.node.Running}, edited.String)
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
