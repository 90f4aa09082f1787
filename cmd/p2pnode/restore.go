package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/node"
	"p2pnode/node/datadir"
)

func restoreCommand(o *options) *cobra.Command {
	r := restore{options: o}
	c := &cobra.Command{
		Use:   "restore [FILE]",
		Short: "Put a copy of the database back, and retire the records in it",
		Long: `Put a copy that "p2pnode backup" made back in place of the database. Without a
file, accept the database that is there, after an error said that it is an old
copy or that its anchor is missing. Stop the node first.

` + paragraph("", sinceCopy+" "+restoreMeans) + `
` + paragraph("", nobodyFollows) + `
What was in the directory is kept beside it, records included. A member of a
committee loses its keys for the private sums under way, and is silent in them.`,
		Example: `  p2pnode restore p2pnode-backup.db --yes
  p2pnode restore --yes --force
  p2pnode restore --yes --force --json`,
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				r.from = args[0]
			}
			return r.run(cmd)
		},
	}
	c.Flags().BoolVar(&r.yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&r.force, "force", false, "without FILE: also if nothing is wrong with the database")
	return c
}

// restore is one run of the command.
type restore struct {
	*options
	from       string // "": the database that is there
	yes, force bool
}

func (r *restore) run(cmd *cobra.Command) error {
	if r.from == "" && !r.force {
		needed, err := datadir.NeedsRestore(r.dir)
		if err != nil {
			return err
		}
		if !needed {
			return fmt.Errorf("nothing is wrong with the database of %s, and restore would retire its records for ever; "+
				"name the FILE to put back, or say --force to retire them all the same", r.dir)
		}
	}
	ctx, stop := untilInterrupted(cmd.Context()) // while the copy is made, too
	defer stop()
	cmd.SetContext(ctx)
	done := restored{Dir: r.dir}
	kept, err := datadir.Restore(r.dir, r.from, func(records int) (err error) {
		if done.Stranded, err = datadir.RestoreStrands(r.dir); err != nil {
			return err
		}
		if keys, err := node.MemberKeys(r.dir); err == nil { // what cannot be read is erased, too
			done.Member = keys.Member
		}
		switch done.Records = records; {
		case ctx.Err() != nil:
			return errUnchanged
		case r.yes:
			return nil
		}
		return r.confirm(cmd, done)
	})
	if err != nil {
		return err
	}
	done.Kept = kept
	return show(cmd, r.options, done, restored.String)
}

// The texts that an owner must read before a restore.
const (
	sinceCopy      = "Nobody can tell what was sent after the copy was made, so every record in it counts as spent."
	sinceElse      = "Nobody can tell what was sent without this database knowing, so every record in it counts as spent."
	restoreRetires = "All of them are RETIRED from the shared training set FOR EVER. They still serve your own predictions. "
	restoreMeans   = restoreRetires + "New records begin a new cohort with a budget of its own, or, under a plan, take part in what is left of it. " +
		"Do not import again what was on this device before: it would get a second budget, and others could learn twice as much about it."
	silentFor     = "So it is silent in the sums under way, and takes part in the next ones."
	unfollowed    = "nobody would follow a restored node: it WILL NOT RUN AGAIN, and only predicts. "
	strands       = "This task's learner goes in rounds, where " + unfollowed + strandedAdvice
	nobodyFollows = "Where the task's learner goes in rounds, as diffusion does, which \"task new\" takes for tasks without a committee, " +
		unfollowed + strandedAdvice
)

// confirm asks the user whether to go on, and shows what will be done.
func (r *restore) confirm(cmd *cobra.Command, do restored) error {
	records := do.Records
	what := fmt.Sprintf("This retires %d %s of %s.", records, plural(records, "record", "records"), r.dir)
	since, means := sinceElse, restoreMeans
	if r.from != "" {
		what = fmt.Sprintf("This puts %s in place of the database of %s and retires the %d %s in it.",
			r.from, r.dir, records, plural(records, "record", "records"))
		since = sinceCopy
	}
	if do.Stranded {
		means = restoreRetires + strands
	}
	if do.Member {
		what += " It is a member of the committee: this erases its keys for private sums, in the directory \"committee\". " + silentFor
	}
	return agreed(cmd, paragraph("", what)+paragraph("", since+" "+means), "Restore")
}

// errUnchanged is of a command that was interrupted before it did anything.
var errUnchanged = errors.New("interrupted; nothing has changed")

// agreed shows what is about to be done, and returns nil if the user writes yes. At the
// end of the input there is no user to ask.
func agreed(cmd *cobra.Command, about, do string, also ...string) error {
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	fmt.Fprintf(cmd.ErrOrStderr(), "%s\n%s? Write yes: ", printable(about), do)
	answer, err := readLine(ctx, cmd.InOrStdin())
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(cmd.ErrOrStderr())
		return errUnchanged
	case errors.Is(err, io.EOF) && answer == "":
		fmt.Fprintln(cmd.ErrOrStderr())
		return usageError{errors.New("this needs a yes, and there is no terminal to ask on; say --yes if you mean it"), cmd}
	case !slices.Contains(append(also, "yes"), strings.ToLower(strings.TrimSpace(answer))):
		return errors.New("not confirmed; write yes, or say --yes")
	}
	return nil
}

// readLine reads a line, or fails when the context ends, so that the caller can clean up.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// restored says what restore did.
type restored struct {
	Dir     string `json:"dir"`
	Records int    `json:"retired_records"`
	Kept    string `json:"replaced_kept_as"`
	// Stranded means that the node takes part no more: see [api.Status].
	Stranded bool `json:"stranded"`
	Member   bool `json:"member"` // of the committee: its keys for private sums are erased
}

// String implements [fmt.Stringer].
func (r restored) String() string {
	next := "new records begin a new cohort."
	if r.Stranded {
		next = "new ones do so, too.\n" + strings.TrimSuffix(paragraph("", "The node takes part no more: "+stranded+". "+strandedAdvice), "\n")
	}
	text := fmt.Sprintf("Restored %s. Its %d %s retired from the shared training set for ever;\n", r.Dir, r.Records, plural(r.Records, "record is", "records are")) +
		"they still serve your predictions, and " + next + "\n"
	if r.Member {
		text += paragraph("", "It is a member of the committee, and its keys for private sums are erased. "+silentFor)
	}
	if r.Kept != "" {
		text += fmt.Sprintf("What was there before is kept as %s.\n", r.Kept) +
			"It holds records too, in clear: remove it when you are sure that you do not need it.\n"
	}
	return text
}
