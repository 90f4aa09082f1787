package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/internal/flags"
	"p2pnode/node/datadir"
)

// options are the flags every command has.
type options struct {
	dir        string
	json       bool
	settings   []datadir.Setting // from the environment and from --set
	misspelled []datadir.Finding // variables that were perhaps meant as settings
}

func newCommand(o *options) *cobra.Command {
	root := &cobra.Command{
		Use:   "p2pnode",
		Short: "Learn a personal model together with others",
		Long: `Learn a personal model together with others, without a server and without
showing them your data. What leaves this device is protected by differential
privacy, and paid for from a budget you set.`,
		Example: `  p2pnode init --task movies
  p2pnode data import ratings.csv
  p2pnode run
  p2pnode status`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	if b, err := thisBuild(); err == nil {
		root.Version = strings.TrimSuffix(strings.TrimPrefix(b.String(), "p2pnode "), "\n")
	}
	root.PersistentFlags().StringVar(&o.dir, "dir", defaultDir(), "data directory")
	root.PersistentFlags().BoolVar(&o.json, "json", false, "print JSON, for programs")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{flags.Wrong(c.Flags(), err), c} })
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if err := flags.Empty(c.Flags(), "api"); err != nil { // no address takes back that of config.toml
			return usageError{err, c}
		}
		o.settings, o.misspelled = datadir.Environment(os.Environ())
		return nil
	}
	root.AddCommand(initCommand(o), taskCommand(o), joinNetworkCommand(o), inviteCommand(o), identityCommand(o), runCommand(o), dashboardCommand(o), tokenCommand(o), dataCommand(o), predictCommand(o), modelCommand(o),
		statusCommand(o), budgetCommand(o), sumsCommand(o), committeeCommand(o), backupCommand(o), restoreCommand(o), compactCommand(o), peersCommand(o), peerCommand(o),
		membersCommand(o), networkKeyCommand(o), relayCommand(o), doctorCommand(o), bugreportCommand(o), configCommand(o), logsCommand(o), pauseCommand(o), resumeCommand(o), leaveCommand(o), eraseCommand(o), versionCommand(o))
	root.InitDefaultCompletionCmd()
	strict(root)
	return root
}

// strict makes c and the commands below it refuse wrong arguments with a usage error.
// Each command states its Args. A group without a command prints its help, and refuses
// a command that it does not have.
func strict(c *cobra.Command) {
	check := c.Args
	if !c.Runnable() {
		check = noSuchCommand
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		c.DisableFlagsInUseLine = true
	}
	c.SuggestionsMinimumDistance = 2
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError{err, c}
		}
		return nil
	}
	for _, child := range c.Commands() {
		strict(child)
	}
}

// noSuchCommand refuses the arguments of a group, because they name commands that it
// does not have.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("%s has no command %q", c.CommandPath(), args[0])
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

func noArguments(c *cobra.Command, args []string) error {
	switch {
	case len(args) > 0 && c.HasSubCommands():
		return noSuchCommand(c, args)
	case len(args) > 0:
		return fmt.Errorf("%s takes no arguments, not %q", c.CommandPath(), args[0])
	}
	return nil
}

// anyNumber means that there is no bound on the number of arguments.
const anyNumber = math.MaxInt

// takes checks the number of arguments. The error shows c.Use.
func takes(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		wanted := strings.TrimPrefix(c.Use, c.Name()+" ")
		switch {
		case len(args) < least:
			return fmt.Errorf("%s wants %s, and something is missing", c.CommandPath(), wanted)
		case len(args) > most:
			return fmt.Errorf("%s wants %s, and %q is too much", c.CommandPath(), wanted, args[most])
		}
		return nil
	}
}

// defaultDir is the data directory unless --dir names one.
func defaultDir() string {
	if dir := os.Getenv(datadir.DirVariable); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ".p2pnode"
	}
	return filepath.Join(home, ".p2pnode")
}
