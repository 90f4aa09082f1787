package main

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the binary knows of how it was made.
type build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
}

func versionCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  p2pnode version
  p2pnode version --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return errors.New("this binary carries no build information")
			}
			return show(cmd, o, build{info.Main.Version, info.GoVersion}, func(b build) string {
				return fmt.Sprintf("p2pnode %s (%s)\n", b.Version, b.Go)
			})
		},
	}
}
