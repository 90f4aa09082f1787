package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

func eraseCommand(o *options) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "erase",
		Short: "Leave the network, and erase the node with its records and identity",
		Long: `Erase a node: records, models, the ledger of what was paid, the identity, the
configuration, and databases that restores kept. All is overwritten first, and the
directory is removed unless there are other files in it. A running daemon tells
the neighbours and stops before. There is no way back.

` + paragraph("", eraseMeans) + `
An erasure that was interrupted is finished by the same command.`,
		Example: `  p2pnode erase --yes
  p2pnode erase --yes --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return erase(cmd, o, yes) },
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// eraseMeans is what somebody must know before.
const eraseMeans = "What was sent stays with whoever heard it. Out of reach are also backups, copies elsewhere, and what a flash drive or a file system with snapshots " +
	"keeps of files that were overwritten. With the ledger goes the knowledge of what was paid: records that are imported again, here or on another device, " +
	"get a second budget, and are seen twice as well."

func erase(cmd *cobra.Command, o *options, yes bool) error {
	if err := datadir.Erasable(o.dir); err != nil {
		return err
	}
	s, err := askOwner(cmd, o, api.Owner.Progress)
	if errors.Is(err, datadir.ErrInUse) || errors.Is(err, api.ErrSilent) {
		return err
	}
	opens := err == nil // what does not open is erased all the same
	if !yes {
		if err := agreed(cmd, eraseQuestion(o.dir, s, err), "Erase"); err != nil {
			return err
		}
	}
	done := erased{Dir: o.dir, Peer: s.Peer, Records: s.Records}
	if opens {
		if done.Farewell, err = askOwner(cmd, o, api.Owner.Leave); err != nil {
			return err
		}
	}
	if done.Other, err = eraseFreed(cmd.Context(), o.dir); err != nil {
		return err
	}
	return show(cmd, o, done, erased.String)
}

// stopTimeout bounds how long a daemon may take to stop.
const stopTimeout = time.Minute

// eraseFreed erases a directory as soon as the daemon has released it.
func eraseFreed(ctx context.Context, dir string) (other []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for {
		other, err = datadir.Erase(dir) // takes a second to find that it is in use
		if !errors.Is(err, datadir.ErrInUse) || ctx.Err() != nil {
			return other, err
		}
	}
}

// eraseQuestion says what is about to be erased: of a directory that opens, how its
// node stands.
func eraseQuestion(dir string, s api.Status, opening error) string {
	what := fmt.Sprintf("This erases the node of %s: %d %s, the ledger, the models and the identity %s. There is no way back.",
		dir, s.Records, plural(s.Records, "record", "records"), s.Peer)
	switch {
	case opening != nil:
		what = fmt.Sprintf("This erases the node of %s, which cannot be opened (%v). There is no way back.", dir, opening)
	case s.Running:
		what += " The daemon tells the neighbours, and stops."
	case s.Neighbours > 0:
		what += " No daemon is running to tell the neighbours, so they notice within an hour: to tell them, start it before."
	}
	return paragraph("", what) + paragraph("", eraseMeans)
}

// erased says what erase did.
type erased struct {
	Dir      string       `json:"dir"`
	Peer     string       `json:"peer"`    // "": the directory could not be opened
	Records  int          `json:"records"` // that it held
	Farewell api.Farewell `json:"farewell"`
	Other    []string     `json:"not_erased"` // files in the directory that are not the node's
}

// String implements [fmt.Stringer].
func (e erased) String() string {
	heard := untold(e.Farewell.Neighbours)
	if e.Farewell.Running {
		heard = told(e.Farewell)
	}
	text := paragraph("", fmt.Sprintf("Erased %s.%s", e.Dir, heard))
	if len(e.Other) > 0 {
		text += paragraph("", "The directory stays, for what is not the node's: "+strings.Join(e.Other, ", ")+".")
	}
	return text + paragraph("", eraseMeans)
}
