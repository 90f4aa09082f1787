package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

func exportCommand(o *options) *cobra.Command {
	var out, id string
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the records as CSV, as you gave them",
		Long: `Write the records as CSV with the task's columns, in order of arrival and in
your own units: the cells as they were imported, to standard output or into a new
file that only you can read. What is imported from it is equal. Deleted records
are left out, and so are those whose cells were not kept, as those of the first
release; how many these are is said at the end.

--id COLUMN writes your own keys, too, in a column of that name, so that
"data import --id COLUMN" knows the records again. Leave it out where the key is
in a column of the task, which is written anyway.`,
		Example: `  p2pnode data export --out records.csv
  p2pnode data export --id receipt | head -n 5`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := askOwner(cmd, o, func(owner api.Owner, ctx context.Context) (exportReport, error) {
				// An interrupt must not leave a part of the file that looks complete.
				ctx, stop := untilInterrupted(ctx)
				defer stop()
				return export(ctx, owner, o.dir, cmd.OutOrStdout(), out, id)
			})
			switch {
			case err != nil:
				return err
			case out != "":
				return show(cmd, o, report, exportReport.String)
			case o.json:
				return json.NewEncoder(cmd.ErrOrStderr()).Encode(report)
			}
			_, err = io.WriteString(cmd.ErrOrStderr(), report.omitted())
			return err
		},
	}
	c.Flags().StringVar(&out, "out", "", "the new file to write, instead of standard output")
	c.Flags().StringVar(&id, "id", "", "write your own keys in a column of this name")
	return c
}

// export writes the records into a file, or to stdout if it has no name.
func export(ctx context.Context, owner api.Owner, dir string, stdout io.Writer, name, id string) (report exportReport, err error) {
	t, err := datadir.ReadTask(dir)
	if err != nil {
		return report, err
	}
	columns := t.Columns()
	if slices.Contains(columns, id) {
		return report, fmt.Errorf("the task has a column %q, which is written anyway; leave out --id, or name another column for your keys", id)
	}
	err = writeOut(name, stdout, func(w io.Writer) (err error) {
		report, err = writeRecords(w, owner.Records(ctx, true), columns, id)
		return err
	})
	report.File = name
	return report, err
}

// writeRecords writes the records as CSV while they arrive.
func writeRecords(w io.Writer, list iter.Seq2[api.RecordInfo, error], columns []string, id string) (report exportReport, err error) {
	buffered := bufio.NewWriter(w)
	out := csv.NewWriter(buffered)
	if id != "" {
		columns = append([]string{id}, columns...)
	}
	if err := out.Write(columns); err != nil {
		return report, err
	}
	row := make([]string, 0, len(columns))
	for r, err := range list {
		switch {
		case err != nil:
			return report, err
		case r.Deleted:
			continue
		case r.Cells == nil:
			report.WithoutCells++
			continue
		}
		row = row[:0]
		if id != "" {
			row = append(row, r.ID)
		}
		for _, c := range r.Cells {
			row = append(row, c.Text)
		}
		if err := out.Write(row); err != nil {
			return report, err
		}
		report.Records++
	}
	if out.Flush(); out.Error() != nil {
		return report, out.Error()
	}
	return report, buffered.Flush()
}

// exportReport is the result of export.
type exportReport struct {
	File         string `json:"file,omitempty"`
	Records      int    `json:"records"`
	WithoutCells int    `json:"without_cells"` // records that were left out
}

// String implements [fmt.Stringer].
func (e exportReport) String() string {
	return fmt.Sprintf("Wrote %d %s to %s. It holds them in clear: keep it private.\n", e.Records, plural(e.Records, "record", "records"), e.File) + e.omitted()
}

// omitted says what was left out, or "" if nothing was.
func (e exportReport) omitted() string {
	if e.WithoutCells == 0 {
		return ""
	}
	return paragraph("", fmt.Sprintf("%d %s left out: what you wrote was not kept of %s (of the first release, or not fitting the task); \"p2pnode data list --content\" shows the numbers.",
		e.WithoutCells, plural(e.WithoutCells, "record is", "records are"), plural(e.WithoutCells, "it", "them")))
}
