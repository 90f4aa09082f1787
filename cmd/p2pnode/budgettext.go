package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"p2pnode/node/api"
)

// budgetText explains a budget to somebody who never heard of epsilon.
func budgetText(b api.Budget) string {
	var t strings.Builder
	if b.Contradicted > 0 {
		t.WriteString("REFUSED\n" + paragraph("  ", oldCopy(b.Contradicted, b.ForeignSum)) + "\n")
	}
	t.WriteString("WHAT IS GUARANTEED\n")
	if b.Unbounded {
		t.WriteString(unboundedText(b))
	} else {
		t.WriteString(guaranteeText(b))
	}
	if b.Sums != nil && !b.Unbounded {
		t.WriteString("\nWHOM IT RESTS ON IN PRIVATE SUMS\n")
		t.WriteString(committeeText(*b.Sums))
	}
	t.WriteString("\nWHAT IS SPENT\n")
	t.WriteString(spentText(b))
	t.WriteString("\nWHO CAN SEE IT\n")
	t.WriteString(paragraph("  ", b.VisibleTo))
	t.WriteString(listenersText(b.Listeners))
	if !b.Unbounded {
		t.WriteString("\nSEVERAL RECORDS ABOUT ONE PERSON\n")
		t.WriteString(personText(b.Person))
	}
	t.WriteString("\nWHAT IS NOT COVERED\n")
	t.WriteString("  Others can find out all the same:\n")
	for _, what := range b.NotCovered {
		t.WriteString(paragraph("  - ", what))
	}
	t.WriteString(paragraph("  ", "Your records, your personal model and its predictions never leave this device."))
	return t.String()
}

func unboundedText(b api.Budget) string {
	if b.Obfuscation {
		return paragraph("  ", fmt.Sprintf("UNBOUNDED: there is NO GUARANTEE. What is sent is hidden by %s. %d %s sent so far. "+
			"The servers together, or one that collects long enough, may work out your records.",
			obfuscation, b.Bare, plural(b.Bare, "gradient was", "gradients were"))) +
			paragraph("  ", "Only another task changes that: one whose learner puts noise inside the sum, as docs/learners.md says.")
	}
	text := paragraph("  ", fmt.Sprintf("UNBOUNDED: there is NO GUARANTEE. %d %s sent without noise so far. "+
		"Somebody who collects such models may work out your records.", b.Bare, plural(b.Bare, "model was", "models were")))
	if b.Unprotected {
		return text + paragraph("  ", "Every model is, because the configuration says so (key \"unprotected\"). "+
			"To protect what has not been sent yet, remove that key. What was sent stays sent.")
	}
	return text + paragraph("  ", "Models are sent with noise now, but that does not help the records that were sent without it. "+
		"To start clean, make a new directory and put only new records in it.")
}

func guaranteeText(b api.Budget) string {
	one := b.Person[0]
	text := paragraph("  ", howText(b))
	text += paragraph("  ", fmt.Sprintf("Each record has a budget for its whole life: epsilon %v, delta %v.", one.Epsilon, one.Delta))
	return text + paragraph("  ", fmt.Sprintf("It means: people who see everything this node ever sends for this task, and who even know all your other records, "+
		"learn little about one record. What they thought 50 %% likely about it before, they can come to think %s likely at most (that is epsilon)%s.",
		percent(one.Belief), exception(b)))
}

// howText names the noise, the accounting and the pace that the configuration led to.
func howText(b api.Budget) string {
	text := fmt.Sprintf("How: %s noise, %s accounting, %s pace", b.Noise, b.Accounting, b.Pace)
	if b.Batch > 0 {
		text += fmt.Sprintf(", %d of every 100 records in a round", b.Batch)
	}
	return text + "."
}

// exception says how often others learn more than epsilon allows, and what delta is.
func exception(b api.Budget) string {
	if b.Excess == 0 {
		return ", without exception (delta)"
	}
	return fmt.Sprintf("; in about 1 of %s cases they learn more (delta, %v, counts each of these by how much more)", grouped(twoDigits(1/b.Excess)), b.Delta)
}

