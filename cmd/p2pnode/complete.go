package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/node/datadir"
)

// completeFlag completes the values of a flag, or files that end in this: "" is none.
func completeFlag(c *cobra.Command, flag, suffix string, values ...string) {
	complete := func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		found := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, typed) })
		if suffix != "" && len(found) == 0 {
			return []cobra.Completion{suffix}, cobra.ShellCompDirectiveFilterFileExt
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic("p2pnode: " + err.Error()) // the command has no such flag
	}
}

// completeKeys completes the keys of the configuration, with what follows them.
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
