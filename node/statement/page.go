package statement

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"p2pnode/node/api"
)

// The JSON of a statement is between these lines, at the end of its file.
const (
	opening = "```json\n"
	closing = "\n```\n"
)

// Page returns the file of a statement: Markdown that people read, and the signed JSON
// below it.
func Page(s api.SignedStatement) (string, error) {
	text, err := indented(s)
	if err != nil {
		return "", err
	}
	return words(s.Statement) + opening + text + closing, nil
}

func indented(s api.SignedStatement) (string, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return "", fmt.Errorf("node: write the statement: %w", err)
	}
	return string(text), nil
}

// words returns the part that people read.
func words(s api.Statement) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n\n", args...) }
	line("# Privacy statement of a p2pnode")
	line("The node %s wrote this at %s, with p2pnode %s, for its part in the task %q (learner %s, network %s).",
		s.Node, s.Time.UTC().Format(time.RFC3339), s.Program, s.Task.Name, s.Task.Learner, s.Task.Network)
	line("`p2pnode budget --verify-statement FILE` checks who signed this file and that nobody changed it. It cannot check that the node told the truth: " +
		"this is its own word, from its own ledger.")
	line("## What is guaranteed")
	guaranteed(line, s)
	line("## To whom")
	b.WriteString(audiences(s.Audiences))
	line("## What is spent")
	b.WriteString(spent(s))
	b.WriteString(list("## What the guarantee rests on", s.RestsOn))
	b.WriteString(list("## What is not covered", s.NotCovered))
	line("## For programs")
	line("The same, signed with the node's key: RFC 8785 says how to write it for the signature, without `signature` and behind the line `%s`.", strings.TrimSpace(domain))
	return b.String()
}

func guaranteed(line func(string, ...any), s api.Statement) {
	g := s.Guarantee
	if g == nil {
		line("**Nothing.** What this node sends, or has sent, is not protected; %d of its releases were without a guarantee. Somebody who collects them may work out its records.", s.Bare)
		return
	}
	line("**(epsilon, delta) = (%s, %s) differential privacy** for %s. "+
		"Somebody who sees everything that this node ever sends, and even knows all other records, can come from thinking something about the record 50 %% likely to thinking it %s likely at most, %s.",
		number(g.Epsilon), number(g.Delta), g.Unit, percent(1/(1+math.Exp(-g.Epsilon))), exception(g.Excess))
	how := fmt.Sprintf("How: %s noise, %s accounting", g.Noise, g.Accounting)
	if g.Batch > 0 {
		how += fmt.Sprintf(", %d of every 100 records in a release", g.Batch)
	}
	line("%s. Several records about one person together have:", how)
	rows := []string{"| records | epsilon | delta | 50 % likely can become |", "|---|---|---|---|"}
	for _, p := range g.Person {
		rows = append(rows, fmt.Sprintf("| %d | %s | %s | %s |", p.Records, number(p.Epsilon), number(p.Delta), percent(p.Belief)))
	}
	line("%s", strings.Join(rows, "\n"))
}

func exception(excess float64) string {
	if excess == 0 {
		return "without exception"
	}
	return fmt.Sprintf("but for a chance of %s", number(excess))
}

func audiences(list []api.Audience) string {
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, "- **%s**: %s. How: %s.%s\n", a.Who, a.Gets, a.Way, promise(a))
		for _, p := range a.Peers {
			b.WriteString("  - " + p + "\n")
		}
	}
	return b.String() + "\n"
}

// promise says how much an audience can learn at most.
func promise(a api.Audience) string {
	if a.Epsilon == nil || a.Delta == nil {
		return ""
	}
	text := fmt.Sprintf(" Nobody among them learns more of a record than (%s, %s) allows", number(*a.Epsilon), number(*a.Delta))
	if a.Colluding == 0 {
		return text + ", nor do all of them together."
	}
	return text + fmt.Sprintf(", nor do up to %d of them who work together with everybody else. **%d together can read exactly what this node adds to a sum that is not over.**", a.Colluding, a.Colluding+1)
}

func spent(s api.Statement) string {
	if len(s.Spent) == 0 {
		return "Nothing yet. The ledger has " + entries(s.Ledger) + ".\n\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Records that arrived together are a cohort and pay together. SPENT is of the %s of each of them.\n\n", s.ShareOf)
	b.WriteString("| cohort | releases | private sums | SPENT |\n|---|---|---|---|\n")
	for _, p := range s.Spent {
		share := percent(p.Spent)
		if p.Retired {
			share = "at least " + atLeast(p.AtLeast) + "; retired by a restore, counts as all"
		}
		fmt.Fprintf(&b, "| %d | %d | %d | %s |\n", p.Cohort, p.Releases, p.Sums, share)
	}
	fmt.Fprintf(&b, "\nThe ledger has %s.\n\n", entries(s.Ledger))
	return b.String()
}

func entries(l api.LedgerHead) string {
	if l.Entries == 0 {
		return "no entries"
	}
	return fmt.Sprintf("%d entries, checksum %s", l.Entries, l.CRC)
}

func list(title string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return title + "\n\n- " + strings.Join(items, "\n- ") + "\n\n"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// rounding is how far the accountant's numbers may be below the true ones.
const rounding = 1e-6

// atLeast writes a lower bound on a share, rounded down.
func atLeast(share float64) string { return number(math.Floor(1e4*(share+rounding))/100) + " %" }

// percent writes a share. It never rounds up to certainty.
func percent(share float64) string {
	text := strconv.FormatFloat(100*share, 'g', 4, 64)
	if text == "100" && share < 1 {
		text = "more than 99.99"
	}
	return text + " %"
}
