package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"p2pnode/node/api"

	"github.com/spf13/cobra"
)

func backupCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database into a new file; - is standard output",
		Long: `Copy the database into a new file that only you can read, or to standard output.
It may run beside the daemon; the copy is consistent.

The copy holds your RECORDS, readable for anybody who gets it, the ledger of
what was paid, the models and the neighbours. It does not hold the identity
(identity.key), config.toml and task.toml, nor the files of a private network
(swarm.key, private.toml, members.toml), nor catalogue.csv, nor tokens.json, who
may ask over a network: keep copies of those too. Results of private sums
(directory "sums") are public, and fetched again.
What a member of a committee keeps in "committee" is in no copy, and must be in
none: a member without it is silent for a sum, one that is put back could open it
twice.

A copy that is put back retires every record in it, see "p2pnode restore --help".
So it keeps your records safe, not your privacy budget. Where the task's learner
goes in rounds, as diffusion does, a restored node will not run again: it only
predicts.`,
		Example: `  p2pnode backup p2pnode-backup.db
  p2pnode backup --json p2pnode-backup.db`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := askOwner(cmd, o, func(owner api.Owner, ctx context.Context) (struct{}, error) {
				// An interrupt must not leave a part that looks like a copy.
				ctx, stop := untilInterrupted(ctx)
				defer stop()
				name := args[0]
				if name == "-" {
					name = ""
				}
				err := writeOut(name, cmd.OutOrStdout(), func(w io.Writer) error { return owner.Backup(ctx, w) })
				if err != nil && ctx.Err() != nil {
					err = errors.New("interrupted; the copy is not whole, so make another one")
				}
				return struct{}{}, err
			})
			if err != nil || args[0] == "-" {
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
		"Keep identity.key, config.toml and task.toml too; they are not in it, nor are\n" +
		"catalogue.csv, tokens.json (who may ask over a network), and the files of a\n" +
		"private network: swarm.key, private.toml and members.toml.\n"
}

// writeOut writes a new file that only its owner can read, or to stdout if it has no name.
func writeOut(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "" {
		return write(stdout)
	}
	return createFile(name, write)
}

// createFile writes a new file that only its owner can read. After an error there is no
// file.
func createFile(name string, write func(io.Writer) error) error {
	err := writeNew(name, 0o600, write)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s already exists; choose another name, or remove it first", name)
	}
	return err
}

// writeNew writes a file that does not exist yet, with these permissions. After an
// error there is no file; [os.ErrExist] means that there was one before.
func writeNew(name string, mode os.FileMode, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(name)) // half a file is worse than none
	}
	return nil
}
