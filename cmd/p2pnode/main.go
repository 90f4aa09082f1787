// Command p2pnode is the daemon that learns a personal model with its
// neighbours, and the tool its owner talks to it with.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal stops cleanly; after it the default is back, so that a
	// second one ends the process at once.
	context.AfterFunc(ctx, stop)
	err := command().ExecuteContext(ctx)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "p2pnode:", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintln(os.Stderr, "Run 'p2pnode --help' for usage.")
		os.Exit(2)
	}
	os.Exit(1)
}

// usageError is a mistake in the command line itself: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// options are the flags every command has.
type options struct {
	dir  string
	json bool
}

func command() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:   "p2pnode",
		Short: "Learn a personal model together with others, without a server and without showing them your data",
		Example: `  p2pnode init --task movies
  p2pnode data import ratings.csv
  p2pnode run
  p2pnode status`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&o.dir, "dir", defaultDir(), "data directory")
	root.PersistentFlags().BoolVar(&o.json, "json", false, "print JSON for machines")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(initCommand(o), runCommand(o), dataCommand(o), predictCommand(o),
		statusCommand(o), budgetCommand(o), peersCommand(o), versionCommand(o))
	for _, c := range root.Commands() {
		c.Args = usageArgs(c.Args)
	}
	return root
}

// usageArgs turns complaints about the number of arguments into usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

func defaultDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ".p2pnode"
	}
	return filepath.Join(home, ".p2pnode")
}
