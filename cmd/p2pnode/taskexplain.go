package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

func taskExplainCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [FILE]",
		Short: "Say in words what nodes of a task publish, and what it costs",
		Long: `Say in words what nodes of a task publish, to whom, how often and at what price, how
long the budget lasts, what a committee can see, and what is never sent. FILE is a
task file or a built-in task (movies, linear, clusters), with a node's usual choices;
without it, it is the task and the choices of the data directory. The numbers come
from the code by which a node runs.`,
		Example: `  p2pnode task explain mytask.toml
  p2pnode task explain movies --json
  p2pnode task explain`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := explained(o, args)
			if err != nil {
				return err
			}
			return show(cmd, o, e, explainedText)
		},
	}
}

// explained is the explanation of a task by name, or of that of the data directory.
func explained(o *options, args []string) (datadir.Explanation, error) {
	if len(args) == 1 {
		t, err := datadir.LoadTask(args[0])
		if err != nil {
			return datadir.Explanation{}, err
		}
		return datadir.Explain(t, datadir.DefaultConfig(t), nil)
	}
	files, err := datadir.Read(o.dir, o.settings...)
	if err != nil {
		return datadir.Explanation{}, errors.Join(err, errors.New("or name a task file, or a built-in task: p2pnode task explain FILE"))
	}
	return datadir.Explain(files.Task, files.Config, files.Catalogue)
}

func explainedText(e datadir.Explanation) string {
	var t strings.Builder
	section := func(title string, paragraphs ...string) {
		if t.Len() > 0 {
			t.WriteString("\n")
		}
		t.WriteString(title + "\n")
		for _, p := range paragraphs {
			if p != "" {
				t.WriteString(paragraph("  ", p))
			}
		}
	}
	section("THE TASK", fmt.Sprintf("%q predicts %s from %d %s (%s loss). A model is %d %s. Learner: %s. Network: %s.",
		e.Task, e.Target, e.Columns, plural(e.Columns, "column", "columns"), e.Loss, e.Weights, plural(e.Weights, "number", "numbers"), e.Learner, e.Network))
	section("WHAT A NODE SENDS")
	if e.Releases != nil {
		t.WriteString(releasesText(e))
	}
	if e.Sums != nil {
		t.WriteString(sentToSums(e.Sums))
		if e.Sums.OnlyFetches {
			t.WriteString(paragraph("  ", onlyFetches))
		}
	}
	section("WHAT IT COSTS")
	if e.Unbounded {
		t.WriteString(paragraph("  ", "UNBOUNDED: there is NO GUARANTEE. "+unboundedBy(e)+" Somebody who collects it may work out your records."))
	} else {
		b := api.Budget{Epsilon: e.Epsilon, Delta: e.Delta, Excess: e.Excess, Noise: e.Noise, Accounting: e.Accounting, Pace: e.Pace, Person: e.Person}
		t.WriteString(guaranteeText(b) + personText(b.Person))
	}
	section("WHO CAN SEE IT", node.VisibleTo)
	if e.Sums != nil {
		section("WHAT THE COMMITTEE CAN SEE", seenByCommittee(e.Sums))
	}
	section("WHAT IS NEVER SENT", "Your records and their cells, your personal model and its predictions, and anything about a record without the noise that was paid for"+
		map[bool]string{true: ": but this task has NO such guarantee, see above", false: ""}[e.Unbounded]+".")
	t.WriteString("  Others can find out all the same:\n")
	for _, what := range node.NotCovered() {
		t.WriteString(paragraph("  - ", what))
	}
	return t.String()
}

func unboundedBy(e datadir.Explanation) string {
	if e.Obfuscated {
		return "What is sent is hidden by " + obfuscation + "."
	}
	return "What is sent is sent without noise, because the configuration says so (key \"unprotected\")."
}

