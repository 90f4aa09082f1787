package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/internal/flags"
	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/attack"
	"p2pnode/testnet/page"
)

const about = `Testnet lets many people learn together on this machine and shows what it
bought them. Each person is a p2pnode of her own, with her key, her database
and her libp2p host. The table sets ways to learn side by side, each with the
whole privacy budget to itself, and measured on every person's own test records:
alone with a tuned model; together by a private sum, which a committee of four
nodes adds up without seeing what anybody adds; the same sum without noise; and
together by broadcasting private models to neighbours.

Without flags, people are drawn from MovieLens ml-latest-small, which is built
in (610 people; each learns to predict her own ratings; every fifth rating is
kept for the test). The data set is GroupLens's, comes under its own terms, and
must be cited; 'testnet terms' prints both.

--task linear is the synthetic problem of Bellet et al. 2018. Each person's
direction is public there, as the paper assumes the similarities known.

--task clusters makes people in --groups hidden groups, whose models are opposite
(2) or spread (up to 10). Nobody declares anything there: nodes find their like by
what they release. 'testnet graph' measures how well.

--data reads people's own records instead: a CSV with a header, a column "node",
or another that --node-column names, that says whose record a line is, and the
columns of the task; or u.data of MovieLens-100K with u.item beside it.

--sim runs the same agents under virtual time: faster, any number of them, and
the same seed gives the same numbers. About a thousand real nodes fit in a process;
they draw their noise and their timing from the operating system, so there the
seed fixes only the people and their test records.

--processes makes every node a p2pnode process, and --netns so many of those
phones: each in a network namespace of its own, which takes root, behind a link
that loses packets, delays them, and is mostly cut.

--api makes the table of nodes that run elsewhere, on any machines, until all have
used their budgets or Ctrl-C. An address ends with the peer ID that the node must
prove. They offer their interface with api_public, and say experiment = true, which
is for public or made-up data: without it, errors do not leave a node.`

const examples = `  testnet                                  # 300 people, real nodes
  testnet --nodes all                      # all 610
  testnet --nodes 100                      # few people gain little
  testnet --epsilon 0.5                    # half the budget
  testnet --task linear
  testnet --task clusters --groups 10
  testnet --nodes all --sim --seeds 3      # three splits pooled
  testnet --nodes 1000 --sim --task linear
  testnet --data ml-100k/u.data --nodes 200
  testnet --data people.csv --task task.toml
  testnet rehearse --data people.csv --task task.toml   # the very daemons, in a minute
  testnet --processes 50                   # each node a p2pnode process
  testnet --processes 50 --netns 20        # 20 of them phones: bad links, mostly offline
  testnet --api https://192.0.2.7:8467/#PEERID https://192.0.2.8:8467/#PEERID --token-file tokens
  testnet --json >result.json
  testnet --shadow simulated --nodes 100   # shadow.yaml and records for the Shadow simulator
  testnet export --out people --nodes 10   # for 'p2pnode data import'`

// options are the flags of testnet and its subcommands.
type options struct {
	nodes          string
	groups         int
	epsilon, delta float64
	seed           uint64
	seeds          int
	data, task     string
	node           string // the column of data that names the owner of a line's record
	skipBad        bool   // leave lines out that cannot be read
	deal           bool   // deal lines out if no column names their owner
	out            string
	shadow         string // where to write a configuration of Shadow instead
	json, sim      bool
	daemons        daemonFlags
	remote         remoteFlags
}

