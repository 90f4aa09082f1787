package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"p2pnode/node/api"

	"github.com/spf13/cobra"
)

func dataCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "data", Short: "Manage the node's records"}
	c.AddCommand(importCommand(o), watchCommand(o), exportCommand(o), listCommand(o), deleteCommand(o))
	return c
}

func importCommand(o *options) *cobra.Command {
	var options api.ImportOptions
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Import records from a file of CSV or JSON lines, or, with -, from a pipe",
		Long: `Import records from a CSV file whose first line names the task's columns, in
any order; other columns are ignored. Commas, semicolons or tabs separate the
cells; the text must be in UTF-8. Or from lines of JSON, {"column": value, ...}
on each line. Every bad line is reported with its number. A file with bad lines
is not imported at all, unless --skip-bad leaves them out. A file without a
record is an error; a pipe may end without one.

A file that was imported before, byte for byte, is refused before anything is
stored: its records would get a second budget, and what they say could be seen
twice as well. So is one that begins with all of such a file, as a list does that
has grown. --again imports it all the same. Lines are never dropped because
another one says the same. If an import is interrupted, by a crash too, nothing
of it is stored, and the file can be imported as if for the first time. A file
that grows meanwhile is refused if its last line may be half of one.

--id COLUMN names the column that says which record a line is: a key of yours,
of at most 256 bytes. A line whose key is known changes nothing if it says the
same, and else replaces that record: the old one is erased and its slot stays
empty, the new one gets a slot and a budget of its own. What was sent of the old
one stays public. Lines are stored some at a time, bad ones are left out and
reported, and a file that was interrupted or mended can be imported again: what
is there changes nothing. The key is stored beside the record and goes with it.

- reads standard input. From a pipe it stores lines as they come, thousands
together or after a second, each row on one line: a sensor may write one a
minute for years. A line is on disk before it is acknowledged; --json prints
{"line": 7, "outcome": "new"} for each, or "same", "replaced", or "bad" with a
reason, and at the end one line that counts them. A bad line is left out. The
directory is let go while the pipe is quiet, and a daemon may start or stop
meanwhile. Ctrl-C stores what was read and ends, and so do the signals SIGTERM
and SIGHUP. A pipe is not known again, but for one that ends before its first
lines are stored: use --id where a line may be sent twice.`,
		Example: `  p2pnode data import ratings.csv
  p2pnode data import --id receipt --skip-bad sales.jsonl
  tail -n +1 sales.jsonl | p2pnode data import --id receipt -
  p2pnode data import --again ratings.csv`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := openInput(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			info, err := file.Stat()
			switch {
			case err != nil:
				return err
			case args[0] == "-" && !info.Mode().IsRegular():
				return importPipe(cmd, o, file, options)
			case args[0] != "-" && info.Mode()&os.ModeCharDevice != 0: // it may never end
				return fmt.Errorf("%s is a device; name a CSV file, or take - for standard input", args[0])
			}
			return ofFile(args[0], importFile(cmd, o, file, options))
		},
	}
	c.Flags().BoolVar(&options.SkipBad, "skip-bad", false, "import the good lines and leave the bad ones out")
	c.Flags().BoolVar(&options.Again, "again", false, "import a file that was imported before; its records get a budget of their own")
	idFlag(c, &options.ID)
	return c
}

// idFlag adds the flag for the column of the owner's keys.
func idFlag(c *cobra.Command, column *string) {
	c.Flags().StringVar(column, "id", "", "the column with your own key of each record: a known key replaces its record, or changes nothing")
}

