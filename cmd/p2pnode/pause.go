package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
)

// paused is the state after a pause or a resume.
type paused struct {
	Paused   []api.Pause `json:"paused"`
	SumsWait bool        `json:"sums_wait"` // for the node while it is paused
}

func pauseCommand(o *options) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "pause",
		Short: "Take no part in the network until resumed, also after a restart",
		Long: `Take no part in the network until it is resumed, also after a restart: nothing
is sent and nothing released. A running daemon goes on serving you, so that data
import, predict and status work as before. Programs that pause for reasons of
their own name them, and each takes back its own: the node takes part when no
reason is left.`,
		Example: `  p2pnode pause
  p2pnode pause --reason "metered network"`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return changePauses(cmd, o, api.Owner.Pause, reason)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, in a few words")
	return c
}

func resumeCommand(o *options) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "resume",
		Short: "Take part in the network again",
		Long: `Take part in the network again: a running daemon does at once. With a reason,
only that one is taken back, and others go on to pause the node.`,
		Example: `  p2pnode resume
  p2pnode resume --reason "metered network"`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return changePauses(cmd, o, api.Owner.Resume, reason)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the one reason to take back")
	return c
}

// changePauses adds a reason or takes one back, and shows those that there are then.
func changePauses(cmd *cobra.Command, o *options, change func(api.Owner, context.Context, string) error, reason string) error {
	return ask(cmd, o, func(owner api.Owner, ctx context.Context) (paused, error) {
		if err := change(owner, ctx, reason); err != nil {
			return paused{}, err
		}
		s, err := owner.Progress(ctx)
		return paused{s.Paused, len(s.Paused) > 0 && s.Sums.Await()}, err
	}, pausedText(dirFlag(o.dir)))
}

// pausedText returns what says whether a node is paused, with commands that name the directory
// by this flag.
func pausedText(dir string) func(paused) string {
	return func(p paused) string {
		if len(p.Paused) == 0 {
			return "Not paused: the node takes part in the network while its daemon runs.\n"
		}
		text := "The node is " + pauseText(p.Paused) + dir + "\n"
		if p.SumsWait {
			text += paragraph("", memberAway+": resume it soon, and tell the others until when it is paused.")
		}
		return text
	}
}

// pauseText says since when and why a node is paused, and what ends that. It ends in a command.
func pauseText(reasons []api.Pause) string {
	var why []string
	for _, r := range reasons {
		text := "since " + r.Since.Local().Format(time.DateTime)
		if r.Reason != "" {
			text += fmt.Sprintf(" (%s)", printable(r.Reason))
		} else if len(reasons) > 1 {
			text += " (without a reason)"
		}
		why = append(why, text)
	}
	return "paused " + strings.Join(why, " and ") + "; it takes part again after: p2pnode resume"
}
