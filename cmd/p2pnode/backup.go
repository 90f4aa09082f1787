package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"p2pnode/node"
)

func backupCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database into a new file",
		Long: `Copy the database into a new file that only you can read. It may run beside the
daemon; the copy is consistent.

The copy holds your RECORDS, readable for whoever gets hold of it, the ledger of
what was paid, the models and the neighbours. It does not hold the identity
(identity.key), config.toml and task.toml: keep copies of those too.

A copy that is put back retires every record in it, see "p2pnode restore --help".
So it keeps your records safe, not your privacy budget.`,
		Example: `  p2pnode backup p2pnode-backup.db
  p2pnode backup --json p2pnode-backup.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := askOwner(cmd, o, func(owner node.Owner, ctx context.Context) (struct{}, error) {
				// An interrupt must not leave a part that looks like a copy.
				ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
				defer stop()
				return struct{}{}, createFile(args[0], func(w io.Writer) error { return owner.Backup(ctx, w) })
			})
			if err != nil {
				return err
			}
			return show(cmd, o, copied{args[0], "records, ledger, models, neighbours"}, copied.String)
		},
	}
}

// copied says what backup wrote.
type copied struct {
	File  string `json:"file"`
	Holds string `json:"holds"`
}

// String implements [fmt.Stringer].
func (c copied) String() string {
	return fmt.Sprintf("Copied the database to %s. It holds your RECORDS in clear: keep it private.\n", c.File) +
		"Keep identity.key, config.toml and task.toml too; they are not in it.\n"
}

// createFile writes a new file that only its owner can read. What went wrong on
// the way leaves no file.
func createFile(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already; choose another name, or remove it first", name)
	}
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

func restoreCommand(o *options) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "restore [FILE]",
		Short: "Put a copy of the database back, and retire the records in it",
		Long: `Put a copy that "p2pnode backup" made back in place of the database. Without a
file, accept the database that is there, after an error said that it was rolled
back or that its anchor is missing. Stop the node first.

` + restoreMeans + `

What was in the directory is kept beside it.`,
		Example: `  p2pnode restore --yes
  p2pnode restore --yes --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from := ""
			if len(args) == 1 {
				from = args[0]
			}
			if !yes {
				if err := confirm(cmd, restoreMeans); err != nil {
					return err
				}
			}
			kept, err := node.Restore(o.dir, from)
			if err != nil {
				return err
			}
			return show(cmd, o, restored{o.dir, kept}, restored.String)
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// restoreMeans is what somebody must know before.
const restoreMeans = `Nobody can tell what was sent after the copy was made, so every record in it
counts as spent: all of them are RETIRED from the shared training set FOR EVER.
They still serve your own predictions. New records begin a new cohort with a
budget of its own. Do not import again what was on this device before: it would
get a second budget, and be seen twice as well.`

// confirm asks on the terminal; without one --yes is needed.
func confirm(cmd *cobra.Command, means string) error {
	if !isTerminal(cmd.InOrStdin()) {
		return usageError{errors.New("nobody is there to be asked; say --yes if you mean it"), cmd}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s\nRestore? Write yes: ", means)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was changed; write yes, or say --yes")
	}
	return nil
}

// restored says what restore did.
type restored struct {
	Dir  string `json:"dir"`
	Kept string `json:"replaced_kept_as"`
}

// String implements [fmt.Stringer].
func (r restored) String() string {
	text := fmt.Sprintf("Restored %s. Its records are retired from the shared training set for ever;\n", r.Dir) +
		"they still serve your predictions, and new records begin a new cohort.\n"
	if r.Kept != "" {
		text += fmt.Sprintf("What was there before is kept as %s.\n", r.Kept)
	}
	return text
}
