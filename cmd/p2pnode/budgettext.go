package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"p2pnode/node"
)

// budgetText explains a budget to somebody who never heard of epsilon.
func budgetText(b node.Budget) string {
	var t strings.Builder
	t.WriteString("WHAT IS GUARANTEED\n")
	if b.Unbounded {
		t.WriteString(unboundedText(b))
	} else {
		t.WriteString(guaranteeText(b))
	}
	t.WriteString("\nWHAT IS SPENT\n")
	t.WriteString(spentText(b))
	t.WriteString("\nWHO CAN SEE IT\n")
	t.WriteString(paragraph("  ", b.VisibleTo))
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

func unboundedText(b node.Budget) string {
	if b.Obfuscation {
		return paragraph("  ", fmt.Sprintf("UNBOUNDED: there is NO GUARANTEE. What is sent is hidden by %s. %d %s sent so far. "+
			"The servers together, or one that collects long enough, may work out your records.",
			obfuscation, b.Bare, plural(b.Bare, "gradient was", "gradients were"))) +
			paragraph("  ", "Only another task changes that: one that puts noise inside the sum (key \"polar.private\").")
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

func guaranteeText(b node.Budget) string {
	one := b.Person[0]
	text := paragraph("  ", fmt.Sprintf("Each record has a budget for its whole life: epsilon %v, delta %v.", one.Epsilon, one.Delta))
	return text + paragraph("  ", fmt.Sprintf("It means: people who see everything this node ever sends, and who even know all your other records, "+
		"learn little about one record. What they thought 50 %% likely about it before, they can come to think %s likely at most (that is epsilon)%s.",
		percent(one.Belief), exception(one.Delta)))
}

// exception says what delta is.
func exception(delta float64) string {
	if delta == 0 {
		return ", without exception (delta)"
	}
	return fmt.Sprintf("; the chance that this fails is 1 in %s (delta)", grouped(1/delta))
}

func spentText(b node.Budget) string {
	text := ""
	if len(b.Cohorts) == 0 {
		text = "  Nothing: there are no records yet.\n"
	} else {
		text = cohortsText(b) +
			paragraph("  ", "A cohort is a group of records that arrived together and share one fate: each time its records take part "+
				"in a round, a model sent to the others, each of them pays from its budget. New records can begin a new cohort. "+
				"Every fifth record is not counted here: it is held out and never takes part.")
	}
	return text + paragraph("  ", outlook(b))
}

// planEnded says what somebody can do whose plan is at its end.
const planEnded = "the plan is at its end, or these records are retired. " +
	"A plan cannot be made longer; to send more, make a new directory and put only new records in it."

// outlook says what the next round costs and how many there will be.
func outlook(b node.Budget) string {
	switch {
	case b.Unprotected:
		return "Rounds cost nothing, because nothing is protected."
	case b.Left == 0 && b.Plan != nil:
		return "Nothing more will be sent: " + planEnded
	case b.Left == 0:
		return "Nothing more will be sent: these records have used their budget. New records begin a new cohort with a budget of its own."
	}
	text := fmt.Sprintf("One more round costs %s of the budget; %d %s left.", cost(b.Next), b.Left, plural(b.Left, "round is", "rounds are"))
	if b.Pace == "growing" && b.Plan == nil {
		text += " Each costs more than the one before."
	}
	if p := b.Plan; p != nil {
		text += fmt.Sprintf(" They were planned before the first: %d of %d steps are done. A plan cannot be changed, "+
			"and a step that was not used, or was lost in a crash, is not given back.", p.Done, p.Steps)
	}
	return text
}

func cohortsText(b node.Budget) string {
	rows := [][]any{{"  COHORT", "RECORDS", "ROUNDS", "SPENT", "ROUNDS LEFT", "STATE"}}
	for _, c := range b.Cohorts {
		left, state := strconv.Itoa(c.Left), cohortState(c)
		if b.Unprotected {
			state = "sent without noise"
		}
		if b.Unprotected && b.Releases == 0 {
			left = "no limit"
		}
		rows = append(rows, []any{fmt.Sprintf("  %d", c.Cohort), c.Records, c.Releases, fmt.Sprintf("%.1f %%", 100*c.Spent), left, state})
	}
	return table(rows...)
}

func cohortState(c node.CohortBudget) string {
	switch {
	case c.Retired:
		return "retired by a restore, for ever"
	case c.Left == 0:
		return "used up"
	}
	return "in use"
}

func personText(people []node.PersonBudget) string {
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
