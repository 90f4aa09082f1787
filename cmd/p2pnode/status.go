package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"p2pnode/node/api"

	"github.com/spf13/cobra"
)

func statusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "How the node is doing, what privacy it spent, and what that bought",
		Long: `How the node is doing: its neighbours, its last round, the privacy it spent,
and how the model learned with the neighbours compares, on records held out from
both, with the best model of this device alone. Works with and without a daemon.`,
		Example: `  p2pnode status
  p2pnode status --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return ask(cmd, o, api.Owner.Status, statusText(dirFlag(o.dir)))
		},
	}
}

// statusText returns what writes a status, with commands that name the directory by this flag.
func statusText(dir string) func(api.Status) string {
	return func(s api.Status) string { return table(statusRows(s, dir)...) }
}

func statusRows(s api.Status, dir string) [][]any {
	running := "not running (start it with: p2pnode run" + dir + ")"
	if s.Running {
		running = "running"
	}
	if len(s.Paused) > 0 {
		running = pauseText(s.Paused) + dir
	}
	if s.Privacy.Stranded || s.Contradicted > 0 && !s.Running {
		running = "not running, and it cannot"
	}
	rows := [][]any{
		{"node", s.Peer},
		{"task", fmt.Sprintf("%s (network %s)", s.Task, s.Network)},
		{"learner", learnerLine(s)},
		{"daemon", running},
	}
	if s.Experiment {
		rows = append(rows, []any{"experiment", "errors on held-out records may leave this machine (key experiment)"})
	}
	if s.Contradicted > 0 {
		rows = append(rows, []any{"REFUSED", oldCopy(s.Contradicted, s.ForeignSum) + dir})
	}
	for _, a := range s.Addrs {
		rows = append(rows, []any{"address", a})
	}
	for _, problem := range s.Unopened {
		rows = append(rows, []any{"NOT OPEN", problem})
	}
	rows = append(rows, privateRows(s)...)
	rows = append(rows, []any{"records", recordsLine(s, dir)})
	for _, line := range recordNotes(s, dir) {
		rows = append(rows, []any{"", line})
	}
	if s.Sums != nil && member(s.Sums.Committee) {
		rows = append(rows, []any{"committee", fmt.Sprintf("this node is one of its %d members (p2pnode committee status%s says more)", len(s.Sums.Committee.Members), dir)})
	}
	rows = append(rows, sumRows(s.Sums, dir)...)
	if s.Privacy.SumsOnly {
		rows = append(rows, []any{"peers", fmt.Sprintf("%d connected; nobody sends models here, so there are no neighbours", s.Connected)})
	} else {
		rows = append(rows, []any{"neighbours", fmt.Sprintf("%d; %d listening now, %d heard; other candidates: %d", s.Neighbours, s.Listening, s.Heard, s.Candidates)})
	}
	if s.Waits != "" {
		rows = append(rows, []any{"", "nothing is released: " + s.Waits})
	}
	if !s.Privacy.SumsOnly {
		rows = append(rows, []any{"round", roundLine(s)})
	}
	rows = append(rows, []any{"privacy", privacyLine(s.Privacy)})
	switch {
	case s.Done && s.Privacy.Waits():
		rows = append(rows, []any{"waits", waitsFor(s.Privacy.Missing)})
	case s.Done:
		rows = append(rows, []any{"done", doneLine(s.Privacy)})
	}
	rows = append(rows, []any{"traffic", trafficLine(s)})
	return append(rows, modelRows(s)...)
}

// sumRows say for each recipe what the last sum gave and how far the next one is, and
// which members of the committee are missing.
func sumRows(s *api.Sums, dir string) (rows [][]any) {
	if s == nil {
		return nil
	}
	for _, k := range s.List {
		state := stateOfSum(k)
		if s.Waits(&k) {
			state += ", waits for its committee"
		}
		text := fmt.Sprintf("%s, epoch %s: %s; this node %s", k.Recipe, epochText(k), state, partText(k))
		if k.State == api.SumHere && k.People > 0 {
			text = fmt.Sprintf("%s, epoch %s: result here, of %d %s with %d %s; this node %s", k.Recipe, epochText(k),
				k.People, plural(k.People, "person", "people"), k.Records, plural(int(k.Records), "record", "records"), partText(k))
		}
		rows = append(rows, []any{"private sum", text})
		if k.Duty != nil && k.Duty.Silent {
			rows = append(rows, []any{"", "as a member of the committee it is silent: its keys for this sum were lost"})
		}
		if len(k.Missing) > 0 {
			rows = append(rows, []any{"", fmt.Sprintf("%d of %d members of the committee %s missing: %s", len(k.Missing), len(s.Committee.Members),
				plural(len(k.Missing), "is", "are"), strings.Join(k.Lacking(), "; "))})
		}
		if stake := k.Stake(s.Committee.Lacks(len(k.Missing))); stake != "" {
			rows = append(rows, []any{"", "it " + stake})
		}
	}
	if s.OnlyFetches {
		rows = append(rows, []any{"", "it only fetches results: by config.toml a sum costs more than its whole budget (p2pnode budget" + dir + " says more)"})
	}
	return rows
}

// oldCopy says what a peer or a committee showed and what the owner can do. It ends in a command.
func oldCopy(round uint64, bySum bool) string {
	if bySum {
		return "a committee certified that a contribution of this node is in a private sum, and this directory does not know it: it is an old copy, or another copy of it runs. " +
			"Nothing is sent from here any more. Stop the other copy, and put the newest directory back; if it is lost: p2pnode restore"
	}
	return fmt.Sprintf("a peer showed that this directory is an old copy: it holds round %d. Nothing is sent from here any more. "+
		"Put the newest directory back; if it is lost: p2pnode restore", round)
}

func doneLine(b api.BudgetSummary) string {
	if b.SumsOnly {
		return "all private sums of the task are over"
	}
	if b.Unprotected {
		return "the limit of rounds, key \"releases\", is reached"
	}
	return nothingMore(b.Plan, b.Retired, b.Stranded, b.Missing)
}

// obfuscation is part of every label of the learner polar without noise.
const obfuscation = "obfuscation, not differential privacy"

func learnerLine(s api.Status) string {
	if s.Privacy.Obfuscation {
		return s.Learner + " (" + obfuscation + ")"
	}
	return s.Learner
}

func roundLine(s api.Status) string {
	text := fmt.Sprint(s.Round)
	if s.Restored {
		text += " (round numbers jump at a restore)"
	}
	r := s.Rounds
	if r == nil || s.Privacy.Stranded {
		return text
	}
	if r.Last > 0 {
		text += fmt.Sprintf(" of %d", r.Last)
	}
	if r.Ended {
		text += ", the run is over"
	}
	return fmt.Sprintf("%s; %d %s dropped from rounds, %d asymmetric", text, r.Dropped, plural(int(r.Dropped), "edge", "edges"), r.Asymmetric)
}

func trafficLine(s api.Status) string {
	t, text := s.Traffic, ""
	if !s.Privacy.SumsOnly {
		text = fmt.Sprintf("%d models sent, %d received; ", t.Published, t.Delivered)
	}
	if t.Sent+t.Taken > 0 {
		text += fmt.Sprintf("%d messages to one peer, %d from one; ", t.Sent, t.Taken)
	}
	return text + fmt.Sprintf("%s in, %s out", size(t.BytesIn), size(t.BytesOut))
}

func recordsLine(s api.Status, dir string) string {
	switch {
	case s.Records == 0 && s.Sums != nil && member(s.Sums.Committee):
		return "none, and a member of the committee needs none"
	case s.Records == 0:
		return "none (add some with: p2pnode data import FILE.csv" + dir + ")"
	}
	return fmt.Sprintf("%d, of which %d are held out to measure", s.Records, s.HeldOut)
}

// recordNotes are what the owner should know of her records.
func recordNotes(s api.Status, dir string) (lines []string) {
	if s.Keep != nil {
		lines = append(lines, keepLine(s.Keep))
	}
	if s.SetAside > 0 {
		lines = append(lines, fmt.Sprintf("%d %s of the first release cannot be taken over and serve nothing (p2pnode data list%s says which): "+
			"delete them and import them again", s.SetAside, plural(s.SetAside, "more record", "more records"), dir))
	}
	return slices.Concat(lines, notedLines(s.Cells), misfitLines(s.Cells, s.Records))
}

// keepLine says which records are kept.
func keepLine(k *api.Keep) string {
	var words []string
	if k.Records > 0 {
		words = append(words, fmt.Sprintf("the newest %d", k.Records))
	}
	if k.Days > 0 {
		words = append(words, fmt.Sprintf("for %v %s", k.Days, plural(int(math.Ceil(k.Days)), "day", "days")))
	}
	return "kept are " + strings.Join(words, ", ") + "; older ones are deleted, and their slots stay (keep_records, keep_days in config.toml)"
}

func privacyLine(b api.BudgetSummary) string {
	switch {
	case b.Obfuscation:
		return "UNBOUNDED: gradients are sent with " + obfuscation
	case b.Unbounded:
		return "UNBOUNDED: models were or will be sent without a guarantee"
	}
	what, spent := "the budget spent", fmt.Sprintf("%.0f %%", 100*b.Spent)
	if b.Plan != nil {
		what = "the plan's steps used"
	}
	if b.Retired {
		return fmt.Sprintf("epsilon %v, delta %v guaranteed; retired by a restore: %s of %s, counts as all; no releases left",
			b.Epsilon, b.Delta, known(b.AtLeast), what)
	}
	if b.SumsOnly {
		return fmt.Sprintf("epsilon %v, delta %v guaranteed; the newest records have spent %s of their budget%s, in private sums", b.Epsilon, b.Delta, spent, ofOlder(b))
	}
	older := ""
	switch also := ofOlder(b); {
	case b.Waits():
		older = "the budget of older records is used up; of the new ones "
	case b.Plan == nil && also != "":
		what = "the budget of the newest records spent" + also
	}
	text := fmt.Sprintf("epsilon %v, delta %v guaranteed; %s%s of %s", b.Epsilon, b.Delta, older, spent, what)
	if b.SumsShare > 0 {
		return text + fmt.Sprintf(", %d releases left; %s of it is for private sums", b.Left, cost(b.SumsShare))
	}
	return text + fmt.Sprintf(", %d releases left", b.Left)
}

// ofOlder says how much older records have spent of a budget of their own; "" if it is no more than
// the newest have.
func ofOlder(b api.BudgetSummary) string {
	if older := fmt.Sprintf("%.0f %%", 100*b.Older); b.Older > b.Spent && older != fmt.Sprintf("%.0f %%", 100*b.Spent) {
		return ", and older ones up to " + older
	}
	return ""
}

// modelRows says what the neighbours have changed, and how certain that is.
func modelRows(s api.Status) [][]any {
	c := s.Personal
	switch {
	case s.Fit == nil && s.HeldOut > 0 && c == nil:
		return [][]any{{"model", "being fitted; ask again in a moment"}}
	case c == nil:
		return [][]any{{"model", "nothing to compare yet (every fifth record is held out)"}}
	}
	d := c.Measure.Decimals(c.Alone)
	rows := [][]any{
		{"model", fmt.Sprintf("%s %.*f%s with %s, %.*f%s alone, %.*f for a constant; on %d %s", c.Measure,
			d, c.Personal, c.PersonalInterval.Bounds(d), others(s), d, c.Alone, c.AloneInterval.Bounds(d), d, c.Base, c.HeldOut, plural(c.HeldOut, "held-out record", "held-out records"))},
		{"gain", gainLine(c, s)},
	}
	if text := tooFew(c, s); text != "" {
		rows = append(rows, []any{"", text})
	}
	if f := s.Fit; f != nil && !f.Current {
		rows = append(rows, []any{"", fmt.Sprintf("fitted to %d records %s ago; a newer one is being fitted", f.Records, time.Duration(f.Age*float64(time.Second)).Round(time.Second))})
	}
	if c.MajorityOnly {
		rows = append(rows, []any{"", "the model predicts one class, the most frequent, for every held-out record, as a constant does"})
	}
	if c.LogLoss != nil {
		text := threeText(c.LogLoss, others(s))
		if c.LogLossGain != nil && !c.ByLogLoss && c.LogLoss.Personal != c.LogLoss.Alone {
			change := c.LogLossGain.Negative()
			text += "; changed by " + signed(change.Mean, lossDecimals) + change.Bounds(lossDecimals)
		}
		rows = append(rows, []any{"log loss", text})
	}
	if c.AUC != nil {
		rows = append(rows, []any{"AUC", threeText(c.AUC, others(s)) + " (area under the curve: 0.5 is chance, 1 is perfect)"})
	}
	return rows
}

// others names the nodes from which the personal model learns.
func others(s api.Status) string {
	switch {
	case s.Sums == nil:
		return "the neighbours"
	case s.Privacy.SumsOnly:
		return "private sums"
	}
	return "neighbours and private sums"
}

func gainLine(c *api.Comparison, s api.Status) string {
	switch {
	case c.Personal == c.Alone && nothingHeard(s):
		return silence(s) + ", so there is nothing that could change the error"
	case c.Gain == nil:
		return c.Verdict + ": too few held-out records for an interval"
	}
	by, of, change, decimals := "", "error", c.Gain.Negative(), c.Measure.Decimals(c.Alone)
	if c.ByLogLoss {
		by, of, change, decimals = " by log loss, as a constant predicts the classes as well", "log loss", c.LogLossGain.Negative(), lossDecimals
	}
	written := signed(change.Mean, decimals) + change.Bounds(decimals)
	if c.Verdict == cannotTell && !strings.ContainsAny(written, "123456789") {
		return fmt.Sprintf("none: %s leave the %s as it is", others(s), of)
	}
	return fmt.Sprintf("%s%s: %s change the %s by %s", c.Verdict, by, others(s), of, written)
}

// tooFew says why one cannot tell, and what it would take; "" where something else is said. The
// interval is as wide as the root of the number of records is small.
func tooFew(c *api.Comparison, s api.Status) string {
	if c.Verdict != cannotTell || c.Gain == nil || c.ByLogLoss || strings.HasPrefix(gainLine(c, s), "none") || c.Personal == c.Alone && nothingHeard(s) {
		return ""
	}
	half := (c.Gain.High - c.Gain.Low) / 2
	text := fmt.Sprintf("on %d held-out %s a change is sure from about %.*f on; ", c.HeldOut, plural(c.HeldOut, "record", "records"), c.Measure.Decimals(c.Alone), half)
	if times := math.Pow(half/c.Gain.Mean, 2); times <= 100 {
		text += fmt.Sprintf("one as large as now takes some %s held-out records, and five times as many in all", grouped(float64(c.HeldOut)*max(1, times)))
	} else {
		text += "one half as large takes up to four times as many"
	}
	return text + `; see docs/tasks.md, "How good the model is"`
}

// cannotTell is the verdict that nothing is sure; see [api.Comparison].
const cannotTell = "cannot tell"

// nothingHeard reports whether there is nothing from which the personal model could learn.
func nothingHeard(s api.Status) bool { return s.Heard == 0 && (s.Sums == nil || !sumTold(s.Sums)) }

// sumTold reports whether a private sum has told the model anything: one that goes in rounds does
// after the last of them.
func sumTold(s *api.Sums) bool {
	return s.Known > 0 && slices.ContainsFunc(s.List, func(one api.Sum) bool {
		over := one.State == api.SumHere || one.State == api.SumDead
		return over && (one.Epoch > 1 || one.Round == uint64(one.Rounds))
	})
}

// silence says from which nodes nothing has arrived.
func silence(s api.Status) string {
	if s.Sums == nil {
		return "no neighbour was heard yet"
	}
	sums := "no result of a private sum is here yet"
	if s.Sums.Known > 0 {
		sums = "no private sum has ended its rounds yet"
	}
	if s.Privacy.SumsOnly {
		return sums
	}
	return "no neighbour was heard and " + sums
}

// lossDecimals is how many decimals a log loss is written with, which has no unit.
const lossDecimals = 4

// signed writes a change with a sign, and zero without one.
func signed(v float64, decimals int) string {
	text := fmt.Sprintf("%+.*f", decimals, v)
	if strings.Trim(text, "+-0.") == "" {
		return text[1:]
	}
	return text
}

func threeText(t *api.Three, with string) string {
	return fmt.Sprintf("%.4f with %s, %.4f alone, %.4f for a constant", t.Personal, with, t.Alone, t.Base)
}
