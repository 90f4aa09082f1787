package main

import (
	"testing"

	"p2pnode/node/api"
)

// The budget says what an owner must know, in every state of a ledger.
func TestBudgetText(t *testing.T) {
	budget := api.Budget{
		Epsilon: 1, Delta: 1e-6, Excess: 2.01e-5, Releases: 12,
		Cohorts: []api.CohortBudget{{Cohort: 1, Records: 40, Releases: 12, Spent: 1}, {Cohort: 2, Records: 8, Releases: 3, Left: 9, Spent: 0.25}},
		Left:    9, Next: 1.0 / 12,
		Person:    []api.PersonBudget{{Records: 1, Epsilon: 1, Delta: 1e-6, Belief: 0.731}, {Records: 2, Epsilon: 2.1234, Delta: 1e-6, Belief: 0.893}},
		VisibleTo: "Anyone.", NotCovered: []string{"when your node sends"},
	}
	unbounded := budget
	unbounded.Unbounded = true
	open := unbounded
	open.Unprotected, open.Bare, open.Releases = true, 1, 0
	before, limited := open, open
	before.Bare, limited.Releases, limited.Left = 0, 3, 0
	bare := unbounded
	bare.Bare = 1
	used := budget
	used.Left, used.Missing = 0, 40
	used.Cohorts = budget.Cohorts[:1]
	waiting := budget
	waiting.Left, waiting.Missing = 0, 32
	old := budget
	old.Contradicted = 20
	planned := budget
	planned.Plan = &api.PlanBudget{Steps: 12, Done: 3, Left: 9}
	planned.Cohorts = []api.CohortBudget{{Cohort: 1, Records: 40, Spent: 1, AtLeast: 0.25, Retired: true}}
	restored := planned
	restored.Left = 0
	over := planned
	over.Plan, over.Left, over.Cohorts = &api.PlanBudget{Steps: 12, Done: 12}, 0, budget.Cohorts
	growing := budget
	growing.Rising, growing.Noise, growing.Accounting, growing.Pace, growing.Batch = true, "gaussian", "plan", "growing", 50
	planned.Person = append(planned.Person, api.PersonBudget{Records: 10, Epsilon: 10, Delta: 1, Belief: 0.9999})
	for _, c := range []textCase{
		{
			budgetText(budget), []string{
				"epsilon 1, delta 1e-06.", "think 73.1 % likely at most (that is epsilon); in about 1 of 50,000 cases they learn more (delta, 1e-06, counts each of these by how much more).",
				"  1       40       12      100.0 %  0            used up\n", "  2       8        3       25.0 %   9            in use\n",
				"One more round costs 8.3 % of the budget; 9 rounds are left.\n", "  2        2.12     1e-06  89.3 %\n",
				"WHO CAN SEE IT\n  Anyone.\n", "  - when your node sends\n",
			}, "plan",
		},
		{budgetText(used), []string{"Nothing more will be sent: the budget of these records is used up; import new ones and they begin a new cohort with a budget of its own, which takes part when it has 40 of them."}, "One more round"},
		{budgetText(waiting), []string{"Nothing is sent: new records wait for 32 more training records (every fifth that comes is held out), because", "2 8 3 25.0 % 9 waits for 32 more"}, "used up; import"},
		{budgetText(growing), []string{"How: gaussian noise, plan accounting, growing pace, 50 of every 100 records in a round.", "9 rounds are left. The one after that costs more."}, ""},
		{budgetText(restored), []string{"these records are retired by a restore; import new ones and they take part in what is left of the plan, 9 steps."}, "at its end"},
		{budgetText(over), []string{"2 8 3 25.0 % 9 the plan is over", "the plan is over: these records are never shared any more"}, "in use"},
		{budgetText(before), []string{"8 3 25.0 % no limit will be sent without noise"}, "in use"},
		{budgetText(limited), []string{"the limit of 3 rounds"}, "cost nothing"},
		{budgetText(bare), []string{"in use; was perhaps sent without noise before"}, ""},
		{budgetText(old), []string{"REFUSED a peer showed that this directory is an old copy: it holds round 20.", "Nothing more will be sent: this directory is an old copy"}, "One more round"},
		{budgetText(planned), []string{"One more round is one step of the plan", "3 of 12 steps are done. A plan cannot be", "0 at least 25 %, counts as all 0 retired by a restore, for ever", "share of the plan's steps", "certainty: no guarantee"}, "used up"},
		{budgetText(unbounded), []string{"UNBOUNDED", "NO GUARANTEE", "COHORT", "0 models were sent", "make a new directory and put only new records in it"}, "epsilon"},
		{budgetText(open), []string{"UNBOUNDED", "To protect what has not been sent yet, remove that key.", "1 model was sent", "Rounds cost nothing", "2 8 3 25.0 % no limit sent without noise, or will be"}, "epsilon"},
		{budgetText(api.Budget{Person: budget.Person, Left: 1}), []string{"Nothing: there are no records yet.", "1 round is left."}, "COHORT"},
	} {
		c.check(t)
	}
}
