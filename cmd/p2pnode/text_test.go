package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"p2pnode/discovery/reach"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
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

// Numbers and ranges give each number once, and which were named.
func TestParseNumbers(t *testing.T) {
	if got, err := parseNumbers([]string{"9", "2-4", "3"}); err != nil || !maps.Equal(got, map[uint64]bool{2: false, 3: true, 4: false, 9: true}) {
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

// textCase is a text, what it must have, on one line or broken over several, and
// what it must not.
type textCase struct {
	text  string
	has   []string
	lacks string
}

func (c textCase) check(t *testing.T) {
	t.Helper()
	flat := strings.Join(strings.Fields(c.text), " ")
	for _, want := range c.has {
		if !strings.Contains(c.text, want) && !strings.Contains(flat, want) {
			t.Errorf("%q\nlacks %q", c.text, want)
		}
	}
	if c.lacks != "" && strings.Contains(flat, c.lacks) {
		t.Errorf("%q\nhas %q", c.text, c.lacks)
	}
}

// The texts say what an owner must not miss.
func TestTexts(t *testing.T) {
	report := api.ImportReport{Records: 3, Bad: 2, Lines: []api.BadLine{{Line: 7, Reason: "wrong number of fields"}}}
	now := time.Unix(1e9, 0)
	known := []api.Acquaintance{{ID: "12D3a", From: "added", Reason: "nobody is there"}}
	for i, age := range []time.Duration{3 * time.Minute, 4 * time.Hour, 5 * time.Hour, 6 * time.Hour, 6 * time.Hour, 6 * time.Hour, 7 * time.Hour, 9 * 24 * time.Hour} {
		known = append(known, api.Acquaintance{ID: "12D3" + string(rune('b'+i)), From: "met", Connected: i == 0, LastSeen: now.Add(-age).Unix()})
	}
	for _, c := range []textCase{
		{statusText("")(api.Status{}), []string{"not running (start it with: p2pnode run)", "none (add some with:", "nothing to compare yet"}, "done"},
		{
			statusText("")(api.Status{Learner: "diffusion", Round: 7, Rounds: &api.Rounds{Last: 7, Ended: true, Dropped: 3, Asymmetric: 1}}),
			[]string{"learner     diffusion", "7 of 7, the run is over; 3 edges dropped from rounds, 1 asymmetric"}, "obfuscation",
		},
		{
			statusText("")(api.Status{Traffic: api.Traffic{Published: 2, Delivered: 3, Sent: 4, Taken: 5}}),
			[]string{"2 models sent, 3 received; 4 messages to one peer, 5 from one; 0 B in"}, "",
		},
		{statusText("")(api.Status{Round: 7, Rounds: &api.Rounds{}}), []string{"7; 0 edges dropped"}, "over"},
		{
			statusText("")(api.Status{Learner: "polar", Privacy: api.BudgetSummary{Unbounded: true, Obfuscation: true}}),
			[]string{"polar (obfuscation, not differential privacy)", "UNBOUNDED: gradients are sent with obfuscation, not differential privacy"}, "models were",
		},
		{
			budgetText(api.Budget{Unbounded: true, Unprotected: true, Obfuscation: true, Bare: 2}),
			[]string{"NO GUARANTEE", "hidden by obfuscation, not differential privacy. 2 gradients were", "noise inside the sum"}, "remove that key",
		},
		{newDirectory{Task: "t", Obfuscation: true}.String(), []string{"obfuscation, not differential privacy: WITHOUT any privacy guarantee"}, "protected"},
		{farewellText(api.Farewell{}), []string{"No daemon is running."}, "told"},
		{farewellText(api.Farewell{Running: true, SumsWait: true}), []string{"the daemon stops.", "It is a member of the committee, so no private sum opens for anybody while it is away: run it again soon"}, "neighbour"},
		{farewellText(api.Farewell{Neighbours: 2}), []string{"Its 2 neighbours were not told, and notice within an hour."}, "stops"},
		{farewellText(api.Farewell{Running: true, Neighbours: 3, Told: 2}), []string{"stops. 2 of 3 neighbours were told. The others notice"}, ""},
		{
			erased{Dir: "d", Farewell: api.Farewell{Neighbours: 1}, Other: []string{"a", "b"}}.String(),
			[]string{"Erased d. Its 1 neighbour was not told", "files that are not the node's: a, b.", "get a second budget"}, "of 1",
		},
		{eraseQuestion("d", api.Status{}, datadir.ErrInUse), []string{"the node of d, which cannot be opened (another p2pnode uses this directory)"}, "0 records"},
		{erased{Dir: "d", Farewell: api.Farewell{SumsWait: true}}.String(), []string{"It was a member of the committee. If you have moved its whole directory, nothing is lost: run it there.", "If this is the only copy, no private sum"}, "soon"},
		{eraseQuestion("d", api.Status{Sums: awaiting(api.SumOpen)}, nil), []string{"It is a member of the committee. If you have moved its whole directory, nothing is lost", "If this is the only copy, no private sum"}, "soon"},
		{eraseQuestion("d", api.Status{Sums: awaiting(api.SumHere)}, nil), []string{"There is no way back."}, "committee"},
		{pausedText(" --dir n")(paused{Paused: []api.Pause{{}}, SumsWait: true}), []string{"The node is paused", "p2pnode resume --dir n\n", "It is a member of the committee", "resume it soon"}, "identity"},
		{eraseQuestion("d", api.Status{Records: 1, Neighbours: 1}, nil), []string{"d: 1 record, the ledger", "To tell them, start the daemon first"}, "stops"},
		{
			tooFew(&api.Comparison{Measure: "error share", HeldOut: 92, Verdict: "cannot tell", Gain: &learner.Interval{Low: -0.0554, High: 0.0554}}, api.Status{Heard: 1}),
			[]string{"on 92 held-out records a change is sure from about 0.0554 on; one half as large takes up to four times as many", "docs/tasks.md"}, "as now",
		},
		{
			statusText("")(api.Status{Heard: 1, Personal: &api.Comparison{Measure: "error share", HeldOut: 100, Verdict: "cannot tell", Gain: &learner.Interval{Mean: 0.02, Low: -0.02, High: 0.06}}}),
			[]string{"on 100 held-out records a change is sure from about 0.0400 on; one as large as now takes some 400 held-out records, and five times as many in all"}, "half",
		},
		{tooFew(&api.Comparison{Verdict: "cannot tell", Gain: &learner.Interval{}}, api.Status{Heard: 1}), nil, "record"},
		{tooFew(&api.Comparison{Verdict: "better", Gain: &learner.Interval{Low: 1, High: 2}}, api.Status{Heard: 1}), nil, "record"},
		{statusText("")(api.Status{Done: true}), []string{"import new ones and they begin a new cohort"}, ""},
		{statusText("")(api.Status{Contradicted: 20}), []string{"REFUSED", "this directory is an old copy: it holds round 20."}, ""},
		{
			statusText("")(api.Status{Running: true, Addrs: []string{"/ip4/192.0.2.7/tcp/1"}, Records: 10, HeldOut: 2, Neighbours: 3, Listening: 2, Heard: 1}),
			[]string{"running\n", "/ip4/192.0.2.7/tcp/1\n", "10, of which 2 are held out", "3; 2 listening now, 1 heard"}, "start it",
		},
		{
			statusText("")(api.Status{Personal: &api.Comparison{Measure: "RMSE", Personal: 0.5, Alone: 0.75, Base: 1, HeldOut: 2, Verdict: "cannot tell"}}),
			[]string{
				"RMSE 0.5000 with the neighbours, 0.7500 alone, 1.0000 for a constant; on 2 held-out records",
				"cannot tell: too few held-out records for an interval",
			}, "fitted",
		},
		{
			statusText("")(api.Status{Personal: &api.Comparison{
				Measure: "RMSE", Personal: 1234.5678, Alone: 1301.2345, Base: 2000, HeldOut: 20, Verdict: "better",
				PersonalInterval: &learner.Interval{Low: 1000, High: 1500}, Gain: &learner.Interval{Mean: 66.6667, Low: -0.001, High: 133.39},
			}}),
			[]string{
				"RMSE 1234.6 [1000.0, 1500.0] with the neighbours, 1301.2 alone, 2000.0 for a constant;",
				"change the error by -66.7 [-133.4, 0.0]",
			}, "1234.5678",
		},
		{
			statusText("")(api.Status{Personal: &api.Comparison{Measure: "RMSE", Personal: 1, Alone: 1, HeldOut: 20, Verdict: learner.CannotTell, Gain: &learner.Interval{Low: -1e-9}}, Heard: 1}),
			[]string{"gain        none: the neighbours leave the error as it is\n"}, "cannot tell",
		},
		{
			statusText("")(api.Status{HeldOut: 2, Personal: &api.Comparison{HeldOut: 2}, Fit: &api.Fit{Age: 61.7, Records: 10}}),
			[]string{"fitted to 10 records 1m2s ago; a newer one is being fitted"}, "ask again",
		},
		{
			statusText(" --dir d")(api.Status{SetAside: 2, Sums: &api.Sums{OnlyFetches: true}}),
			[]string{"(p2pnode data list --dir d says which)", "(p2pnode budget --dir d says more)"}, "",
		},
		{statusText("")(api.Status{HeldOut: 2}), []string{"being fitted; ask again in a moment"}, "nothing to compare"},
		{statusText("")(api.Status{}), []string{"nothing to compare yet"}, "being fitted"},
		{
			statusText("")(api.Status{Personal: &api.Comparison{
				Measure: "error share", Personal: 0.25, Alone: 0.5, HeldOut: 40, Verdict: "better", MajorityOnly: true,
				PersonalInterval: &learner.Interval{Mean: 0.25, Low: 0.125, High: 0.375}, Gain: &learner.Interval{Mean: 0.25, Low: 0.125, High: 0.375},
				LogLoss: &api.Three{Personal: 0.3, Alone: 0.4, Base: 0.7}, AUC: &api.Three{Personal: 0.9, Alone: 0.8, Base: 0.5},
			}}),
			[]string{
				"error share 0.2500 [0.1250, 0.3750] with the neighbours, 0.5000 alone", "better: the neighbours change the error by -0.2500 [-0.3750, -0.1250]", "predicts one class",
				"0.3000 with the neighbours, 0.4000 alone, 0.7000 for a constant\n", "0.9000 with",
			}, "RMSE",
		},
		{
			statusText("")(rarely(true)),
			[]string{
				"better by log loss, as a constant predicts the classes as well: the neighbours change the log loss by -0.0200 [-0.0300, -0.0100]\n",
				"0.1600 for a constant\n",
			}, "change the error",
		},
		{
			statusText("")(rarely(false)),
			[]string{"cannot tell: the neighbours change the error by 0.0000 [-0.0500, 0.0500]", "0.1600 for a constant; changed by -0.0200 [-0.0300, -0.0100]\n"}, "by log loss",
		},
		{privacyLine(api.BudgetSummary{Epsilon: 1, Delta: 1e-6, Spent: 0.25, Left: 9}), []string{"25 % of the budget spent, 9 releases left"}, "UNBOUNDED"},
		{privacyLine(api.BudgetSummary{Spent: 0.25, Older: 0.5, Left: 9}), []string{"; 25 % of the budget of the newest records spent, and older ones up to 50 %, 9 releases left"}, ""},
		{privacyLine(api.BudgetSummary{SumsOnly: true, Older: 1}), []string{"; the newest records have spent 0 % of their budget, and older ones up to 100 %, in private sums"}, ""},
		{privacyLine(api.BudgetSummary{Left: 9, Missing: 3}), []string{"guaranteed; the budget of older records is used up; of the new ones 0 % of the budget spent, 9 releases left"}, "guaranteed; 0 %"},
		{privacyLine(api.BudgetSummary{Spent: 0.25, Left: 9, Plan: &api.PlanBudget{Left: 9}}), []string{"25 % of the plan's steps used, 9 releases left"}, "budget"},
		{privacyLine(api.BudgetSummary{Spent: 1, AtLeast: 0.0123, Retired: true}), []string{"retired by a restore: at least 1.23 % of the budget spent, counts as all; no releases left"}, "100 %"},
		{statusText("")(api.Status{Done: true, Privacy: api.BudgetSummary{Plan: &api.PlanBudget{Steps: 3}}}), []string{"the plan is over: these records are never shared"}, "import new ones"},
		{statusText("")(api.Status{Done: true, Privacy: api.BudgetSummary{Retired: true, Plan: &api.PlanBudget{Steps: 3, Left: 2}}}), []string{"retired by a restore; import new ones and they take part in what is left of the plan, 2 steps"}, "new directory"},
		{statusText("")(api.Status{Done: true, Privacy: api.BudgetSummary{Retired: true}}), []string{"retired by a restore; import new ones and they begin a new cohort"}, "used up"},
		{statusText("")(api.Status{Done: true, Privacy: api.BudgetSummary{Unprotected: true}}), []string{"the limit of rounds"}, "used up"},
		{statusText("")(api.Status{Round: 1 << 50, Restored: true}), []string{"1125899906842624 (round numbers jump at a restore)"}, ""},
		{
			reportText(api.ImportReport{Bad: 5, Lines: []api.BadLine{{Line: 2, Reason: "empty"}, {Line: 3, Reason: "short"}, {Line: 5, Reason: "empty"}, {Line: 6, Reason: "empty"}}}),
			[]string{"3 lines (2 to 6): empty\nline 3: short\nand 1 more bad line\n"}, "line 5",
		},
		{reportText(api.ImportReport{Records: 1, Missing: 7}), []string{"The budget of older records is used up: new ones take part in what is sent when there are 7 more training records"}, "Warning"},
		{reportText(api.ImportReport{Records: 1, NeverShared: true}), []string{"Warning: nothing more is sent from here (p2pnode budget says why), so what is imported is never shared"}, ""},
		{listText(t, api.RecordInfo{Number: 1, UsedUp: true, Retired: true}), []string{"own predictions only, retired"}, "used"},
		{listText(t, api.RecordInfo{Number: 1, Sums: api.SumsToCome}), []string{"training, waits for a private sum"}, "own"},
		{listText(t, api.RecordInfo{Number: 1, Sums: api.SumsPaid}), []string{"training, paid for a private sum"}, "own"},
		{listText(t, api.RecordInfo{Number: 1, Sums: api.SumsOver, UsedUp: true}), []string{"own predictions only, its private sums are over"}, "budget"},
		{listText(t, api.RecordInfo{Number: 1, Sums: api.SumsNever, UsedUp: true}), []string{"own predictions only, no private sum for it"}, "budget"},
		{newDirectory{Epsilon: 1, Releases: 12, Protected: true, Pure: true}.String(), []string{"epsilon 1, delta 0,", "costs much noise for 12 releases: --noise laplace --accounting renyi"}, ""},
		{newDirectory{Epsilon: 1, Releases: 5, Protected: true, Pure: true}.String(), []string{"epsilon 1, delta 0,"}, "much noise"},
		{privacyLine(api.BudgetSummary{Epsilon: 1, Unbounded: true}), []string{"UNBOUNDED"}, "epsilon"},
		{verifiedText(api.Verification{}), []string{"empty"}, "sound"},
		{verifiedText(api.Verification{Entries: 7, Round: 6, Anchor: 7}), []string{"sound", "all 7 entries", "round 6", "this node cannot see that. Neighbours who", "where only private sums are made, the committee does"}, "empty"},
		{listText(t), []string{"No records yet."}, "NUMBER"},
		{peersText(nil), []string{"No neighbours yet."}, "PEER"},
		{peersText([]api.Peer{{ID: "12D3", Weight: 0.5, Known: true, Connected: true, Round: 4}}),
			[]string{"12D3  0.500   known       before  yes        no         4"}, ""},
		{peerList{Others: known}.text(false, now), []string{"12D3a       added  no         never", "12D3b       met    yes        3 minutes ago", "and 3 more that it met", "12D3a cannot be reached: nobody is there."}, "12D3i"},
		{peerList{Others: known}.text(true, now), []string{"12D3i", "7 hours ago", "9 days ago"}, "more"},
		{linksLine(reach.Report{Links: []reach.Link{{Called: true, Local: true, Here: true}, {Local: true}}}), []string{"2 connected: 0 direct, 1 on the local network, 1 on this machine, 0 by hole punching; 1 called this node"}, ""},
		{reportText(api.ImportReport{Records: 9, Total: 10}), []string{"Line 10 looks like the total of others"}, ""},
		{reportText(api.ImportReport{Records: 9, Same: 1, Cells: []api.ColumnTally{{Column: "outside", Clamped: 1}, {Column: "kwh", Clamped: 2, Unknown: 1}}}),
			[]string{"Warning: the task does not foresee kwh in 30 % of the records. If they are in other units,"}, ""},
		{reportText(api.ImportReport{Records: 10, Cells: []api.ColumnTally{{Column: "kwh", Clamped: 2, Empty: 8}}}), []string{"kwh 2"}, "Warning"},
		{statusText("")(api.Status{Records: 4, Cells: []api.ColumnTally{{Column: "pump", Unknown: 4}}}), []string{"the task does not foresee pump in 100 % of the records"}, ""},
		{checkedTask{Task: "t"}.String(), []string{`The task "t" is sound.`}, "assumed"},
		{checkedTask{Task: "t", Unsaid: true}.String(), []string{`The task "t" is sound.`, "100 nodes and 100 records of each are assumed"}, ""},
		{reportText(report), []string{"line 7: wrong number of fields\nand 1 more bad line\nImported 3 records, 2 bad lines."}, ""},
		{predictionText(api.Prediction{Value: 1234.567, Alone: 0.001}, 1), []string{"1234.6 (alone: 0.0)"}, ""},
		{
			predictionText(api.Prediction{Class: "red", Value: 0.75, AloneClass: "deep blue", Alone: 0.5}, 3),
			[]string{"red, probability 0.750 (alone: deep blue, 0.500)"}, "",
		},
	} {
		c.check(t)
	}
}

// awaiting is what a member of a committee knows whose last sum is in this state.
func awaiting(s api.SumState) *api.Sums {
	return &api.Sums{Committee: api.Committee{Members: []api.Member{{Self: true}}}, List: []api.Sum{{State: s}}}
}

// listText is what a list of records says without their content.
func listText(t *testing.T, records ...api.RecordInfo) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, recordsText(&b, yieldAll(records), false))
	return b.String()
}

