package main

import (
	"context"
	"fmt"
	"strings"

	"p2pnode/node/api"

	"github.com/spf13/cobra"
)

func predictCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "predict COLUMN=VALUE...",
		Short: "Ask the personal model",
		Long: `Ask the personal model for the target of one row; name every other column of
the task. The answer is in the target's units; the probability of 1 for a
yes-or-no target, or 1 or -1 if the task's loss is the hinge; the likeliest class
and its probability for a target of classes.`,
		Example: `  p2pnode predict 'genres=Comedy|Romance' year=1994
  p2pnode predict --json genres=Film-Noir year=1944`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			row := make(map[string]string, len(args))
			for _, a := range args {
				name, value, ok := strings.Cut(a, "=")
				if _, twice := row[name]; !ok || twice {
					return usageError{fmt.Errorf("write %q as COLUMN=VALUE, and name each column once", a), cmd}
				}
				row[name] = value
			}
			request := func(owner api.Owner, ctx context.Context) (api.Prediction, error) { return owner.Predict(ctx, row) }
			return ask(cmd, o, request, predictionText)
		},
	}
}

func predictionText(p api.Prediction) string {
	text := fmt.Sprintf("%.3f (alone: %.3f)\n", p.Value, p.Alone)
	if p.Class != "" {
		text = fmt.Sprintf("%s, probability %.3f (alone: %s, %.3f)\n", p.Class, p.Value, p.AloneClass, p.Alone)
	}
	for _, line := range notedLines(p.Cells) {
		text += paragraph("", line+".")
	}
	return text
}