func newCommand(dir string) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:           "testnet",
		Short:         "Many people learn together on one machine: what does it buy them?",
		Long:          about,
		Example:       examples,
		Args:          o.remote.args,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, args []string) error { return o.run(cmd, dir, args) },
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{flags.Wrong(c.Flags(), err)} })
	cmd.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if err := flags.Empty(c.Flags()); err != nil {
			return usageError{err}
		}
		return nil
	}
	o.addDataFlags(cmd)
	f := cmd.Flags()
	f.Float64Var(&o.epsilon, "epsilon", 0, "privacy budget of every record (default: the task's)")
	f.Float64Var(&o.delta, "delta", 0, "room for exceptions to epsilon, see docs/privacy.md (default: the task's)")
	f.IntVar(&o.seeds, "seeds", 1, "pool the results of so many seeds, from --seed up")
	f.BoolVar(&o.sim, "sim", false, "run the agents under virtual time instead of real nodes")
	o.daemons.register(cmd)
	o.remote.register(cmd)
	f.StringVar(&o.out, "out", "testnet-results", "directory for the page, the raw numbers and the plots")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	f.StringVar(&o.shadow, "shadow", "", "run nothing, and write into this directory what the Shadow simulator runs: a host with a daemon for each person")
	cmd.AddCommand(newExport(), newTerms(), newPrivacy(), newAudit(), newPaper(experiments(), dir), newPeers(), newScale(), newGraph(), newIdle(dir), newRehearse(dir), newAttack(attack.Scenarios(), dir))
	return cmd
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown argument %q", args[0])}
	}
	return nil
}

// addDataFlags adds the flags that choose people and their records.
func (o *options) addDataFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.nodes, "nodes", "", "how many people, chosen at random, or \"all\" (default 300, of made-up ones 100)")
	f.Uint64Var(&o.seed, "seed", 1, "fixes the people, their test records, and simulations")
	f.StringVar(&o.data, "data", "", "a CSV with a column that says whose record a line is, or MovieLens-100K's u.data (default: built in)")
	f.StringVar(&o.task, "task", "movies", "movies, linear, clusters, or a task file (.toml)")
	f.StringVar(&o.node, "node-column", "", fmt.Sprintf("the column of --data that says whose record a line is (default %q)", testnet.NodeColumn))
	f.BoolVar(&o.skipBad, "skip-bad", false, "leave lines of --data out that cannot be read, and say which")
	f.IntVar(&o.groups, "groups", fewestGroups, "hidden groups of --task clusters, 2 to 10")
}

// run measures, reports and writes the files.
func (o *options) run(cmd *cobra.Command, dir string, args []string) error {
	if o.remote.asked() {
		return o.collect(cmd, args)
	}
	if o.shadow != "" {
		return o.writeShadow(cmd)
	}
	task, source, err := o.source(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	budget, err := o.budget(cmd, task)
	if err != nil {
		return err
	}
	if o.seeds < 1 {
		return usageError{fmt.Errorf("--seeds %d: must be at least 1", o.seeds)}
	}
	if err := makeOut(o.out); err != nil {
		return err
	}
	daemons, err := o.daemons.find(cmd, o, dir)
	if err != nil {
		return err
	}
	progress := startProgress(cmd.ErrOrStderr(), time.Now)
	r, err := testnet.Run(cmd.Context(), testnet.Config{
		Source: source, Budget: budget, Seed: o.seed, Seeds: o.seeds,
		Simulate: o.sim, Daemons: daemons, Dir: dir, Progress: progress.set,
		Measured: func(r *testnet.Result) { progress.say(r.Newest()) },
	})
	progress.stop()
	if err != nil {
		return err
	}
	return o.report(cmd, r)
}

// makeOut makes the directory of the results before anything is measured.
func makeOut(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--out %s: no directory can be made there: %w", dir, err)
	}
	return nil
}

// budget is what the flags say, or the task's default.
func (o *options) budget(cmd *cobra.Command, t *learner.Task) (privacy.Budget, error) {
	b := privacy.Budget{Epsilon: t.Release.Epsilon, Delta: t.Release.Delta}
	if cmd.Flags().Changed("epsilon") {
		b.Epsilon = o.epsilon
	}
	if cmd.Flags().Changed("delta") {
		b.Delta = o.delta
	}
	switch r := t.Release; {
	case !(b.Epsilon > 0) || b.Epsilon > r.MaxEpsilon || math.IsInf(b.Epsilon, 0):
		return b, usageError{fmt.Errorf("--epsilon %g: must be above 0 and, for this task, at most %g", b.Epsilon, r.MaxEpsilon)}
	case !(b.Delta > 0) || b.Delta > r.MaxDelta || b.Delta >= 1:
		return b, usageError{fmt.Errorf("--delta %g: must be above 0 and, for this task, at most %g", b.Delta, r.MaxDelta)}
	}
	return b, nil
}