func yieldAll[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// A list that is written piece by piece is the JSON of the whole.
func TestWriteList(t *testing.T) {
	type element struct {
		A string
		B []int
	}
	for _, list := range [][]element{{}, {{"<", nil}}, {{"a", []int{1, 2}}, {"b", []int{}}, {}}} {
		var pieces, whole strings.Builder
		require.NoError(t, writeList(&pieces, yieldAll(list)))
		e := json.NewEncoder(&whole)
		e.SetIndent("", "  ")
		require.NoError(t, e.Encode(list))
		if pieces.String() != whole.String() {
			t.Errorf("%s, want %s", &pieces, &whole)
		}
	}
	broken := errors.New("broken")
	if err := writeList(io.Discard, func(yield func(int, error) bool) { _ = yield(1, nil) && yield(0, broken) }); !errors.Is(err, broken) {
		t.Errorf("a list that breaks off: %v", err)
	}
}

// Columns are aligned in pieces of a long list, none of which is lost.
func TestLongListText(t *testing.T) {
	records := make([]api.RecordInfo, 2*alignedRows+3)
	for i := range records {
		records[i].Number = learner.Seq(i + 1)
	}
	lines := strings.Split(strings.TrimSuffix(listText(t, records...), "\n"), "\n")
	if len(lines) != len(records)+1 || !strings.HasPrefix(lines[0], "NUMBER ") {
		t.Fatalf("%d lines, the first %q; want %d and a head", len(lines), lines[0], len(records)+1)
	}
	for i, line := range lines[1:] {
		if fields := strings.Fields(line); fields[0] != strconv.Itoa(i+1) || fields[2] != "training" {
			t.Fatalf("line %d: %q", i, line)
		}
	}
}

// The ready line gives an address that other machines can dial, if there is one.
func TestReady(t *testing.T) {
	for _, c := range []struct {
		addresses []string
		want      string
	}{
		{nil, "others cannot reach any of its addresses"},
		{[]string{"/ip4/127.0.0.1/tcp/1/p2p/X"}, "start from here: /ip4/127.0.0.1/tcp/1/p2p/X\n"},
		{[]string{"/ip4/127.0.0.1/tcp/1/p2p/X", "/ip6/::1/tcp/1/p2p/X", "/ip4/192.0.2.7/tcp/1/p2p/X", "/ip6/fd00::2/tcp/1/p2p/X"}, "start from here: /ip4/192.0.2.7/tcp/1/p2p/X\n"},
	} {
		if got := (ready{Peer: "X", Addresses: c.addresses}).String(); !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
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
		{fmt.Errorf("node: open the ledger: %w", errors.Join(errors.New("storage: privacy: a: b"), errors.New("node: c"))), false, 1,
			"p2pnode: open the ledger: a: b\nc\n"},
		{errors.New("my node: the config: gone"), true, 1, "{\"error\":\"my node: the config: gone\"}\n"},
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

// A task from a stranger, and a file with such columns, cannot control the terminal of who
// looks at them.
func TestTextsOfStrangersDoNotControlTheTerminal(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	features := "learner = 'personal'\nloss = 'squared'\n[[features]]\nname = \"a\\u001b[2J\\u202e\"\nkind = 'number'\nmin = 0.0\nmax = 1.0\n[target]\nname = \"y\\u0007\"\nmin = 0.0\nmax = 1.0\n"
	wrong := write("wrong.toml", "name = 'x'\n\"\\u001b]0;mine\\u0007\" = 1\n"+features)
	sound := write("sound.toml", "name = 'x'\n"+features)
	columns := write("columns.csv", "a\x1b[2J,b\u202e,y\n3.5,red,1\n1.25,blue\x1b[1m,0\n3.5,red,1.5\n")
	for _, args := range [][]string{
		{"task", "check", wrong}, {"task", "explain", wrong}, {"task", "check", sound}, {"task", "explain", sound},
		{"task", "new", "--from", columns, "--target", "y", "--out", filepath.Join(dir, "made.toml")},
	} {
		var out bytes.Buffer
		o := &options{}
		command := newCommand(o)
		command.SetArgs(args)
		command.SetOut(&out)
		command.SetErr(&out)
		command.SetIn(strings.NewReader(strings.Repeat("ok\n", 9)))
		if err := command.Execute(); err != nil {
			fail(&out, false, err)
		}
		text := strings.ReplaceAll(out.String(), "\n", "")
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%v prints %q", args, &out)
		}
	}
}

// rarely is the status of an owner with a rare class.
func rarely(byLogLoss bool) api.Status {
	c := &api.Comparison{
		Measure: "error share", Personal: 0.04, Alone: 0.04, Base: 0.04, HeldOut: 200, Verdict: learner.CannotTell, ByLogLoss: byLogLoss,
		Gain:    &learner.Interval{Low: -0.05, High: 0.05},
		LogLoss: &api.Three{Personal: 0.13, Alone: 0.15, Base: 0.16}, LogLossGain: &learner.Interval{Mean: 0.02, Low: 0.01, High: 0.03},
	}
	if byLogLoss {
		c.Verdict = learner.Better
	}
	return api.Status{Heard: 1, Personal: c}
}
