package main

import (
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/node/datadir"
)

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
