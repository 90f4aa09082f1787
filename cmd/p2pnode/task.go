package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

func taskCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "task",
		Short: "Write a task for a file, check one, and say what it means",
		Long: `Write a task for a file, check one, and say what it means, before anybody takes
part. A task is one TOML file that all nodes of a network share. It needs a name, the
features and the target; every other key that is left out has a value that follows
from these.`,
	}
	c.AddCommand(taskNewCommand(o), taskCheckCommand(o), taskExplainCommand(o))
	return c
}

// expectedFlags describe the expected network.
type expectedFlags struct {
	nodes   int
	records float64
}

func (f *expectedFlags) register(c *cobra.Command) {
	c.Flags().IntVar(&f.nodes, "nodes", 0, "how many nodes are expected to learn together (default unknown; 100 are assumed)")
	c.Flags().Float64Var(&f.records, "records", 0, "how many records each of them is expected to have (default unknown; 100 are assumed)")
}

// String is the flags as they are written behind a command.
func (f expectedFlags) String() (text string) {
	if f.nodes > 0 {
		text += fmt.Sprintf(" --nodes %d", f.nodes)
	}
	if f.records > 0 {
		text += fmt.Sprintf(" --records %g", f.records)
	}
	return text
}

// check refuses impossible numbers.
func (f *expectedFlags) check(c *cobra.Command) error {
	switch {
	case c.Flags().Changed("nodes") && f.nodes < 1:
		return usageError{fmt.Errorf("--nodes %d: must be at least 1", f.nodes), c}
	case c.Flags().Changed("records") && !(f.records >= 1 && f.records <= 1e12):
		return usageError{fmt.Errorf("--records %v: must be between 1 and 1e12", f.records), c}
	}
	return nil
}

func taskCheckCommand(o *options) *cobra.Command {
	var expected expectedFlags
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Say all that is wrong or doubtful in a task file",
		Long: `Say all that is wrong or doubtful in a task file, at once, by lines: keys that do not
exist, values of the wrong type or out of range, keys that contradict each other; and
what may be said but probably should not, such as a range so wide that all data lies
in its middle, or a budget whose noise drowns what the nodes have to say.

The exit code is 1 if anything is wrong, and 0 for doubts.`,
		Example: `  p2pnode task check mytask.toml
  p2pnode task check mytask.toml --nodes 50 --records 200 --json`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := expected.check(cmd); err != nil {
				return err
			}
			text, err := datadir.TaskText(args[0])
			if err != nil {
				return err
			}
			t, wrong, doubtful := datadir.CheckTask(text, expected.nodes, expected.records)
			found := checkedTask{File: args[0], Errors: append([]datadir.Finding{}, wrong...), Doubts: append([]datadir.Finding{}, doubtful...)}
			found.Unsaid = expected.nodes == 0 || expected.records == 0
			if t != nil {
				found.Task, found.Network = t.Name, datadir.NetworkName(t)
			}
			err = show(cmd, o, found, checkedTask.String)
			if len(wrong) > 0 {
				err = errors.Join(err, exitCode(1))
			}
			return err
		},
	}
	expected.register(c)
	return c
}

// checkedTask is the result of task check.
type checkedTask struct {
	File    string            `json:"file"`
	Task    string            `json:"task"`    // "" if anything is wrong
	Network string            `json:"network"` // as Task
	Errors  []datadir.Finding `json:"errors"`
	Doubts  []datadir.Finding `json:"doubts"`
	Unsaid  bool              `json:"-"` // how many nodes or records are expected
}

// String implements [fmt.Stringer].
func (c checkedTask) String() string {
	text := findingList(c.File, c.Errors, c.Doubts)
	switch {
	case len(c.Errors) > 0:
		return text + "Nobody can take part in this task until the errors are mended.\n"
	case len(c.Doubts) > 0:
		text += fmt.Sprintf("The task %q can be used as it is.\n", c.Task)
	default:
		text = fmt.Sprintf("The task %q is sound.\n", c.Task)
	}
	if c.Unsaid {
		text += "Where nobody says how many there are, 100 nodes and 100 records of each are assumed: --nodes and --records say yours.\n"
	}
	return text
}

// findingList lists what is wrong or doubtful in something.
func findingList(where string, wrong, doubtful []datadir.Finding) string {
	var t strings.Builder
	for _, part := range []struct {
		list      []datadir.Finding
		one, many string
	}{{wrong, "error", "errors"}, {doubtful, "doubt", "doubts"}} {
		if n := len(part.list); n > 0 {
			fmt.Fprintf(&t, "%s: %d %s\n", where, n, plural(n, part.one, part.many))
		}
		for _, f := range part.list {
			t.WriteString(paragraph("  - ", findingText(f)))
		}
	}
	return t.String()
}

// findingText is a finding in a line.
func findingText(f datadir.Finding) string {
	where := ""
	switch {
	case f.From != "":
		where = f.From + ": "
	case f.Line > 0 && f.Key != "":
		where = fmt.Sprintf("line %d, %s: ", f.Line, f.Key)
	case f.Line > 0:
		where = fmt.Sprintf("line %d: ", f.Line)
	case f.Key != "":
		where = f.Key + ": "
	}
	return where + api.Plain(f.Text)
}