// releasesText says what nodes send to neighbours or servers, how often and for how
// long.
func releasesText(e datadir.Explanation) string {
	r := e.Releases
	to := fmt.Sprintf("to each of its neighbours. It looks for %d, %s, and accepts up to %d", r.Neighbours, foundBy(r.Rule), 2*r.Neighbours)
	if r.Servers > 0 {
		to = fmt.Sprintf("to each of the %d servers that the task names", r.Servers)
	}
	pace := "about every " + strings.TrimPrefix(api.Lasting(r.Seconds), "1 ")
	if r.Rounds {
		pace = fmt.Sprintf("once a round, which ends when all were heard and after %s at the latest", api.Lasting(r.Seconds))
	}
	text := paragraph("  ", fmt.Sprintf("A model of %d %s with noise in it, %s on the wire, %s, %s.", e.Weights, plural(e.Weights, "number", "numbers"), size(int64(r.Bytes)), pace, to))
	if e.Unbounded {
		text = strings.Replace(text, " with noise in it", "", 1)
	}
	return text + paragraph("  ", outlast(r))
}

// outlast says for how long the budget lasts.
func outlast(r *datadir.ExplainedReleases) string {
	if r.Count == 0 {
		return "It goes on without a limit."
	}
	about := "about"
	if r.Rounds {
		about = "at most"
	}
	what := fmt.Sprintf("%d %s, %s %s", r.Count, plural(r.Count, "release", "releases"), about, api.Lasting(r.Lasts()))
	if r.Free {
		return what + ": all later messages follow from what was released, and cost nothing. Records that come later serve the personal model only."
	}
	text := what + ", then this node only listens until new records come"
	if r.Ends {
		text = what + ", then the task is over"
	}
	if r.Share > 0 {
		text += fmt.Sprintf(". Each takes %s of the budget of the records in it, and up to %s records share a budget", cost(r.Share), grouped(float64(r.Cohort)))
	}
	return text + "."
}

func foundBy(rule string) string {
	switch rule {
	case "profile":
		return "those whose public profiles are alike"
	case "released":
		return "those who release alike"
	}
	return "any nodes that it finds"
}

// sentToSums says what a node adds to private sums.
func sentToSums(s *datadir.ExplainedSums) string {
	var text strings.Builder
	for _, r := range s.Recipes {
		what := fmt.Sprintf("Private sum %q: one masked vector", r.Kind)
		if r.Numbers > 0 {
			what += fmt.Sprintf(" of %d %s, %s", r.Numbers, plural(r.Numbers, "number", "numbers"), size(int64(r.Bytes)))
		} else {
			what += ", as long as the task's catalogue"
		}
		if r.Rounds > 1 {
			what += fmt.Sprintf(", in each of %d rounds", r.Rounds)
		}
		text.WriteString(paragraph("  ", fmt.Sprintf("%s, to each member of the committee. It takes %s of each record's budget.", what, cost(r.Share))))
	}
	text.WriteString(paragraph("  ", fmt.Sprintf("Each sum takes contributions for %s, and there %s %d %s of them in turn. A record is in those of one; one that comes later is in a later one. "+
		"Between two epochs the committee waits for as long as lies between the first closing and the last, at most 13 weeks, as sums of few records are mostly noise. "+
		"At most %s people and %s records of each are in a sum.",
		api.Lasting(s.CloseSeconds), plural(s.Epochs, "is", "are"), s.Epochs, plural(s.Epochs, "epoch", "epochs"), grouped(float64(s.Contributors)), grouped(float64(s.Records)))))
	return text.String()
}

func seenByCommittee(s *datadir.ExplainedSums) string {
	return fmt.Sprintf("Of its %d members up to %d may work together against you, with everybody else on their side: they see of your device random numbers, that it "+
		"takes part, and how many records it has; and the sum of all, with noise. %d of them that work together before a sum is over read exactly what your device added. "+
		"When it is over they erase their keys, and then nobody can.", len(s.Committee), s.Colluding, s.Colluding+1)
}
