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

// eraseMeans tells what an owner must know before she erases a node.
const eraseMeans = "Peers keep what this node has sent them. Erasing does not reach backups, copies elsewhere, or what a flash drive or a file system with snapshots " +
	"keeps of files that were overwritten. The ledger of what was paid is erased too: records that are imported again, here or on another device, " +
	"get a second budget, and others can learn twice as much about them."

func erase(cmd *cobra.Command, o *options, yes bool) error {
	if err := datadir.Erasable(o.dir); err != nil {
		return err
	}
	s, err := askOwner(cmd, o, api.Owner.Progress)
	if errors.Is(err, datadir.ErrInUse) || errors.Is(err, api.ErrSilent) {
		return err
	}
	opens := err == nil // a directory that does not open is erased all the same
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
		other, err = datadir.Erase(dir) // takes a second to find that the directory is in use
		if !errors.Is(err, datadir.ErrInUse) || ctx.Err() != nil {
			return other, err
		}
	}
}

// eraseQuestion says what is about to be erased. For a directory that opens it gives the
// number of records and the state of the daemon.
func eraseQuestion(dir string, s api.Status, opening error) string {
	what := fmt.Sprintf("This erases the node of %s: %d %s, the ledger, the models and the identity %s. There is no way back.",
		dir, s.Records, plural(s.Records, "record", "records"), s.Peer)
	switch {
	case opening != nil:
		what = fmt.Sprintf("This erases the node of %s, which cannot be opened (%s). There is no way back.", dir, message(opening))
	case s.Running:
		what += " The daemon tells the neighbours, and stops."
	case s.Neighbours > 0:
		what += " No daemon is running to tell the neighbours, so they notice within an hour. To tell them, start the daemon first."
	}
	if s.Sums.Await() {
		what += " It is a member of the committee. " + withoutMember
	}
	return paragraph("", what) + paragraph("", eraseMeans)
}

// withoutMember is what comes of it when a member of a committee is erased: nobody here knows
// whether its directory was moved before.
const withoutMember = "If you have moved its whole directory, nothing is lost: run it there. " +
	"If this is the only copy, no private sum of the task opens for anybody any more: agree with the others on a new committee, which is a new task."

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
		text += paragraph("", "The directory stays, because it holds files that are not the node's: "+strings.Join(e.Other, ", ")+".")
	}
	if e.Farewell.SumsWait {
		text += paragraph("", "It was a member of the committee. "+withoutMember)
	}
	return text + paragraph("", eraseMeans)
}
