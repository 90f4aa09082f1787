package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"

	"github.com/spf13/cobra"
)

func sumsCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "sums",
		Short: "The private sums of the task: what is known of each, and whether a result is sound",
	}
	c.AddCommand(listSumsCommand(o), showSumCommand(o), verifySumCommand(o))
	return c
}

func listSumsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the private sums whose results are here, and those to come",
		Long: `List the private sums whose results are here, and of each recipe the one to come:
how far it is, how many people are in it, and what this node added. A result is
public; it is kept in the directory's "sums", and anybody may have a copy. Works
with and without a daemon.`,
		Example: `  p2pnode sums list
  p2pnode sums list --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return ask(cmd, o, api.Owner.Sums, sumsText) },
	}
}

func showSumCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "show [ID]",
		Short: "What one private sum is, who certified it, and what it means for you",
		Long: `What one private sum is: how many people are in it, which members of the committee
certified it, how much noise it has, what it cost this node and what it means for
you. ID is the beginning of its name, as "p2pnode sums list" prints it; without
one it is the newest result, or what comes first if there is none. Works with and
without a daemon.`,
		Example: `  p2pnode sums show
  p2pnode sums show --json`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := askOwner(cmd, o, api.Owner.Sums)
			if err != nil {
				return err
			}
			s, err := pickSum(known.List, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return show(cmd, o, s, func(s api.Sum) string { return sumText(known, s) })
		},
	}
	c.ValidArgsFunction = completeKnown(o, func(ctx context.Context, owner api.Owner) (ids []string, err error) {
		known, err := owner.Sums(ctx)
		for _, s := range known.List {
			ids = append(ids, shortSum(s.ID))
		}
		return ids, err
	})
	return c
}

func verifySumCommand(o *options) *cobra.Command {
	var task, catalogue string
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check the signatures of a result against the committee of the task",
		Long: `Check a file with the result of a private sum, from this node or from anybody,
against the task in the data directory, or with --task against that of a file, for
which no node is needed, offline: that more members of the committee than may work
together signed it, for a sum of this task. If the certified list is beside it,
under the same name ending in .list, also that the result is of that list and a
quorum certified who is in it.

