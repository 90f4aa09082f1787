package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"p2pnode/node/datadir"
)

func taskCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "task",
		Short: "Look at a task before anybody takes part",
		Long: `Look at a task before anybody takes part. A task is one TOML file that all nodes of a
network share. It needs a name, the features and the target; every other key that is
left out has a value that follows from these.`,
	}
	c.AddCommand(taskNewCommand(o), taskCheckCommand(o))
	return c
}

func taskCheckCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say what is wrong with a task file",
		Long:  `Say what is wrong with a task file, all at once.`,
		Example: `  p2pnode task check mytask.toml
  p2pnode task check mytask.toml --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := datadir.LoadTask(args[0])
			if err != nil {
				return err
			}
			return show(cmd, o, checkedTask{t.Name, datadir.NetworkName(t)}, checkedTask.String)
		},
	}
}

// checkedTask says what check found.
type checkedTask struct {
	Task    string `json:"task"`
	Network string `json:"network"`
}

// String implements [fmt.Stringer].
func (c checkedTask) String() string { return fmt.Sprintf("The task %s is sound.\n", c.Task) }
