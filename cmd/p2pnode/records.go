package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

func listCommand(o *options) *cobra.Command {
	var content bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the records by number, without their content",
		Long: `List the records by number, in order of arrival, without their content: which
cohort each belongs to, and what it is used for. Every fifth record is held out:
it measures your model and never takes part in what is sent.

--content adds what the records say, in your own units, with a note where a cell
was not taken as it is; --json adds the numbers that are learned from. Records of
the first release, which kept no cells, are shown as these numbers, without
those that are 0.`,
		Example: `  p2pnode data list
  p2pnode data list --content --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := askOwner(cmd, o, func(owner api.Owner, ctx context.Context) (struct{}, error) {
				return struct{}{}, showRecords(cmd, o, owner.Records(ctx, content), content)
			})
			return err
		},
	}
	c.Flags().BoolVar(&content, "content", false, "show what the records say, too")
	return c
}

// alignedRows is how many lines of a long table have their columns aligned together.
const alignedRows = 1000

// showRecords prints the records as they arrive, so that a long list takes little memory.
func showRecords(cmd *cobra.Command, o *options, list iter.Seq2[api.RecordInfo, error], content bool) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	var err error
	if o.json {
		err = writeList(out, list)
	} else {
		err = recordsText(out, list, content)
	}
	return errors.Join(err, out.Flush())
}

func recordsText(out io.Writer, list iter.Seq2[api.RecordInfo, error], content bool) error {
	head := []any{"NUMBER", "COHORT", "USE"}
	if content {
		head = append(head, "TARGET", "FEATURES")
	}
	rows, empty := [][]any{head}, true
	for r, err := range list {
		if err != nil {
			return err
		}
		row := []any{r.Number, r.Cohort, recordUse(r)}
		if r.Target != nil {
			row = append(row, targetText(r), featuresText(r))
		}
		empty = false
		if rows = append(rows, row); len(rows) < alignedRows {
			continue
		}
		if _, err := io.WriteString(out, printable(table(rows...))); err != nil {
			return err
		}
		rows = rows[:0]
	}
	if empty {
		_, err := io.WriteString(out, "No records yet.\n")
		return err
	}
	_, err := io.WriteString(out, printable(table(rows...)))
	return err
}

func targetText(r api.RecordInfo) string {
	if n := len(r.Cells); n > 0 {
		return cellText(r.Cells[n-1])
	}
	if r.Class != "" {
		return r.Class
	}
	return fmt.Sprintf("%.4g", *r.Target)
}

func featuresText(r api.RecordInfo) string {
	if n := len(r.Cells); n > 0 {
		words := make([]string, n-1)
		for i, c := range r.Cells[:n-1] {
			words[i] = c.Column + "=" + cellText(c)
		}
		return strings.Join(words, "  ")
	}
	words := make([]string, len(r.Features))
	for i, f := range r.Features {
		words[i] = fmt.Sprintf("%s:%.4g", f.Name, f.Value)
	}
	return "as coded  " + strings.Join(words, " ")
}

func recordUse(r api.RecordInfo) string {
	switch {
	case r.Deleted:
		return "deleted, its slot is empty"
	case r.Refused:
		return "none: it does not fit the task; delete it and import it again"
	case r.HeldOut:
		return "held out, never sent"
	case r.Retired:
		return "own predictions only, retired"
	case r.UsedUp && r.Sums == api.SumsOver:
		return "own predictions only, its private sums are over"
	case r.UsedUp && r.Sums == api.SumsNever:
		return "own predictions only, no private sum for it"
	case r.UsedUp:
		return "own predictions only, budget used"
	case r.Sums == api.SumsToCome:
		return "training, waits for a private sum"
	case r.Sums == api.SumsPaid, r.Sums == api.SumsOver:
		return "training, paid for a private sum"
	}
	return "training"
}

func deleteCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "delete NUMBER...",
		Short: "Delete records by their numbers, and forget them at once",
		Long: `Delete records by their numbers, which "p2pnode data list" shows; 17-20 means
those of the four that are still there. All are deleted or none. Your own model
forgets them at once. If the process is killed while it deletes thousands, the
first of them are deleted: name the range again.

How many records there are is public, so each deleted one leaves an empty slot
until the budget of its cohort is used. What was sent while it was there cannot
be called back; its budget covers that. Backups made before still hold it, and so
do databases that a restore replaced and kept.`,
		Example: `  p2pnode data delete 3
  p2pnode data delete 1 4-6 --json`,
		Args: takes(1, anyNumber),
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := parseNumbers(args)
			if err != nil {
				return usageError{err, cmd}
			}
			return ask(cmd, o, func(owner api.Owner, ctx context.Context) (deletedRecords, error) {
				return deleteNumbers(ctx, owner, numbers, o.dir)
			}, deletedRecords.String)
		},
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() != "" { // a number such as -5
			err = fmt.Errorf("%w (numbers are from 1 up; a range is like 17-20)", err)
		}
		return c.Parent().FlagErrorFunc()(c, err)
	})
	return c
}

// deleteNumbers deletes the records that exist in the ranges and all records that are
// named one by one.
func deleteNumbers(ctx context.Context, owner api.Owner, numbers map[uint64]bool, dir string) (done deletedRecords, err error) {
	for r, err := range owner.Records(ctx, false) {
		if err != nil {
			return done, err
		}
		if one, wanted := numbers[uint64(r.Number)]; wanted && !one && r.Deleted {
			delete(numbers, uint64(r.Number))
			done.Before++
		}
	}
	done.Records = len(numbers)
	if done.Kept, err = datadir.Kept(dir); err != nil {
		return done, err
	}
	return done, owner.Delete(ctx, slices.Sorted(maps.Keys(numbers)))
}

// mostNumbers bounds the numbers of one command, which are one request: its server has
// memory for so many, however long they are.
const mostNumbers = 200_000

// parseNumbers reads numbers and ranges. Each number comes with whether it was
// named by itself.
func parseNumbers(args []string) (map[uint64]bool, error) {
	numbers := make(map[uint64]bool)
	for _, a := range args {
		first, last, isRange := strings.Cut(a, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 62)
		to, err2 := strconv.ParseUint(last, 10, 62)
		if err != nil || err2 != nil || from == 0 || to < from {
			return nil, fmt.Errorf("%q is neither a number from 1 up nor a range like 17-20", a)
		}
		if to-from >= uint64(mostNumbers-len(numbers)) {
			return nil, fmt.Errorf("more than %d records at once; delete them in parts", mostNumbers)
		}
		for n := from; n <= to; n++ {
			numbers[n] = numbers[n] || !isRange
		}
	}
	return numbers, nil
}

// deletedRecords says what delete did.
type deletedRecords struct {
	Records int      `json:"deleted_records"`
	Before  int      `json:"deleted_before"`            // of the ranges
	Kept    []string `json:"still_hold_them,omitempty"` // databases that restores and upgrades kept
}

// String implements [fmt.Stringer].
func (d deletedRecords) String() string {
	text := "Deleted nothing: the records with these numbers were deleted before.\n"
	if d.Records > 0 {
		text = fmt.Sprintf("Deleted %d %s. Your model has forgotten %s; what was sent before stays public.\n",
			d.Records, plural(d.Records, "record", "records"), plural(d.Records, "it", "them"))
		if d.Before > 0 {
			text += fmt.Sprintf("%d of the numbers were deleted before.\n", d.Before)
		}
	}
	text += "The empty slots stay until the budget of their cohorts is used. Backups made\nbefore still hold what was in them.\n"
	for _, name := range d.Kept {
		text += fmt.Sprintf("So may %s, which a restore or an upgrade kept: remove it.\n", name)
	}
	return text
}
