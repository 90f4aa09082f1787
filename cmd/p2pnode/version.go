package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	running "p2pnode/internal/program"
)

// stampedDate is the time of the commit. deploy/build sets it with the linker; it is
// empty in other builds.
var stampedDate string

// build is what the binary knows of how it was made.
type build struct {
	Version  string `json:"version"`
	Date     string `json:"date,omitempty"` // of its commit; empty if it is not known
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild describes the running binary.
func thisBuild() (build, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{}, errors.New("this binary carries no build information")
	}
	b := build{Version: running.Version(), Date: stampedDate, Go: info.GoVersion, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	return b, nil
}

// String is one line.
func (b build) String() string {
	made := []string{b.Date, b.Go, b.Platform}
	if b.Date == "" {
		made = made[1:]
	}
	return fmt.Sprintf("p2pnode %s (%s)\n", b.Version, strings.Join(made, ", "))
}

func versionCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  p2pnode version
  p2pnode version --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := thisBuild()
			if err != nil {
				return err
			}
			return show(cmd, o, b, build.String)
		},
	}
}