// twoDigits rounds to two significant digits.
func twoDigits(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(v/unit) * unit
}

func spentText(b api.Budget) string {
	text := ""
	if len(b.Cohorts) == 0 {
		text = "  Nothing: there are no records yet.\n"
	} else {
		text = cohortsText(b) +
			paragraph("  ", fmt.Sprintf("A cohort is a group of records that arrived together and pay together: each time its records take part "+
				"in %s, each of them pays from its budget. New records can begin a new cohort. "+
				"Every fifth record is not counted here: it is held out and never takes part.", whatCosts(b.Sums)))
	}
	if b.Plan != nil {
		text += paragraph("  ", "SPENT is the share of the plan's steps that the records took part in: what a plan costs is known for the whole of it.")
	}
	return text + paragraph("  ", outlook(b))
}

// whatCosts names what records pay for.
func whatCosts(s *api.SumsBudget) string {
	const round, sum = "a round, a model sent to the others", "a private sum"
	switch {
	case s == nil:
		return round
	case s.Only:
		return sum
	}
	return round + ", or in " + sum
}

// waitsFor says for how many more new records wait, and why.
func waitsFor(missing int) string {
	return fmt.Sprintf("new records wait for %d more %s (every fifth that comes is held out), because a round of few has as much noise as one of many, and costs each of them as much",
		missing, plural(missing, "training record", "training records"))
}

// nothingMore says why the present records take part in no more rounds, and what the
// owner can do. missing is how many records must come before the next round.
func nothingMore(plan *api.PlanBudget, retired, isStranded bool, missing int) string {
	if isStranded {
		return stranded + "; records that come serve your own model. " + strings.TrimSuffix(strandedAdvice, ".")
	}
	why := "the budget of these records is used up"
	if retired {
		why = "these records are retired by a restore"
	}
	switch {
	case plan != nil && plan.Left == 0:
		return planOver + " A plan cannot be made longer; to send more, make a new directory and put only new records in it"
	case plan != nil:
		return fmt.Sprintf("%s; import new ones and they take part in what is left of the plan, %d %s",
			why, plan.Left, plural(plan.Left, "step", "steps"))
	}
	text := why + "; import new ones and they begin a new cohort with a budget of its own"
	if missing > 1 {
		text += fmt.Sprintf(", which takes part when it has %d of them", missing)
	}
	return text
}

// Texts for a node that a restore has put beyond the last round.
const (
	stranded       = "it was restored, and its task's learner goes in rounds, where nobody would follow it"
	strandedAdvice = "To take part, make a node in an empty directory, with records that were in none."
)

const planOver = "the plan is over: these records are never shared any more, and new ones never at all."

// outlook says what the next round costs and how many there will be.
func outlook(b api.Budget) string {
	switch {
	case b.Contradicted > 0:
		return "Nothing more will be sent: this directory is an old copy, and what was spent since it was made is not in it."
	case b.Sums != nil && b.Sums.Only && b.Sums.Left == 0:
		return "Nothing more will be sent: all private sums of the task are over. New records serve your own model."
	case b.Sums != nil && b.Sums.Only:
		return fmt.Sprintf("Nothing but private sums is sent, and %d %s to come. A record is in those of one epoch; one that comes later is in a later one.",
			b.Sums.Left, plural(b.Sums.Left, "is", "are"))
	case b.Unprotected && b.Releases > 0 && b.Left == 0:
		return fmt.Sprintf("Nothing more will be sent: the limit of %d rounds, key \"releases\", is reached.", b.Releases)
	case b.Unprotected:
		return "Rounds cost nothing, because nothing is protected."
	case b.Waits():
		return "Nothing is sent: " + waitsFor(b.Missing) + "."
	case b.Left == 0:
		return "Nothing more will be sent: " + nothingMore(b.Plan, allRetired(b.Cohorts), b.Stranded, b.Missing) + "."
	}
	left := fmt.Sprintf("%d %s left.", b.Left, plural(b.Left, "round is", "rounds are"))
	if p := b.Plan; p != nil {
		return fmt.Sprintf("One more round is one step of the plan; %s They were planned before the first: %d of %d steps are done. "+
			"A plan cannot be changed, and a step that was not used, or was lost in a crash, is not given back.", left, p.Done, p.Steps)
	}
	text := fmt.Sprintf("One more round costs %s of the budget; %s", cost(b.Next), left)
	if b.Rising {
		text += " The one after that costs more."
	}
	return text
}

