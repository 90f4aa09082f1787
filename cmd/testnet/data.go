package main

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// embedded is MovieLens ml-latest-small as GroupLens distributes it, but for
// the compression and the files that are not used.
//
//go:embed ml-latest-small
var embedded embed.FS

const (
	embeddedDir  = "ml-latest-small"
	embeddedName = "MovieLens ml-latest-small"
	hundredK     = "u.data" // of MovieLens-100K
	linearTask   = "linear"
	clustersTask = "clusters"
	fewestGroups = 2 // and the default
)

const movieLensCredit = `Data: MovieLens ml-latest-small, by GroupLens (https://grouplens.org/datasets/movielens/); for research, see
'testnet terms'. F. Maxwell Harper and Joseph A. Konstan. 2015. The MovieLens Datasets: History and Context.
ACM Transactions on Interactive Intelligent Systems 5, 4: 19:1-19:19. https://doi.org/10.1145/2827872
`

const linearCredit = `Data: made up after Bellet, Guerraoui, Taziki and Tommasi 2018, "Personalized and Private Peer-to-Peer Machine
Learning", section 5.1. Each person's direction is her public profile: the paper takes similarities as known.
`

const clustersCredit = `Data: made up: people in hidden groups with one model each, labels by chance as the logistic model says.
`

// credit says where the data is from.
func (o *options) credit() string {
	switch {
	case o.data != "" || o.remote.asked():
		return ""
	case o.task == linearTask:
		return linearCredit
	case o.task == clustersTask:
		return clustersCredit
	}
	return movieLensCredit
}

// madeUp reports whether the people are made up.
func (o *options) madeUp() bool {
	return o.data == "" && (o.task == linearTask || o.task == clustersTask)
}

// source finds the task, reads the data once and returns what makes a data set
// of it for each seed. errs is told which lines were left out.
func (o *options) source(errs io.Writer) (*learner.Task, func(seed uint64) (*testnet.Dataset, error), error) {
	n, err := o.size()
	if err != nil {
		return nil, nil, err
	}
	task, err := o.loadTask()
	if err != nil {
		return nil, nil, err
	}
	csv := o.data != "" && filepath.Base(o.data) != hundredK
	switch {
	case o.groups < fewestGroups || o.groups > learner.Clusters().Width():
		return nil, nil, usageError{fmt.Errorf("--groups %d: must be a number from %d to %d", o.groups, fewestGroups, learner.Clusters().Width())}
	case o.node != "" && !csv:
		return nil, nil, usageError{errors.New("--node-column: goes with --data and a CSV")}
	case o.skipBad && !csv:
		return nil, nil, usageError{errors.New("--skip-bad: goes with --data and a CSV")}
	case o.groups > fewestGroups && (o.data != "" || o.task != clustersTask):
		return nil, nil, usageError{errors.New("--groups: goes with --task clusters")}
	}
	if o.madeUp() {
		if n == 0 {
			return nil, nil, usageError{fmt.Errorf("--nodes all: the %s task is made up, so say how many people", o.task)}
		}
		if o.task == linearTask {
			return task, func(seed uint64) (*testnet.Dataset, error) { return testnet.Linear(seed, n) }, nil
		}
		return task, func(seed uint64) (*testnet.Dataset, error) { return testnet.Clusters(seed, n, o.groups, 0) }, nil
	}
	all, err := o.read(task, n, errs)
	if err != nil {
		return nil, nil, err
	}
	if o.nodes == "" && !o.sim { // the default number is at most what exists and fits
		n = min(n, testnet.MostNodes(task.Graph.Degree))
	}
	if o.nodes == "" {
		n = min(n, len(all.People))
	}
	return task, func(seed uint64) (*testnet.Dataset, error) { return all.Draw(seed, n) }, nil
}

// read reads all people of the data set that the flags name. Lines without an owner are
// dealt out among n people; n = 0 takes the people that a column names.
func (o *options) read(t *learner.Task, n int, errs io.Writer) (*testnet.Dataset, error) {
	if o.data == "" {
		files, err := fs.Sub(embedded, embeddedDir)
		if err != nil {
			return nil, err
		}
		return testnet.ReadMovieLens(files, embeddedName, t)
	}
	dir, file := filepath.Split(o.data)
	if file == hundredK {
		return testnet.Read100K(os.DirFS(filepath.Clean(dir)), file, t)
	}
	f, err := os.Open(o.data)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	defer f.Close()
	owners := testnet.Owners{Column: cmp.Or(o.node, testnet.NodeColumn)}
	if o.deal && o.node == "" && o.nodes != "" {
		owners.Deal = n
	}
	if o.skipBad {
		owners.Skipped = tellSkipped(errs)
	}
	d, err := testnet.ReadPeople(f, o.data, t, owners)
	return d, skippable(err)
}

// tellSkipped says which lines of a file are left out.
func tellSkipped(w io.Writer) func(*testnet.BadLines) {
	return func(bad *testnet.BadLines) {
		fmt.Fprintf(w, "Left out: %v\n", strings.TrimPrefix(bad.Error(), "testnet: "))
	}
}

// skippable adds to the error of bad lines what can be done about them.
func skippable(err error) error {
	if _, bad := errors.AsType[*testnet.BadLines](err); bad {
		return fmt.Errorf("%w\nmend them, or leave them out with --skip-bad", err)
	}
	return err
}

func newTerms() *cobra.Command {
	return &cobra.Command{
		Use:   "terms",
		Short: "Print the terms and the description of the built-in data set",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := embedded.Open(embeddedDir + "/README.txt")
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(cmd.OutOrStdout(), f)
			return err
		},
	}
}
