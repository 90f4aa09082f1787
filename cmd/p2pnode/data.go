package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"p2pnode/node/api"

	"github.com/spf13/cobra"
)

func dataCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "data", Short: "Manage the node's records"}
	c.AddCommand(importCommand(o), listCommand(o), deleteCommand(o))
	return c
}

func importCommand(o *options) *cobra.Command {
	var options api.ImportOptions
	c := &cobra.Command{
		Use:   "import FILE.csv",
		Short: "Import records from a CSV file; - reads standard input",
		Long: `Import records from a CSV file whose first line names the task's columns, in
any order; other columns are ignored. Commas, semicolons or tabs separate the
cells; the text must be in UTF-8. Every bad line is reported with its
number. A file with bad lines is not imported at all, unless --skip-bad leaves
them out.

A file that was imported before, byte for byte, is refused before anything is
stored: its records would get a second budget, and what they say could be seen
twice as well. --again imports it all the same. Lines are never dropped because
another one says the same. If an import is interrupted, by a crash too, nothing
of it is stored, and the file can be imported as if for the first time.`,
		Example: `  p2pnode data import ratings.csv
  p2pnode data import --skip-bad --json - < ratings.csv
  p2pnode data import --again ratings.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := openInput(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			in := showProgress(file, cmd.ErrOrStderr(), "storing the records")
			report, err := askOwner(cmd, o, func(owner api.Owner, ctx context.Context) (api.ImportReport, error) {
				return owner.Import(ctx, in, options)
			})
			in.done()
			if err == nil || errors.Is(err, api.ErrBadLines) {
				err = errors.Join(show(cmd, o, report, reportText), err)
			}
			return err
		},
	}
	c.Flags().BoolVar(&options.SkipBad, "skip-bad", false, "import the good lines and leave the bad ones out")
	c.Flags().BoolVar(&options.Again, "again", false, "import a file that was imported before; its records get a budget of their own")
	return c
}

// openInput opens the named file, or standard input for "-".
func openInput(name string) (*os.File, error) {
	if name == "-" {
		return os.Stdin, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("%s is a directory; name one CSV file", name)
	}
	return file, nil
}

func reportText(r api.ImportReport) string {
	var b strings.Builder
	for _, l := range r.Lines {
		fmt.Fprintf(&b, "line %d: %s\n", l.Line, l.Reason)
	}
	if more := r.Bad - len(r.Lines); more > 0 {
		fmt.Fprintf(&b, "and %d more bad lines\n", more)
	}
	fmt.Fprintf(&b, "Imported %d records, %d bad lines.\n", r.Records, r.Bad)
	for _, line := range append(notedLines(r.Cells), emptyLines(r.Cells)...) {
		b.WriteString(paragraph("", line+"."))
	}
	if r.NeverShared {
		b.WriteString(paragraph("", "Warning: the plan is over, so what is imported is never shared; it serves your own predictions. "+
			"To share new records, make a new directory and put only those in it."))
	}
	return b.String()
}
