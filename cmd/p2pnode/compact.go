package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"p2pnode/node/datadir"
)

func compactCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Make the database as small as it can be",
		Long: `Make the database as small as it can be. A file never gets smaller when records
are deleted: what they took is used before it grows. A node that starts does this
by itself if more than half of the file, and more than 16 MB, is unused.

The daemon must be stopped. The new file takes the place of the old one when it is
complete on disk and was compared with it, so the disk needs room for both. What was
paid stays as it is, and the ledger is checked afterwards.`,
		Example: `  p2pnode compact
  p2pnode compact --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := datadir.Compact(o.dir)
			if errors.Is(err, datadir.ErrInUse) {
				return fmt.Errorf("%w, or restart it: a node that starts compacts its database by itself if that gives much back", err)
			}
			if err != nil {
				return err
			}
			return show(cmd, o, c, compactedText)
		},
	}
}

func compactedText(c datadir.Compacted) string {
	text := fmt.Sprintf("The database took %s and takes %s now.\nThe ledger is sound: all %d entries are there.\n",
		size(c.Before), size(c.After), c.Entries)
	if c.Upgraded != "" {
		text += "It has the layout of this version now, and an older p2pnode refuses it: a copy as it\nwas, which holds records, stays beside it for 30 days as " + c.Upgraded + ".\n"
	}
	return text
}
