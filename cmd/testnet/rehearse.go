package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/testnet"
)

const rehearseAbout = `Rehearse lets people of a file do what a task says, each with a p2pnode process of
her own on this machine, before anybody installs anything. It ends with a verdict:
worth it, not worth it, or cannot tell, measured on records that no model was
fitted to.

The task is the one that the nodes will have. If it has private sums, new
identities stand in for its committee. If its nodes broadcast, the private sum that
they could make instead is simulated beside them; where only that is worth it, or
surely worth more, the last lines say what to change in the task's file. The noise of
a sum is the same for a few people as for many, so that of all people of the file, of
500 at most, is simulated too. Everything takes seconds instead of hours, and the
report says what was changed.

The file has the columns of the task. Its column "node", or the one that
--node-column names, says whose record a line is; without such a column the lines
are dealt out in turn. Nothing of it leaves this machine.`

// workedOut is of how many people of a file what a private sum would give them is worked out.
const workedOut = 500

// rehearseOptions are the flags of rehearse.
type rehearseOptions struct {
	task, data, node, catalogue string
	nodes, records              int
	seed                        uint64
	program                     string // the p2pnode to run
	json, skipBad               bool
}

func newRehearse(dir string) *cobra.Command {
	o := &rehearseOptions{}
	cmd := &cobra.Command{
		Use:   "rehearse --task FILE.toml --data FILE.csv",
		Short: "Let daemons learn a task from a sample of a file, before anybody installs anything",
		Long:  rehearseAbout,
		Example: `  testnet rehearse --task task.toml --data people.csv
  testnet rehearse --task task.toml --data people.csv --nodes 50 --json
  testnet rehearse --task task.toml --data sensors.csv --node-column station`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd, dir) },
	}
	f := cmd.Flags()
	f.StringVar(&o.task, "task", "", "the task file (required)")
	f.StringVar(&o.data, "data", "", "a CSV with the columns of the task (required)")
	f.StringVar(&o.node, "node-column", "", fmt.Sprintf("the column that says whose record a line is (default %q, if there is one)", testnet.NodeColumn))
	f.StringVar(&o.catalogue, "catalogue", "", "the public file that lists the keys, for a task that names its hash")
	f.IntVar(&o.nodes, "nodes", 20, "so many people at most, chosen at random; or among whom lines are dealt out")
	f.IntVar(&o.records, "records", 1000, "so many records of each at most, chosen at random")
	f.Uint64Var(&o.seed, "seed", 1, "fixes the people and the records")
	f.BoolVar(&o.skipBad, "skip-bad", false, "leave lines out that cannot be read, and say how many")
	f.StringVar(&o.program, "p2pnode", "", "the p2pnode to run (default: the one beside testnet, or built from the source)")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	return cmd
}

func (o *rehearseOptions) run(cmd *cobra.Command, dir string) error {
	task, err := o.check()
	if err != nil {
		return usageError{err}
	}
	progress := startProgress(cmd.ErrOrStderr(), time.Now)
	r, err := o.rehearse(cmd, dir, task, progress)
	progress.stop()
	if err != nil {
		return err
	}
	write := r.WriteRehearsal
	if o.json {
		write = r.WriteJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	if !r.Complete {
		return errInterrupted
	}
	return nil
}

// check checks the flags, and reads the task.
func (o *rehearseOptions) check() (*learner.Task, error) {
	switch {
	case o.task == "" || o.data == "":
		return nil, errors.New("name the task with --task and the file with --data")
	case o.nodes < 2:
		return nil, fmt.Errorf("--nodes %d: must be a number from 2 up", o.nodes)
	case o.records < learner.Fold:
		return nil, fmt.Errorf("--records %d: must be a number from %d up, as one of so many is kept to measure models on", o.records, learner.Fold)
	}
	t, err := datadir.LoadTask(o.task)
	if err != nil {
		return nil, fmt.Errorf("--task %s: %w", o.task, err)
	}
	if o.catalogue != "" && t.SumsCatalogue() == "" {
		return nil, errors.New("--catalogue: the task makes no private sum by the keys that a public file lists: leave it out")
	}
	return t, testnet.Rehearsable(t)
}

func (o *rehearseOptions) rehearse(cmd *cobra.Command, dir string, t *learner.Task, progress *progress) (*testnet.Result, error) {
	all, err := o.read(cmd, t)
	if err != nil {
		return nil, err
	}
	program, err := locate(cmd, o.program, dir)
	if err != nil {
		return nil, err
	}
	var text []byte
	if filepath.Ext(o.task) == ".toml" { // others are built in, and in no file
		if text, err = datadir.TaskText(o.task); err != nil {
			return nil, err
		}
	}
	draw := func(people int) func(seed uint64) (*testnet.Dataset, error) {
		return func(seed uint64) (*testnet.Dataset, error) {
			drawn, err := all.Draw(seed, min(people, len(all.People)))
			if err != nil {
				return nil, err
			}
			return drawn.Most(o.records), nil
		}
	}
	return testnet.Run(cmd.Context(), testnet.Config{
		Source: draw(o.nodes), All: draw(max(o.nodes, workedOut)),
		Budget: privacy.Budget{Epsilon: t.Release.Epsilon, Delta: t.Release.Delta}, Seed: o.seed,
		Methods: testnet.RehearsedMethods(t), Rehearse: true, Text: text, NoCurve: true, Daemons: &testnet.Daemons{Program: program}, Dir: dir,
		Progress: progress.set, Measured: func(r *testnet.Result) { progress.say(r.Newest()) },
	})
}

// read reads all people of the file.
func (o *rehearseOptions) read(cmd *cobra.Command, t *learner.Task) (*testnet.Dataset, error) {
	f, err := os.Open(o.data)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	defer f.Close()
	owners := testnet.Owners{Column: o.node}
	if o.node == "" {
		owners = testnet.Owners{Column: testnet.NodeColumn, Deal: o.nodes}
	}
	if o.skipBad {
		owners.Skipped = tellSkipped(cmd.ErrOrStderr())
	}
	d, err := testnet.ReadPeople(f, filepath.Base(o.data), t, owners)
	if err != nil || t.SumsCatalogue() == "" {
		return d, skippable(err)
	}
	if o.catalogue == "" {
		return nil, errors.New("--catalogue: the task sums up by the keys that a public file lists: name that file")
	}
	if d.CatalogueFile, err = os.ReadFile(o.catalogue); err != nil {
		return nil, fmt.Errorf("--catalogue: %w", err)
	}
	d.Catalogue, err = datadir.ReadCatalogue(t, d.CatalogueFile)
	return d, err
}
