package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/local"
)

// completeFlag completes the values of a flag, or names of files with this suffix; "":
// neither.
func completeFlag(c *cobra.Command, flag, suffix string, values ...string) {
	complete := func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		found := beginning(values, typed)
		if suffix != "" && len(found) == 0 {
			return []cobra.Completion{suffix}, cobra.ShellCompDirectiveFilterFileExt
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic("p2pnode: " + err.Error()) // the command has no such flag
	}
}

// completeArguments completes each argument of a command by one of the values for its
// position.
func completeArguments(c *cobra.Command, values ...[]string) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(args) < len(values) {
			found = beginning(values[len(args)], typed)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeKnown completes the only argument of a command by what the node knows.
// Without a node it completes nothing.
func completeKnown(o *options, known func(context.Context, api.Owner) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		owner, err := local.Connect(cmd.Context(), o.dir, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := known(cmd.Context(), owner)
		if errors.Join(err, owner.Close()) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// beginning returns the values that begin with typed.
func beginning(values []string, typed string) []cobra.Completion {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, typed) })
}

// completeKeys completes the keys of the configuration, each followed by after.
func completeKeys(after string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		for _, k := range datadir.Keys() {
			if strings.HasPrefix(k.Name, typed) {
				about, _, _ := strings.Cut(k.About, "\n")
				found = append(found, cobra.CompletionWithDesc(k.Name+after, about))
			}
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if after != "" {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	}
}