func (o *options) report(cmd *cobra.Command, r *testnet.Result) error {
	made := []page.Fact{{Name: "Command", Value: "testnet" + flagsText(cmd.Flags()), Code: true}, {Name: "Version", Value: version()}}
	if credit := strings.TrimPrefix(strings.TrimSpace(o.credit()), "Data: "); credit != "" {
		made = append(made, page.Fact{Name: "Data", Value: credit})
	}
	where := fmt.Sprintf("Page: %s/%s; raw numbers and plots: %s, %s, %s.\n", o.out, testnet.PageFile, testnet.RawFile, testnet.CurveFile, testnet.GainFile)
	notes := io.Writer(cmd.OutOrStdout())
	if o.json {
		notes = cmd.ErrOrStderr()
		if err := r.WriteJSON(cmd.OutOrStdout()); err != nil {
			return err
		}
	} else if err := r.WriteTable(cmd.OutOrStdout()); err != nil {
		return err
	}
	// After the table: what was measured is not lost where there is no room for files.
	if err := r.WriteFiles(o.out, made...); err != nil {
		return err
	}
	if _, err := io.WriteString(notes, o.credit()+where); err != nil {
		return err
	}
	if !r.Complete {
		return errInterrupted
	}
	return nil
}

// The size of a network when --nodes does not say: what learns within 100 seconds on two
// cores. Fewer people learn little from a sum of votes on ten thousand movies; the made-up
// ones have more neighbours each.
const (
	defaultNodes = 300
	defaultMade  = 100
)

// size reads --nodes: 0 for all.
func (o *options) size() (int, error) {
	switch {
	case o.daemons.processes > 0 && o.nodes != "":
		return 0, usageError{errors.New("--nodes: --processes says how many people there are")}
	case o.daemons.processes > 0:
		return o.daemons.processes, nil
	case o.nodes == "all":
		return 0, nil
	case o.nodes == "" && o.madeUp():
		return defaultMade, nil
	case o.nodes == "":
		return defaultNodes, nil
	}
	n, err := strconv.Atoi(o.nodes)
	if err != nil || n < 2 {
		return 0, usageError{fmt.Errorf("--nodes %s: must be a number from 2 up, or \"all\"", o.nodes)}
	}
	return n, nil
}

// loadTask finds the task by its name, or reads its file.
func (o *options) loadTask() (*learner.Task, error) {
	t, err := datadir.LoadTask(o.task)
	if err != nil {
		return nil, usageError{fmt.Errorf("--task %s: %w", o.task, err)}
	}
	return t, nil
}

func newExport() *cobra.Command {
	o := &options{deal: true}
	cmd := &cobra.Command{
		Use:   "export --out DIR",
		Short: "Write each person's records as a CSV that 'p2pnode data import' reads",
		Long: `Write each person's records as a CSV that 'p2pnode data import' reads.

In a file of --data the column "node", or the one that --node-column names, says
whose record a line is. Without such a column the lines are dealt out in turn
among as many people as --nodes says.`,
		Example: `  testnet export --out people --nodes 10
  testnet export --out people --nodes 3 --data tickets.csv --task tickets.toml --node-column agent
  p2pnode data import people/1.csv`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.export(cmd) },
	}
	o.addDataFlags(cmd)
	cmd.Flags().StringVar(&o.out, "out", "", "directory for the files 1.csv, 2.csv, ... (required)")
	return cmd
}

func (o *options) export(cmd *cobra.Command) error {
	if o.out == "" {
		return usageError{fmt.Errorf("--out: say where to write the files")}
	}
	_, source, err := o.source(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	d, err := source(o.seed)
	if err != nil {
		return err
	}
	if err := d.Export(o.out); err != nil {
		return err
	}
	if d.Dealt > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "No column says whose record a line is, so the lines were dealt out to %d people in turn.\n", d.Dealt)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d people of %s: %s/1.csv to %s/%d.csv.\n%s",
		len(d.People), d.Name, o.out, o.out, len(d.People), o.credit())
	return err
}
