package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"p2pnode/node"
)

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 9_999: "9999 B", 10_000: "10 kB", 9_999_999: "9999 kB", 10_000_000: "10 MB", 5_000_000_000: "5000 MB",
	} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}

// Lines break before the margin, between words, and the following ones are
// indented as the first.
func TestParagraph(t *testing.T) {
	text := strings.Repeat("word ", 40)
	got := paragraph("  - ", text)
	for i, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
		if want := []string{"  - ", "    "}[min(i, 1)]; !strings.HasPrefix(line, want+"word") || len(line) > lineWidth {
			t.Errorf("line %d is %q", i, line)
		}
	}
	if strings.Count(got, "word") != 40 || strings.Count(got, "\n") != 3 {
		t.Errorf("got %q", got)
	}
}

// A share close to 0 or 1 never reads as 0 % or 100 %.
func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0.0 %", 1: "100.0 %", 0.5: "50.0 %", 1.0 / 12: "8.3 %", 0.9973: "99.7 %", 0.99995: "99.995 %", 0.00002: "0.002 %", 1 - 1e-15: "100.0000000000 %",
	} {
		if got := percent(share); got != want {
			t.Errorf("percent(%v) = %q, want %q", share, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for v, want := range map[float64]string{1: "1", 999: "999", 1000: "1,000", 1 / 1e-6: "1,000,000", 1 / 3e-5: "33,333", 1e20: "1e+20"} {
		if got := grouped(v); got != want {
			t.Errorf("grouped(%v) = %q, want %q", v, got, want)
		}
	}
}

// Numbers and ranges give each number once, in order.
func TestParseNumbers(t *testing.T) {
	if got, err := parseNumbers([]string{"9", "2-4", "3"}); err != nil || !slices.Equal(got, []uint64{2, 3, 4, 9}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "0", "0-3", "-3", "3-", "4-2", "a", "1-2-3", "1.5", "99999999999999999999", "1-9999999999"} {
		if got, err := parseNumbers([]string{bad}); err == nil {
			t.Errorf("%q gives %v", bad, got)
		}
	}
}

// Columns line up whatever the cells hold, and no line ends in spaces.
func TestTable(t *testing.T) {
	got := table([]any{"NAME", "N"}, []any{"long name", 1}, []any{"é", 20})
	if want := "NAME       N\nlong name  1\né          20\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The texts say what an owner must not miss.
func TestTexts(t *testing.T) {
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
	open.Unprotected, open.Bare = true, 1
	used := budget
	used.Left = 0
	planned := budget
	planned.Plan = &node.PlanBudget{Steps: 12, Done: 3, Left: 9}
	planned.Cohorts = []node.CohortBudget{{Cohort: 1, Records: 40, Retired: true}}
	planned.Person = append(planned.Person, node.PersonBudget{Records: 10, Epsilon: 10, Delta: 1, Belief: 0.9999})
	report := node.ImportReport{Records: 3, Bad: 2, Lines: []node.BadLine{{Line: 7, Reason: "wrong number of fields"}}}
	for _, c := range []struct {
		text  string
		has   []string
		lacks string
	}{
		{statusText(node.Status{}), []string{"not running (start it with: p2pnode run)", "none (add some with:", "nothing to compare yet"}, "done"},
		{statusText(node.Status{Done: true}), []string{"import new ones and they begin a new cohort"}, ""},
		{
			statusText(node.Status{Running: true, Addrs: []string{"/ip4/192.0.2.7/tcp/1"}, Records: 10, HeldOut: 2, Neighbours: 3, Listening: 2, Heard: 1}),
			[]string{"running\n", "/ip4/192.0.2.7/tcp/1\n", "10, of which 2 are held out", "3; 2 listening now, 1 heard"}, "start it",
		},
		{
			statusText(node.Status{Personal: &node.Comparison{Measure: "RMSE", Personal: 0.5, Alone: 0.75, HeldOut: 4}}),
			[]string{"RMSE 0.5000 with the neighbours, 0.7500 alone, on 4 held-out records"}, "nothing to compare",
		},
		{privacyLine(node.BudgetSummary{Epsilon: 1, Delta: 1e-6, Spent: 0.25, Left: 9}), []string{"25 % of the budget spent, 9 releases left"}, "UNBOUNDED"},
		{privacyLine(node.BudgetSummary{Epsilon: 1, Unbounded: true}), []string{"UNBOUNDED"}, "epsilon"},
		{
			budgetText(budget), []string{
				"epsilon 1, delta 1e-06.", "think 73.1 % likely at most (that is epsilon); the chance that this fails is 1 in 1,000,000 (delta).",
				"  1       40       12      100.0 %  0            used up\n", "  2       8        3       25.0 %   9            in use\n",
				"One more round costs 8.3 % of the budget; 9 rounds are left.\n", "  2        2.12     1e-06  89.3 %\n",
				"WHO CAN SEE IT\n  Anyone.\n", "  - when your node sends\n",
			}, "plan",
		},
		{budgetText(used), []string{"Nothing more will be sent", "these records have used their budget"}, "One more round"},
		{budgetText(planned), []string{"3 of 12 steps are done. A plan cannot be", "retired by a restore, for ever", "certainty: no guarantee"}, "used up"},
		{budgetText(unbounded), []string{"UNBOUNDED", "NO GUARANTEE", "COHORT", "0 models were sent", "make a new directory and put only new records in it"}, "epsilon"},
		{budgetText(open), []string{"UNBOUNDED", "To protect what has not been sent yet, remove that key.", "1 model was sent", "Rounds cost nothing"}, "epsilon"},
		{budgetText(node.Budget{Person: budget.Person, Left: 1}), []string{"Nothing: there are no records yet.", "1 round is left."}, "COHORT"},
		{verifiedText(node.Verification{}), []string{"empty"}, "sound"},
		{verifiedText(node.Verification{Entries: 7, Round: 6, Anchor: 7}), []string{"sound", "all 7 entries", "round 6"}, "empty"},
		{recordsText(nil), []string{"No records yet."}, "NUMBER"},
		{peersText(nil), []string{"No neighbours yet."}, "PEER"},
		{peersText([]node.Peer{{ID: "12D3", Weight: 0.5, Connected: true, Round: 4}}), []string{"12D3  0.500   yes        no         4"}, ""},
		{reportText(report), []string{"line 7: wrong number of fields\nand 1 more bad lines\nImported 3 records, 2 bad lines."}, ""},
		{predictionText(node.Prediction{Value: 3.5, Alone: 3.25}), []string{"3.500 (alone: 3.250)"}, ""},
	} {
		flat := strings.Join(strings.Fields(c.text), " ") // wherever its lines break
		for _, want := range c.has {
			if !strings.Contains(c.text, want) && !strings.Contains(flat, want) {
				t.Errorf("%q\nlacks %q", c.text, want)
			}
		}
		if c.lacks != "" && strings.Contains(c.text, c.lacks) {
			t.Errorf("%q\nhas %q", c.text, c.lacks)
		}
	}
}

// The ready line gives an address that other machines can dial, if there is one.
func TestReady(t *testing.T) {
	for _, c := range []struct {
		addresses []string
		want      string
	}{
		{nil, "on no address"},
		{[]string{"/ip4/127.0.0.1/tcp/1/p2p/X"}, "--bootstrap /ip4/127.0.0.1/tcp/1/p2p/X\n"},
		{[]string{"/ip4/127.0.0.1/tcp/1/p2p/X", "/ip6/::1/tcp/1/p2p/X", "/ip4/192.0.2.7/tcp/1/p2p/X", "/ip6/fd00::2/tcp/1/p2p/X"}, "--bootstrap /ip4/192.0.2.7/tcp/1/p2p/X\n"},
	} {
		if got := (ready{"X", c.addresses}).String(); !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%v: %q, want one line with %q", c.addresses, got, c.want)
		}
	}
}

// Only a mistake in the command line itself is exit code 2, however wrapped.
func TestFail(t *testing.T) {
	command := newCommand(&options{})
	usage := usageError{errors.New("no such flag"), command}
	for _, c := range []struct {
		err  error
		json bool
		code int
		want string
	}{
		{errors.New("disk full"), false, 1, "p2pnode: disk full\n"},
		{errors.New("disk full"), true, 1, "{\"error\":\"disk full\"}\n"},
		{usage, false, 2, "p2pnode: no such flag\nUsage: p2pnode COMMAND\nRun 'p2pnode --help' for more.\n"},
		{fmt.Errorf("wrapped: %w", usage), true, 2, "{\"error\":\"wrapped: no such flag\"}\n"},
	} {
		var out strings.Builder
		if code := fail(&out, c.json, c.err); code != c.code || out.String() != c.want {
			t.Errorf("fail(%v) = %d, %q; want %d, %q", c.err, code, &out, c.code, c.want)
		}
	}
}
