package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"p2pnode/node/api"

	"github.com/spf13/cobra"
)

func budgetCommand(o *options) *cobra.Command {
	var verify bool
	var export string
	var stated statementFlags
	c := &cobra.Command{
		Use:   "budget",
		Short: "What is guaranteed, what privacy has been spent, and what is left",
		Long: `What is guaranteed, what privacy has been spent, and what is left, from the
ledger on disk. The ledger is the list of all payments: every model that leaves
this device was paid for there first, and nothing is ever taken off it.

--verify reads the ledger from disk again, entry by entry, and checks that none
was changed or lost. It cannot see by itself that the whole directory was put
back from an older copy: only neighbours can, once they are met.

--export writes the ledger out, one JSON object a line, for your own files or for
somebody who checks it. The first line says what the costs of the others mean:
under a plan, the number of its step.

--statement prints what is guaranteed for somebody else: a page to read, with
the same below it as JSON that the node's key has signed. It tells nothing that is
not public, so neither how many records there are nor what they brought.
--verify-statement checks one. It needs no data directory and no network.
Its exit code is 0 if the statement is sound, and 3 if its signature, its words or
its numbers are not.`,
		Example: `  p2pnode budget
  p2pnode budget --json
  p2pnode budget --verify
  p2pnode budget --export ledger.jsonl
  p2pnode budget --export - | wc -l
  p2pnode budget --statement
  p2pnode budget --statement --out mine.md
  p2pnode budget --statement | p2pnode budget --verify-statement -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case moreThanOne(verify, export != "", stated.given()):
				return usageError{errors.New("give one of --verify, --export, --statement and --verify-statement"), cmd}
			case stated.given():
				return stated.run(cmd, o)
			case verify:
				return ask(cmd, o, api.Owner.Verify, verifiedText)
			case export != "":
				return exportLedger(cmd, o, export)
			}
			return ask(cmd, o, api.Owner.Budget, budgetText)
		},
	}
	c.Flags().BoolVar(&verify, "verify", false, "check the ledger on disk, entry by entry")
	c.Flags().StringVar(&export, "export", "", "write the ledger to this new file; - is standard output")
	stated.register(c)
	return c
}

func moreThanOne(given ...bool) bool {
	return len(slices.DeleteFunc(given, func(is bool) bool { return !is })) > 1
}

func verifiedText(v api.Verification) string {
	if v.Entries == 0 {
		return "The ledger is empty: nothing has been paid for, and nothing was released.\n"
	}
	return paragraph("", fmt.Sprintf("The ledger is sound: all %d entries are there and unchanged, up to round %d, "+
		"and the anchor, the second file that would give an older copy of the database away, agrees. "+
		"If the whole directory was put back from an older copy, both files agree too: this node cannot see that. "+
		"Neighbours who hold something newer notice it; where only private sums are made, the committee does.", v.Entries, v.Round))
}

// exported says what --export wrote.
type exported struct {
	File    string `json:"file"`
	Entries int    `json:"entries"`
}

func exportLedger(cmd *cobra.Command, o *options, name string) error {
	lines, err := askOwner(cmd, o, api.Owner.Ledger)
	if err != nil {
		return err
	}
	if name == "-" {
		return writeLines(cmd.OutOrStdout(), lines)
	}
	err = createFile(name, func(w io.Writer) error { return writeLines(w, lines) })
	if err != nil {
		return err
	}
	return show(cmd, o, exported{name, len(lines)}, func(e exported) string {
		return fmt.Sprintf("Wrote the %d entries of the ledger to %s.\n", e.Entries, e.File)
	})
}

func writeLines(w io.Writer, lines []api.Line) error {
	e := json.NewEncoder(w)
	for i := range lines {
		if err := e.Encode(lines[i]); err != nil {
			return fmt.Errorf("write the ledger: %w", err)
		}
	}
	return nil
}