func allRetired(cohorts []api.CohortBudget) bool {
	return len(cohorts) > 0 && !slices.ContainsFunc(cohorts, func(c api.CohortBudget) bool { return !c.Retired })
}

func cohortsText(b api.Budget) string {
	if b.Sums != nil && b.Sums.Only {
		return sumCohortsText(b)
	}
	rows := [][]any{{"  COHORT", "RECORDS", "ROUNDS", "SPENT", "ROUNDS LEFT", "STATE"}}
	for _, c := range b.Cohorts {
		left, spent := strconv.Itoa(c.Left), fmt.Sprintf("%.1f %%", 100*c.Spent)
		switch {
		case b.Unprotected && b.Releases == 0:
			left = "no limit"
		case c.Retired && !b.Unprotected:
			spent = known(c.AtLeast) + ", counts as all"
		}
		rows = append(rows, []any{fmt.Sprintf("  %d", c.Cohort), c.Records, c.Releases, spent, left, cohortState(b, c)})
	}
	return table(rows...)
}

// sumCohortsText is cohortsText for a node whose records only pay for private sums.
func sumCohortsText(b api.Budget) string {
	rows := [][]any{{"  COHORT", "RECORDS", "PRIVATE SUMS", "SPENT", "STATE"}}
	for _, c := range b.Cohorts {
		spent, state := fmt.Sprintf("%.1f %%", 100*c.Spent), "has paid for none"
		switch {
		case c.Retired:
			spent, state = known(c.AtLeast)+", counts as all", cohortState(b, c)
		case c.Sums > 0:
			state = "has paid"
		}
		rows = append(rows, []any{fmt.Sprintf("  %d", c.Cohort), c.Records, c.Sums, spent, state})
	}
	return table(rows...)
}

// committeeText says on whom the guarantee depends in private sums, and what they cost.
func committeeText(s api.SumsBudget) string {
	c := s.Committee
	text := paragraph("  ", fmt.Sprintf("Private sums are added up by a committee of %d, whom the task names. As long as at most %d of them %s against you, "+
		"with everybody else in the network on %s side, what is guaranteed above holds for them too:",
		len(c.Members), c.Colluding, plural(c.Colluding, "works", "work together"), plural(c.Colluding, "its", "their")))
	for _, m := range c.Members {
		who := "  - " + m.Peer
		if m.Self {
			who += " (this node)"
		}
		text += who + "\n"
	}
	text += paragraph("  ", fmt.Sprintf("If %d of them work together before a sum is over, they read exactly what this node adds to it, and nothing is guaranteed for that. "+
		"When a sum is over they erase their keys, and then nobody can read it any more.", c.Colluding+1))
	return text + paragraph("  ", priceText(s))
}

// priceText says how much of a record's budget the sums take.
func priceText(s api.SumsBudget) string {
	text := fmt.Sprintf("Their price: %s of each record's budget", cost(s.Share))
	if s.Epochs > 1 {
		text += fmt.Sprintf(", once, as a record is in the sums of one of %d epochs", s.Epochs)
	}
	text += recipesText(s) + "."
	if s.OnlyFetches {
		return text + " " + onlyFetches
	}
	return text + fmt.Sprintf(" What is opened has %.4g times the noise that is needed, because the %s might add none.",
		s.Excess, plural(s.Committee.Colluding, "one that works against you", "ones that work together"))
}