The exit code is 0 if everything that is there is sound, and 1 if not. Nobody
can check by this that the people in a sum told the truth.`,
		Example: `  p2pnode sums verify result.sum
  p2pnode sums verify result.sum --task sums.toml --json`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if task != "" {
				if cmd.Flags().Changed("dir") {
					return usageError{errors.New("--task and --dir each name a task; give one of them"), cmd}
				}
				return verifySumOf(cmd, o, task, catalogue, args[0])
			}
			if catalogue != "" {
				return usageError{errors.New("--catalogue is for --task; a directory has its own"), cmd}
			}
			if !holdsNode(o.dir) {
				return fmt.Errorf("%s holds no node; name with --task the file of the task, whose committee must have signed, or with --dir the directory of any node of it", o.dir)
			}
			checked, err := node.VerifySum(o.dir, args[0])
			if err != nil {
				return err
			}
			return show(cmd, o, checked, func(f api.SumFile) string { return sumFileText(f, true) })
		},
	}
	c.Flags().StringVar(&task, "task", "", "check against this task, a file ending in .toml, in place of that of a data directory")
	c.Flags().StringVar(&catalogue, "catalogue", "", "with --task: file that lists the keys of that task, if it sums up by them")
	return c
}

// verifySumOf checks a result for somebody without a node.
func verifySumOf(cmd *cobra.Command, o *options, task, catalogue, file string) error {
	t, err := datadir.LoadTask(task)
	if err != nil {
		return err
	}
	keys, err := readCatalogue(catalogue)
	if err != nil {
		return err
	}
	checked, err := node.VerifySumOf(t, keys, file)
	if err != nil {
		return err
	}
	return show(cmd, o, checked, func(f api.SumFile) string { return sumFileText(f, false) })
}

// pickSum returns the sum whose name begins with begin. If begin is empty, it returns
// the newest result or, without one, the first sum.
func pickSum(list []api.Sum, begin string) (api.Sum, error) {
	if len(list) == 0 { // of a relay that has just begun
		return api.Sum{}, errors.New("no private sum has begun here yet")
	}
	if begin == "" {
		newest := -1
		for i, s := range list {
			if s.State == api.SumHere && (newest < 0 || s.Closes >= list[newest].Closes) {
				newest = i
			}
		}
		return list[max(newest, 0)], nil // the last sum of each recipe is always in the list, as a result or as one to come
	}
	found := slices.DeleteFunc(slices.Clone(list), func(s api.Sum) bool { return !strings.HasPrefix(s.ID, strings.ToLower(begin)) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return api.Sum{}, fmt.Errorf("no private sum that is known here begins with %q; p2pnode sums list has their names", begin)
	}
	return api.Sum{}, fmt.Errorf("%d private sums begin with %q; write more of the name", len(found), begin)
}

// shortSum is the beginning of a sum's name, long enough to distinguish the sums of a
// task.
func shortSum(id string) string { return id[:min(8, len(id))] }

func sumsText(s api.Sums) string {
	rows := [][]any{{"SUM", "RECIPE", "EPOCH", "STATE", "PEOPLE", "RECORDS", "THIS NODE"}}
	for _, k := range s.List {
		people, records := "-", "-"
		if k.State == api.SumHere {
			people, records = fmt.Sprint(k.People), fmt.Sprint(k.Records)
		}
		rows = append(rows, []any{shortSum(k.ID), k.Recipe, epochText(k), stateOfSum(k), people, records, partText(k)})
	}
	text := table(rows...)
	if s.OnlyFetches {
		text += paragraph("", onlyFetches)
	}
	return text
}

// onlyFetches says why a node adds nothing.
const onlyFetches = "This node only fetches results: by its configuration, \"epsilon\" and \"delta\" of config.toml, a sum costs more than its whole budget. " +
	"What it needs to take part is the task's epsilon and delta, or more."

func epochText(s api.Sum) string {
	text := fmt.Sprintf("%d of %d", s.Epoch, s.Epochs)
	if s.Rounds > 1 {
		text += fmt.Sprintf(", round %d of %d", s.Round, s.Rounds)
	}
	return text
}

func stateOfSum(s api.Sum) string {
	switch s.State {
	case api.SumOpen:
		return "open until " + clock(s.Closes)
	case api.SumClosed:
		return "closed, being added up"
	case api.SumHere:
		if s.People == 0 {
			return "over, nobody contributed"
		}
		return "result here"
	case api.SumDead:
		return "over, without a result"
	}
	if s.Part != api.PartNone { // it pays for open sums alone, and asks how far they came when it runs
		return "opened, no news since"
	}
	if s.Opens > 0 {
		return "opens after " + clock(s.Opens)
	}
	return "not open yet"
}

// clock writes a time for people; a time of today has no date.
func clock(seconds int64) string {
	t := time.Unix(seconds, 0)
	if t.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

func partText(s api.Sum) string {
	switch s.Part {
	case api.PartSent:
		if s.State == api.SumWaiting { // the sum may be over, as after a restore
			return "has paid"
		}
		return "has paid, and sends its part"
	case api.PartListed:
		return "is in it"
	case api.PartLeftOut:
		return "paid, and is not in it"
	case api.PartLost:
		return "paid, and was stopped before sending"
	}
	return "has added nothing"
}

// sumText is everything about one sum.
func sumText(known api.Sums, s api.Sum) string {
	rows := [][]any{
		{"sum", s.ID},
		{"recipe", fmt.Sprintf("%s: %s", s.Recipe, recipeText(s))},
		{"epoch", epochText(s)},
		{"state", stateOfSum(s)},
	}
	if stake := s.Stake(known.Committee.Lacks(len(s.Missing))); stake != "" {
		rows = append(rows, []any{"", "it " + stake})
	}
	if s.State == api.SumHere {
		rows = append(rows, []any{"people", fmt.Sprintf("%d, with %d records", s.People, s.Records)},
			[]any{"closed", clock(s.Closes)}, []any{"file", s.File}, []any{"digest", s.Digest})
	}
	var signed *api.Sum
	if s.State == api.SumHere {
		signed = &s
	}
	rows = append(rows, []any{"this node", partText(s)},
		[]any{"noise", fmt.Sprintf("standard deviation %.4g in each of %d numbers", s.Noise, s.Numbers)})
	text := table(rows...) + "\nCOMMITTEE\n" + paragraph("  ", certifiedText(known.Committee, s)) + membersText(known.Committee, signed)
	return text + "\nFOR YOU\n" + paragraph("  ", meaning(known, s))
}

func recipeText(s api.Sum) string {
	switch s.Recipe {
	case "items":
		return "what people think of each thing, and how many know it"
	case "mean":
		return "where features lie and how far they spread; then a model of all records, where personal models start"
	case "moments":
		return fmt.Sprintf("in which directions the models of people differ, of those with %d records in it or more", api.MomentsLeast)
	}
	return "clipped gradients of all records; after the last round, where personal models start"
}

// certifiedText says how many members signed for a sum.
func certifiedText(c api.Committee, s api.Sum) string {
	text := fmt.Sprintf("%d members, of whom %d may work together against you.", len(c.Members), c.Colluding)
	if s.State != api.SumHere {
		return text
	}
	return fmt.Sprintf("%s %d signed the result (S), where %d must; %d certified who is in it (V), where %d must.",
		text, len(s.Signed), c.Colluding+1, len(s.Voted), c.Quorum)
}

// membersText lists the members: which are there, and which signed for a sum, if one is
// given.
func membersText(c api.Committee, s *api.Sum) string {
	var rows [][]any
	why := make(map[string][]string)
	for _, m := range c.Members {
		row := []any{"  " + m.Peer, contactText(m)}
		if s != nil {
			row = slices.Insert(row, 1, any(signs(s, m.Peer)))
		}
		rows = append(rows, row)
		if m.Failure != "" {
			why[m.Failure] = append(why[m.Failure], shortPeer(m.Peer))
		}
	}
	text := table(rows...)
	for _, failure := range slices.Sorted(maps.Keys(why)) {
		text += paragraph("  ", fmt.Sprintf("%s: %s", strings.Join(why[failure], ", "), api.Plain(failure)))
	}
	return text
}

// signs says whether a member signed the result (S), and whether it certified who is in it
// (V).
func signs(s *api.Sum, member string) string {
	text := []byte("--")
	if slices.Contains(s.Signed, member) {
		text[0] = 'S'
	}
	if slices.Contains(s.Voted, member) {
		text[1] = 'V'
	}
	return string(text)
}

// contactText says whether a member is there.
func contactText(m api.Member) string {
	switch {
	case m.Self:
		return "this node"
	case m.Failure != "":
		return "does not answer"
	case m.Answered > 0:
		return fmt.Sprintf("answered %s ago", time.Since(time.Unix(m.Answered, 0)).Round(time.Second))
	}
	return "not called yet"
}

// meaning says what a sum means for the owner.
func meaning(known api.Sums, s api.Sum) string {
	const used = "Your personal model uses it, beside what it learns alone, as far as it predicts your records; p2pnode status says what that brings. "
	switch {
	case s.State == api.SumHere && s.People == 0:
		return "Nobody added to it, so it says nothing. " + paidMeaning(s)
	case s.State == api.SumHere && int(s.Round) < s.Rounds:
		return "The next round is made from it; your personal model uses what the last one tells. " + paidMeaning(s)
	case s.State == api.SumHere && s.Recipe == "moments":
		return used + fmt.Sprintf("If no other device has %d records in it, it says nothing. ", api.MomentsLeast) + paidMeaning(s)
	case s.State == api.SumHere:
		return used + paidMeaning(s)
	case s.State == api.SumDead:
		return "The committee could not add it up in time and erased its keys: it never has a result. What was paid for it stays spent. Later epochs are sums of their own."
	case s.Part != api.PartNone:
		return paidMeaning(s)
	case known.OnlyFetches:
		return onlyFetches
	case s.State == api.SumOpen:
		return "This node has added nothing so far: it has no records, or none with a budget left for it. It will have the result all the same."
	case s.State == api.SumClosed:
		return "The committee adds up. Then this node has the result, for nothing."
	}
	when := "It opens when"
	if s.Opens > 0 {
		when = "It opens after " + clock(s.Opens) + ", once"
	}
	return "Nothing is paid for it yet. " + when + " all members of the committee are there; a node pays when it has seen their signatures on that."
}

// paidMeaning says what was paid, and what happened to the contribution.
func paidMeaning(s api.Sum) string {
	paid := fmt.Sprintf("Those of your records that could paid %s of their budget for it", cost(s.Price))
	switch s.Part {
	case api.PartSent:
		return paid + ". What they add is masked and sent; it is looked for in the result when that is here."
	case api.PartListed:
		if s.Rounds > 1 {
			return paid + "."
		}
		return paid + ", and what they added is taken out before your model sees it, so that it does not trust its echo."
	case api.PartLeftOut:
		return paid + ", but the committee closed the list without this node. What was paid stays spent, as the others may have seen what was sent."
	case api.PartLost:
		return paid + ", but the node was stopped before there was anything to send. That stays spent: a contribution is made once."
	}
	return "It cost this node nothing."
}

// sumFileText says what was checked, for a node or for somebody who has none.
func sumFileText(f api.SumFile, node bool) string {
	rows := [][]any{
		{"people", fmt.Sprintf("%d, with %d records", f.People, f.Records)},
		{"digest", f.Digest + ", the same on every node"},
	}
	for _, m := range f.Signed {
		rows = append(rows, []any{"signed by", m})
	}
	for _, m := range f.Voted {
		rows = append(rows, []any{"list by", m})
	}
	text := fmt.Sprintf("Sound: %s is the result of the sum %s of this task (%s, epoch %s).", f.File, shortSum(f.ID), f.Recipe, epochText(f.Sum))
	list := "The certified list is not beside it, under the same name ending in .list, so who is in it was not checked."
	switch {
	case f.ListChecked && !node:
		list = "The list beside it is the certified one."
	case f.ListChecked && f.Part == api.PartListed:
		list = "The list beside it is the certified one. This node's identity is in it."
	case f.ListChecked:
		list = "The list beside it is the certified one. This node's identity is not in it."
	}
	return paragraph("", text) + table(rows...) + paragraph("", list)
}
