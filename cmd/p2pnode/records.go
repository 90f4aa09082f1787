package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/node"
)

func listCommand(o *options) *cobra.Command {
	var content bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the records by number, without their content",
		Long: `List the records by number, in order of arrival, without their content: which
cohort each belongs to, and what it is used for. Every fifth record is held out:
it measures your model and never takes part in what is sent.

--content adds what the records say, as numbers, the way the task encodes them;
features that are 0 are left out.`,
		Example: `  p2pnode data list
  p2pnode data list --content --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, o, func(owner node.Owner, ctx context.Context) ([]node.RecordInfo, error) {
				return owner.Records(ctx, content)
			}, recordsText)
		},
	}
	c.Flags().BoolVar(&content, "content", false, "show what the records say, too")
	return c
}

func recordsText(records []node.RecordInfo) string {
	if len(records) == 0 {
		return "No records yet.\n"
	}
	rows := [][]any{{"NUMBER", "COHORT", "USE"}}
	for _, r := range records {
		row := []any{r.Number, r.Cohort, recordUse(r)}
		if r.Target != nil {
			row = append(row, targetText(r), featuresText(r.Features))
		}
		rows = append(rows, row)
	}
	if slices.ContainsFunc(records, func(r node.RecordInfo) bool { return r.Target != nil }) {
		rows[0] = append(rows[0], "TARGET", "FEATURES")
	}
	return table(rows...)
}

func targetText(r node.RecordInfo) string {
	if r.Class != "" {
		return r.Class
	}
	return fmt.Sprintf("%.4g", *r.Target)
}

func featuresText(features []node.Coordinate) string {
	words := make([]string, len(features))
	for i, f := range features {
		words[i] = fmt.Sprintf("%s:%.4g", f.Name, f.Value)
	}
	return strings.Join(words, " ")
}

func recordUse(r node.RecordInfo) string {
	switch {
	case r.Deleted:
		return "deleted, its slot is empty"
	case r.HeldOut:
		return "held out, never sent"
	case r.Retired:
		return "own predictions only, retired"
	case r.UsedUp:
		return "own predictions only, budget used"
	}
	return "training"
}

func deleteCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NUMBER...",
		Short: "Delete records by their numbers, and forget them at once",
		Long: `Delete records by their numbers, which "p2pnode data list" shows; 17-20 means
four of them. All are deleted or none. Your own model forgets them at once.

How many records there are is public, so each deleted one leaves an empty slot
until the budget of its cohort is used. What was sent while it was there cannot
be called back; its budget covers that. Backups made before still hold it.`,
		Example: `  p2pnode data delete 3
  p2pnode data delete 1 4-6 --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := parseNumbers(args)
			if err != nil {
				return usageError{err, cmd}
			}
			return ask(cmd, o, func(owner node.Owner, ctx context.Context) (deletedRecords, error) {
				return deletedRecords{len(numbers)}, owner.Delete(ctx, numbers)
			}, deletedRecords.String)
		},
	}
}

// maxRange bounds the numbers of one command.
const maxRange = 1 << 20

// parseNumbers reads numbers and ranges; each number once, in order.
func parseNumbers(args []string) ([]uint64, error) {
	var numbers []uint64
	for _, a := range args {
		first, last, isRange := strings.Cut(a, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 62)
		to, err2 := strconv.ParseUint(last, 10, 62)
		if err != nil || err2 != nil || from == 0 || to < from {
			return nil, fmt.Errorf("%q is no number from 1 and no range like 17-20", a)
		}
		if to-from >= maxRange || len(numbers) >= maxRange {
			return nil, fmt.Errorf("more than %d records at once; delete them in parts", maxRange)
		}
		for n := from; n <= to; n++ {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// deletedRecords says what delete did.
type deletedRecords struct {
	Records int `json:"deleted_records"`
}

// String implements [fmt.Stringer].
func (d deletedRecords) String() string {
	return fmt.Sprintf("Deleted %d %s. Your model has forgotten %s; what was sent before stays public.\n",
		d.Records, plural(d.Records, "record", "records"), plural(d.Records, "it", "them")) +
		"The empty slots stay until the budget of their cohorts is used. Backups made\nbefore still hold what was in them.\n"
}
