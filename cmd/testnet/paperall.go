package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"p2pnode/testnet"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// indexFile leads to the pages of all experiments.
const indexFile = "index.html"

const allAbout = `All runs every experiment whose data is there, one after the other, and writes
index.html, which leads to their pages with the main result of each. It says which
it left out and why. Interrupted, it goes on with the same command.`

// newAll is the command that runs all experiments.
func newAll(list []paper.Experiment, dir string) *cobra.Command {
	o := &paperOptions{Options: paper.Options{Scratch: dir}}
	cmd := &cobra.Command{
		Use:     "all",
		Short:   "All experiments whose data is there, with an index",
		Long:    allAbout,
		Example: "  testnet paper all --data data            # data/ml-100k, data/school, ...\n  testnet paper all --data data --quick",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.runAll(cmd, list) },
	}
	o.register(cmd.Flags())
	cmd.Flags().StringVar(&o.Data, "data", "", "a directory that holds the experiments' data, each under its name")
	cmd.Flags().BoolVar(&o.Real, "real", false, "also over real libp2p nodes, where an experiment can")
	return cmd
}

// runAll runs the experiments in turn. One that fails does not keep the others from
// running; it is told at the end.
func (o *paperOptions) runAll(cmd *cobra.Command, list []paper.Experiment) error {
	if err := o.validate(cmd.Flags()); err != nil {
		return err
	}
	if o.Data != "" {
		if _, err := os.ReadDir(o.Data); err != nil {
			return fmt.Errorf("--data: %w", err)
		}
	}
	if err := makeOut(o.out); err != nil {
		return err
	}
	entries := make([]paper.Entry, len(list))
	for i, e := range list {
		entries[i] = paper.Entry{Name: e.Name, Title: e.Title, LeftOut: "Not run yet."}
	}
	var failed []error
	for i, e := range list {
		if err := o.writeIndex(cmd, entries); err != nil {
			return err
		}
		if cmd.Context().Err() != nil {
			break
		}
		entry, err := o.runOne(cmd, e)
		if err != nil && cmd.Context().Err() == nil {
			failed = append(failed, err)
		}
		entries[i] = entry
		if err := o.reportOne(cmd, entry); err != nil {
			return err
		}
	}
	if err := o.writeIndex(cmd, entries); err != nil {
		return err
	}
	notes := cmd.OutOrStdout()
	if o.json {
		notes = cmd.ErrOrStderr()
	}
	if _, err := fmt.Fprintf(notes, "Index of all pages: %s\n", filepath.Join(o.out, indexFile)); err != nil {
		return err
	}
	if o.json {
		if err := writeAllJSON(cmd.OutOrStdout(), entries); err != nil {
			return err
		}
	}
	if cmd.Context().Err() != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), goesOn)
		return errInterrupted
	}
	return errors.Join(failed...)
}

// runOne runs an experiment with its part of the flags, or says why not.
func (o *paperOptions) runOne(cmd *cobra.Command, e paper.Experiment) (paper.Entry, error) {
	entry := paper.Entry{Name: e.Name, Title: e.Title}
	of := *o
	of.Data, of.Real = "", o.Real && e.UsesReal
	switch {
	case e.Apart != "" && !o.Quick:
		entry.LeftOut = e.Apart + ": run 'testnet paper " + e.Name + "'."
		return entry, nil
	case e.Data != "" && e.Place == "":
		entry.LeftOut = "It needs data of yours: run 'testnet paper " + e.Name + "'."
		return entry, nil
	case e.Data != "":
		of.Data = filepath.Join(o.Data, e.Place)
		if _, err := os.Stat(of.Data); o.Data == "" || err != nil {
			entry.LeftOut = fmt.Sprintf("The data is not there; put it into %s under --data: %s", e.Place, e.Data)
			return entry, nil
		}
	}
	r, err := of.measure(cmd, e)
	if r == nil {
		entry.LeftOut = "It failed: " + err.Error()
	}
	entry.Result = r
	return entry, err
}

// reportOne says what came of an experiment of several.
func (o *paperOptions) reportOne(cmd *cobra.Command, e paper.Entry) error {
	if e.Result == nil {
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "paper: %s: left out: %s\n", e.Name, e.LeftOut)
		return err
	}
	if o.json {
		return nil
	}
	if err := e.Result.WriteTable(cmd.OutOrStdout()); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout())
	return err
}

func (o *paperOptions) writeIndex(cmd *cobra.Command, entries []paper.Entry) error {
	return page.WriteFile(filepath.Join(o.out, indexFile), func(w io.Writer) error {
		return paper.WriteIndex(w, entries,
			page.Fact{Name: "Command", Value: "testnet paper all" + flagsText(cmd.Flags()), Code: true},
			page.Fact{Name: "Version", Value: version()})
	})
}

// leftOut is an experiment without a result in JSON.
type leftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

func writeAllJSON(w io.Writer, entries []paper.Entry) error {
	all := struct {
		Experiments []*paper.Result `json:"experiments"`
		LeftOut     []leftOut       `json:"left_out"`
	}{[]*paper.Result{}, []leftOut{}}
	for _, e := range entries {
		if e.Result == nil {
			all.LeftOut = append(all.LeftOut, leftOut{e.Name, e.LeftOut})
		} else {
			all.Experiments = append(all.Experiments, e.Result)
		}
	}
	return testnet.WriteJSON(w, all)
}