// importFile imports a file as a whole.
func importFile(cmd *cobra.Command, o *options, file *os.File, options api.ImportOptions) error {
	in := showProgress(file, cmd.ErrOrStderr(), "storing the records")
	report, err := askOwner(cmd, o, func(owner api.Owner, ctx context.Context) (api.ImportReport, error) {
		ctx, stop := untilInterrupted(ctx)
		defer stop()
		report, err := owner.Import(ctx, in, options)
		if err != nil && ctx.Err() != nil {
			err = interruptedImport(options)
		}
		return report, err
	})
	in.done()
	if err == nil || errors.Is(err, api.ErrBadLines) || errors.Is(err, api.ErrSomeBad) {
		err = errors.Join(show(cmd, o, report, reportText), err)
	}
	return err
}

// interruptedImport says what is stored of a file, as far as a command can know that did not wait for
// the answer.
func interruptedImport(o api.ImportOptions) error {
	switch {
	case o.ID != "":
		return errors.New("interrupted; some lines of the file may be stored: import it again, and what is there changes nothing (if it was at its very end, all is stored, and it is refused)")
	case o.Again:
		return errors.New("interrupted; nothing of the file is stored, or all of it, if it was at its very end: look with \"p2pnode status\" before you import it again")
	}
	return errors.New("interrupted; nothing of the file is stored: import it again (if it was at its very end, all is stored, and it is refused)")
}

// ofFile adds the name of a file to the error about its content.
func ofFile(name string, err error) error {
	if name == "-" || !errors.Is(err, api.ErrRequest) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
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

// reportText says which lines were bad and what happened to the others.
func reportText(r api.ImportReport) string {
	var b strings.Builder
	for _, line := range api.Gathered(r.Lines) {
		b.WriteString(line + "\n")
	}
	if more := r.Bad - len(r.Lines); more > 0 {
		fmt.Fprintf(&b, "and %d more bad %s\n", more, plural(more, "line", "lines"))
	}
	return b.String() + importedText(r)
}

// importedText is reportText for an owner who was told about each bad line.
func importedText(r api.ImportReport) string {
	if r.Records+r.Bad+r.Same == 0 {
		return "There was no record to import, only the line that names the columns.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Imported %d %s, %d bad %s.\n", r.Records, plural(r.Records, "record", "records"), r.Bad, plural(r.Bad, "line", "lines"))
	b.WriteString(keysText(r))
	if r.Total > 0 && r.Records+r.Same > 0 {
		b.WriteString(paragraph("", fmt.Sprintf("Line %d looks like the total of others, and is a record now: if it is none, take it out of the file, and delete its record, "+
			"which data list shows, with data delete.", r.Total)))
	}
	for _, line := range slices.Concat(notedLines(r.Cells), emptyLines(r.Cells), misfitLines(r.Cells, r.Records+r.Same)) {
		b.WriteString(paragraph("", line+"."))
	}
	if r.Missing > 0 {
		b.WriteString(paragraph("", fmt.Sprintf("The budget of older records is used up: new ones take part in what is sent when there are %d more %s (every fifth that comes is held out).",
			r.Missing, plural(r.Missing, "training record", "training records"))))
	}
	if r.NeverShared {
		b.WriteString(paragraph("", "Warning: nothing more is sent from here (p2pnode budget says why), so what is imported is never shared; it serves your own predictions. "+
			"To share new records, make a new directory and put only those in it."))
	}
	return b.String()
}

// keysText says what happened to lines whose keys were known, and what that means for
// the budget.
func keysText(r api.ImportReport) (text string) {
	if r.Same > 0 {
		text += paragraph("", fmt.Sprintf("%d %s what the %s of the same key %s: nothing changed, and it costs no budget.", r.Same,
			plural(r.Same, "line says", "lines say"), plural(r.Same, "record", "records"), plural(r.Same, "says", "say")))
	}
	if r.Replaced > 0 {
		text += paragraph("", fmt.Sprintf("%d of them replaced what was stored under the same key. The old %s erased, and the slots stay empty. "+
			"The budget that was spent stays spent, and what was sent stays public; each new record has a budget of its own, "+
			"so what others can learn about a key adds up over its versions.", r.Replaced, plural(r.Replaced, "record is", "records are")))
	}
	return text
}
