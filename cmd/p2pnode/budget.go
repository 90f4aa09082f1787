package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/node"
)

func budgetCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "budget",
		Short: "What privacy has been spent, from the ledger on disk",
		Long: `What privacy has been spent, from the ledger on disk. Records that arrive
together form a cohort; each cohort pays for its own releases and stops taking
part when its budget is used up.`,
		Example: `  p2pnode budget
  p2pnode budget --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, o, node.Owner.Budget, budgetText)
		},
	}
}

func budgetText(b node.Budget) string {
	return guaranteeText(b) + cohortsText(b.Cohorts)
}

func guaranteeText(b node.Budget) string {
	if b.Unbounded {
		return "UNBOUNDED: models were or will be sent without a guarantee.\n"
	}
	text := fmt.Sprintf("Guaranteed for each record, for ever: epsilon %v, delta %v (replacing one record; at most %d releases).\n",
		b.Epsilon, b.Delta, b.Releases)
	var several []string
	for _, p := range b.Person {
		if p.Records > 1 {
			several = append(several, fmt.Sprintf("%d records: epsilon %.3g", p.Records, p.Epsilon))
		}
	}
	if len(several) == 0 {
		return text
	}
	return text + fmt.Sprintf("For a person with several records here, at the same delta: %s.\n", strings.Join(several, "; "))
}

func cohortsText(cohorts []node.CohortBudget) string {
	if len(cohorts) == 0 {
		return "No records yet, so nothing is spent.\n"
	}
	rows := [][]any{{"COHORT", "RECORDS", "RELEASES", "LEFT", "SPENT"}}
	for _, c := range cohorts {
		rows = append(rows, []any{c.Cohort, c.Records, c.Releases, c.Left, fmt.Sprintf("%.1f %%", 100*c.Spent)})
	}
	return table(rows...)
}
