package main

import (
	"testing"

	"p2pnode/node"
)

// The budget says what an owner must know, in every state of a ledger.
func TestBudgetText(t *testing.T) {
	budget := node.Budget{
		Epsilon: 1, Delta: 1e-6, Releases: 12,
		Cohorts: []node.CohortBudget{{Cohort: 1, Records: 40, Releases: 12, Spent: 1}, {Cohort: 2, Records: 8, Releases: 3, Left: 9, Spent: 0.25}},
		Left:    9, Next: 1.0 / 12,
		Person:    []node.PersonBudget{{Records: 1, Epsilon: 1, Delta: 1e-6, Belief: 0.731}, {Records: 2, Epsilon: 2.1234, Delta: 1e-6, Belief: 0.893}},
		VisibleTo: "Anyone.", NotCovered: []string{"when your node sends"},
	}
	unbounded := budget
	unbounded.Unbounded = true
	open := unbounded
	open.Unprotected, open.Bare, open.Releases = true, 1, 0
	used := budget
	used.Left = 0
	old := budget
	old.Contradicted = 20
	planned := budget
	planned.Plan = &node.PlanBudget{Steps: 12, Done: 3, Left: 9}
	planned.Cohorts = []node.CohortBudget{{Cohort: 1, Records: 40, Retired: true}}
	planned.Person = append(planned.Person, node.PersonBudget{Records: 10, Epsilon: 10, Delta: 1, Belief: 0.9999})
	for _, c := range []textCase{
		{
			budgetText(budget), []string{
				"epsilon 1, delta 1e-06.", "think 73.1 % likely at most (that is epsilon); the chance that this fails is 1 in 1,000,000 (delta).",
				"  1       40       12      100.0 %  0            used up\n", "  2       8        3       25.0 %   9            in use\n",
				"One more round costs 8.3 % of the budget; 9 rounds are left.\n", "  2        2.12     1e-06  89.3 %\n",
				"WHO CAN SEE IT\n  Anyone.\n", "  - when your node sends\n",
			}, "plan",
		},
		{budgetText(used), []string{"Nothing more will be sent", "these records have used their budget"}, "One more round"},
		{budgetText(old), []string{"REFUSED a peer showed that this directory is an old copy: it holds round 20.", "Nothing more will be sent: this directory is an old copy"}, "One more round"},
		{budgetText(planned), []string{"3 of 12 steps are done. A plan cannot be", "retired by a restore, for ever", "certainty: no guarantee"}, "used up"},
		{budgetText(unbounded), []string{"UNBOUNDED", "NO GUARANTEE", "COHORT", "0 models were sent", "make a new directory and put only new records in it"}, "epsilon"},
		{budgetText(open), []string{"UNBOUNDED", "To protect what has not been sent yet, remove that key.", "1 model was sent", "Rounds cost nothing", "2 8 3 25.0 % no limit sent without noise"}, "epsilon"},
		{budgetText(node.Budget{Person: budget.Person, Left: 1}), []string{"Nothing: there are no records yet.", "1 round is left."}, "COHORT"},
	} {
		c.check(t)
	}
}
