package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"p2pnode/node/api"
	"p2pnode/node/datadir"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
)

func predictCommand(o *options) *cobra.Command {
	var file predictFile
	c := &cobra.Command{
		Use:   "predict COLUMN=VALUE... | --file FILE",
		Short: "Ask the personal model, for one row or for a file of rows",
		Long: `Ask the personal model for the target of one row; name every other column of
the task. The answer is in the target's units; the probability of 1 for a
yes-or-no target, or 1 or -1 if the task's loss is the hinge; the likeliest class
and its probability for a target of classes. Values are written as in a CSV: a
time as at=2026-03-01T08:30, a vector as 'photo=[0.1, -0.4]'.

With --file it answers for each row of a CSV file, whose first line names the
columns, or of lines of JSON, one object on each; - reads standard input, and
answers as lines arrive. The output has the rows in order with all their columns
and behind them "prediction" and, for classes, "probability_" with each name: CSV
for CSV, and lines of JSON for JSON or with --json. A column of the target is
passed on and not looked at.

A line that is no row gets no prediction, is named on standard error, or in lines
of JSON as {"line":7,"error":"..."}, and makes the exit code 1. The end says how
many rows there were, and which columns had cells that were empty, unknown or
outside their range. A file of any size takes little memory. If the model learns
meanwhile, later rows are of the newer model.`,
		Example: `  p2pnode predict 'genres=Comedy|Romance' year=1994
  p2pnode predict --json genres=Film-Noir year=1944
  p2pnode predict --file ratings.csv
  p2pnode predict --file ratings.csv --json --out predictions.ndjson
  echo '{"genres":["Comedy","War"],"year":1994}' | p2pnode predict --file -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file.name != "" {
				return file.run(cmd, o)
			}
			var columns []string
			decimals := func(...float64) int { return 3 }
			t, err := datadir.ReadTask(o.dir)
			if err == nil { // else the node says what is wrong
				columns, decimals = t.Columns(), t.Decimals
			}
			row, wrong := parseRow(args, columns)
			if wrong != nil {
				return usageError{wrong, cmd}
			}
			if err == nil {
				if column := t.Lacking(row); column != "" {
					return fmt.Errorf("column %q is missing; if it is not known, write %s", column, shellescape.Quote(column+"="))
				}
			}
			request := func(owner api.Owner, ctx context.Context) (api.Prediction, error) { return owner.Predict(ctx, row) }
			return ask(cmd, o, request, func(p api.Prediction) string { return predictionText(p, decimals(p.Value, p.Alone)) })
		},
	}
	c.Args = func(_ *cobra.Command, args []string) error { return file.check(args) }
	c.Flags().StringVar(&file.name, "file", "", "predict the rows of this file, CSV or lines of JSON; - is standard input")
	c.Flags().StringVar(&file.out, "out", "", "write the rows of --file to a new file that only you can read")
	c.Flags().BoolVar(&file.numbers, "lines", false, "write the numbers of the lines of --file in place of their columns")
	return c
}

// untrained is the warning with the predictions of a node that knows nothing.
const untrained = "This is a guess: the node has no records, and has learned from nobody. Add records with\n" +
	"p2pnode data import FILE.csv, and meet others with p2pnode run.\n"

// check returns an error if arguments and flags do not fit together.
func (f *predictFile) check(args []string) error {
	switch {
	case f.name != "" && len(args) > 0:
		return fmt.Errorf("name one row, or a file with --file, not both: %q", args)
	case f.name == "" && (f.out != "" || f.numbers):
		return errors.New("--out and --lines belong to --file")
	case f.name == "" && len(args) == 0:
		return errors.New("name the columns of one row as COLUMN=VALUE, or a file of rows with --file")
	}
	return nil
}

// parseRow reads a row that is named column by column. The names of columns, and values, may
// have equals signs in them.
func parseRow(args, columns []string) (map[string]string, error) {
	row := make(map[string]string, len(args))
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		for _, column := range columns {
			if said, its := strings.CutPrefix(a, column+"="); its && len(column) > len(name) {
				name, value = column, said
			}
		}
		if _, twice := row[name]; !ok || twice {
			return nil, fmt.Errorf("write %q as COLUMN=VALUE, and name each column once", a)
		}
		row[name] = value
	}
	return row, nil
}

func predictionText(p api.Prediction, decimals int) string {
	text := fmt.Sprintf("%.*f (alone: %.*f)\n", decimals, p.Value, decimals, p.Alone)
	if p.Class != "" {
		text = fmt.Sprintf("%s, probability %.*f (alone: %s, %.*f)\n", p.Class, decimals, p.Value, p.AloneClass, decimals, p.Alone)
	}
	for _, line := range notedLines(p.Cells) {
		text += paragraph("", line+".")
	}
	if p.Guess {
		text += untrained
	}
	return text
}
