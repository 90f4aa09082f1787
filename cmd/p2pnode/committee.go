package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/local"

	"github.com/spf13/cobra"
)

// exitMissing is an exit code of committee status, beside exitUnknown.
const exitMissing = exitCode(1)

// memberAway is what others notice of a member that is away, and the beginning of a sentence.
const memberAway = "It is a member of the committee, so no private sum opens for anybody while it is away"

func committeeCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "committee",
		Short: "The committee that adds up private sums: who is there, and a member's keys",
	}
	c.AddCommand(committeeStatusCommand(o), committeeKeysCommand(o))
	return c
}

func committeeStatusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Who of the committee is there, and what the sums wait for",
		Long: `Who of the committee answers this node, how far each private sum is and, on a
member, what it holds. Works on members and on everybody else; without a daemon
it says who the members are. Works on the directory of a relay with --member too,
while that runs.

The exit code is 0 if nothing is wrong, 1 if a sum waits for its committee, or
fewer members answer than it needs to be added up, or this member cannot take
part, as its disk is full, or is silent because its keys were lost, and 3 if the
node is paused or not running. A sum that may open waits for its committee until
all members have exchanged keys for it: a moment, if all are there.`,
		Example: `  p2pnode committee status
  p2pnode committee status --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := committeeStatusText(dirFlag(o.dir))
			known, err := askOwner(cmd, o, api.Owner.Sums)
			if err != nil && !errors.Is(err, api.ErrSilent) && datadir.HoldsRelay(o.dir) && !local.Running(cmd.Context(), o.dir) {
				known, err = api.Sums{Paused: []api.Pause{}, Committee: api.Committee{Members: []api.Member{}}, List: []api.Sum{}}, nil
				text = func(api.Sums) string { return paragraph("", relayAway) }
			}
			if err != nil {
				return err
			}
			if err := show(cmd, o, known, text); err != nil {
				return err
			}
			switch {
			case !known.Running:
				return exitUnknown
			case slices.ContainsFunc(known.List, func(k api.Sum) bool { return stuck(&known, &k) }):
				return exitMissing
			}
			return nil
		},
	}
}

// relayAway is said of the directory of a relay whose socket nobody listens on.
const relayAway = "This is the directory of a relay that is not running, or not as a member of a committee (p2pnode relay --member --task FILE), " +
	"so it cannot tell who is there. If it is one that runs, its directory's path is too long for a socket: its log says so."

// stuck reports whether a sum cannot go on as things are.
func stuck(s *api.Sums, k *api.Sum) bool {
	return s.Waits(k) || len(k.Missing) > 0 || k.Duty != nil && (k.Duty.Silent || k.Duty.Failure != "")
}

// committeeStatusText returns what writes the state of a committee, with commands that name
// the directory by this flag.
func committeeStatusText(dir string) func(api.Sums) string {
	return func(s api.Sums) string { return paragraph("", whoTells(s, dir)) + dutiesText(s) }
}

// member reports whether this node is in a committee.
func member(c api.Committee) bool {
	return slices.ContainsFunc(c.Members, func(m api.Member) bool { return m.Self })
}

func whoTells(s api.Sums, dir string) string {
	c := s.Committee
	text := fmt.Sprintf("A committee of %d, of whom %d may work together against the others.", len(c.Members), c.Colluding)
	if member(c) {
		text += " This node is a member."
	} else {
		text += " This node is no member."
	}
	switch {
	case len(s.Paused) > 0:
		return text + " It cannot tell who is there: it is " + pauseText(s.Paused) + dir
	case !s.Running:
		text += " It is not running, so it cannot tell who is there."
	}
	return text
}

func dutiesText(s api.Sums) string {
	text := membersText(s.Committee, nil)
	for _, k := range s.List {
		if k.State != api.SumHere {
			line := dutyLine(k)
			if s.Waits(&k) {
				line += "; it waits for its committee"
			}
			text += paragraph("", line+".")
			for _, m := range k.Lacking() {
				text += "  missing: " + m + "\n"
			}
			if stake := k.Stake(s.Committee.Lacks(len(k.Missing))); stake != "" {
				text += paragraph("  ", "It "+stake+".")
			}
		}
	}
	return text + fmt.Sprintf("%d of %d sums are over.\n", s.Known, s.All)
}

// dutyLine says how far a sum has come, and what this node holds as a member.
func dutyLine(k api.Sum) string {
	text := fmt.Sprintf("sum %s (%s, epoch %s) %s", shortSum(k.ID), k.Recipe, epochText(k), stateOfSum(k))
	switch d := k.Duty; {
	case d == nil:
	case d.Silent:
		text += ", SILENT: its keys were lost"
	case d.Failure != "":
		text += ", this member TAKES NO PART until it can: " + d.Failure
	case k.State != api.SumHere:
		text += fmt.Sprintf(", %d %s here", d.Held, plural(d.Held, "contribution", "contributions"))
	}
	if len(k.Missing) > 0 {
		text += fmt.Sprintf(", %d %s missing", len(k.Missing), plural(len(k.Missing), "member", "members"))
	}
	return text
}

func committeeKeysCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "What a member keeps to itself: its identity, and for which sums it has keys",
		Long: `What a member of the committee keeps to itself: the peer ID that a task names it
by, and for which sums it has keys. It prints no key. A member makes keys for each
sum and erases them when the sum is over. If it is not added up, it erases them an
hour after it closed, or as long after that as it took contributions if that is
longer. Works beside a running daemon, which knows too for which sums the keys were
lost, and on the directory of a relay.

Keys of more members than may work together read what devices add to a sum. They
are in the directory "committee" and in no backup: never copy that directory, and
never put it back from a snapshot. A member without its keys is silent for that
sum, which is safe; one that signs twice is not.`,
		Example: `  p2pnode committee keys
  p2pnode committee keys --dir /var/lib/p2pnode --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := node.MemberKeys(o.dir)
			if err != nil {
				return err
			}
			if keys.Member && local.Running(cmd.Context(), o.dir) {
				if known, err := askOwner(cmd, o, api.Owner.Sums); err == nil { // the keys can be told without
					noteSilent(keys.Sums, known.List)
				}
			}
			return show(cmd, o, keys, memberKeysText)
		},
	}
}

// noteSilent notes for which sums the keys are of no use, as the running node knows.
func noteSilent(keys []api.KeysForSum, list []api.Sum) {
	for i := range keys {
		keys[i].Silent = slices.ContainsFunc(list, func(s api.Sum) bool {
			return strings.HasPrefix(s.ID, keys[i].ID) && s.Duty != nil && s.Duty.Silent
		})
	}
}

func memberKeysText(k api.MemberKeys) string {
	text := k.Peer + "\n"
	if len(k.Sums) == 0 {
		return text + paragraph("", "It has no keys for private sums: a member makes them when all others are there.")
	}
	rows := [][]any{{"SUM", "RECIPE", "EPOCH", "KEYS", "UPLOADS KEPT"}}
	for _, s := range k.Sums {
		recipe, epoch, keys := "-", "-", "not made yet"
		if s.Recipe != "" {
			recipe, epoch = s.Recipe, fmt.Sprintf("%d, round %d", s.Epoch, s.Round)
		}
		switch {
		case s.Erased:
			keys = "erased, as the sum is over"
		case s.Silent:
			keys = "SILENT: its keys were lost, and these are new"
		case s.Made > 0:
			keys = "made " + clock(s.Made)
		}
		rows = append(rows, []any{shortSum(s.ID), recipe, epoch, keys, s.Contributions})
	}
	return text + table(rows...)
}