// recipesText lists the shares of several recipes, with the prices for this node if its
// budget differs from the task's.
func recipesText(s api.SumsBudget) string {
	var each []string
	for _, r := range s.Recipes {
		text := fmt.Sprintf("%s %s", r.Recipe, cost(r.Share))
		if math.Abs(r.Price/r.Share-1) > 0.01 {
			text += fmt.Sprintf(" (by your epsilon and delta, %s of yours)", cost(r.Price))
		}
		if r.Rounds > 1 {
			text += fmt.Sprintf(" in %d rounds", r.Rounds)
		}
		if r.Skipped && !s.OnlyFetches {
			text += ", never paid here: less is left for it"
		}
		each = append(each, text)
	}
	return " (" + strings.Join(each, ", ") + ")"
}

// rounding is how far the accountant's numbers may lie below the true ones.
const rounding = 1e-6

// known writes the known spending of retired records, rounded down.
func known(share float64) string {
	return fmt.Sprintf("at least %.4g %%", math.Floor(1e4*(share+rounding))/100)
}

func cohortState(b api.Budget, c api.CohortBudget) string {
	switch {
	case b.Unprotected && b.Bare == 0:
		return "will be sent without noise"
	case b.Unprotected:
		return "sent without noise, or will be"
	case c.Retired:
		return "retired by a restore, for ever"
	case b.Plan != nil && b.Plan.Left == 0:
		return "the plan is over"
	case b.Stranded:
		return "takes no part: the directory was restored"
	case c.Left == 0:
		return "used up"
	case b.Missing > 0:
		return fmt.Sprintf("waits for %d more", b.Missing)
	case b.Bare > 0:
		return "in use; was perhaps sent without noise before"
	}
	return "in use"
}

func personText(people []api.PersonBudget) string {
	text := paragraph("  ", "The budget is that of one record. If several are about one person, more can be learned about her:")
	rows := [][]any{{"  RECORDS", "EPSILON", "DELTA", "50 % LIKELY CAN BECOME"}}
	for _, p := range people {
		if p.Delta > 0.5 { // "no guarantee" and a table that says otherwise would confuse
			rows = append(rows, []any{fmt.Sprintf("  %d", p.Records), fmt.Sprintf("%.3g", p.Epsilon), "1", "certainty: no guarantee"})
			continue
		}
		rows = append(rows, []any{fmt.Sprintf("  %d", p.Records), fmt.Sprintf("%.3g", p.Epsilon), fmt.Sprintf("%.3g", p.Delta), percent(p.Belief)})
	}
	return text + table(rows...)
}

// percent writes a share with one digit, and more near 0 and 1, which it may not
// be taken for.
func percent(share float64) string {
	digits := 1
	if rest := min(share, 1-share); rest > 0 && rest < 1e-3 {
		digits = min(10, int(-math.Floor(math.Log10(rest)))-2)
	}
	return strconv.FormatFloat(100*share, 'f', digits, 64) + " %"
}

// cost writes the share that one round costs.
func cost(share float64) string {
	if share >= 0.1 {
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return fmt.Sprintf("%.2g %%", 100*share)
}

// grouped writes a whole number with commas.
func grouped(v float64) string {
	if v >= 1e15 {
		return fmt.Sprintf("%.0e", v)
	}
	digits := strconv.FormatFloat(math.Floor(v*(1+1e-12)), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// listenersText names who listened to releases.
func listenersText(list []api.Listener) string {
	if len(list) == 0 {
		return ""
	}
	text := "  These neighbours listened:\n"
	for _, l := range list {
		text += paragraph("  - ", fmt.Sprintf("%s, %d %s, the last on %s", l.Peer, l.Releases, plural(l.Releases, "release", "releases"),
			time.Unix(l.Last, 0).Format("2 January 2006 at 15:04")))
	}
	return text
}
