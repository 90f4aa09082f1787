package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"p2pnode/testnet/compare"
)

const compareAbout = `Compare repeats what the papers say about their schemes, with this program's
agents, noise and accounting:

  diffusion  where to put the noise (Vlaski and Sayed 2020): independent at each
             agent, on transmissions only, or graph-homomorphic; at equal noise
             power, as they compare, and at equal epsilon
  km         which noise (DP-dKM): Gaussian, Laplace, and both truncated, paid for
             over all releases; and what theorem 6 of that paper gives instead
  polar      what obfuscation costs in speed (POLAR-SGD): Delta steps between two
             consensus rounds make it about Delta times slower

Mean and spread (the standard deviation) are over the seeds. "valid" says whether
the releases have the guarantee: replacing one record of one agent. "published" is
the number of the paper, or of an independent program that repeated it, on records
of the same kind.`

// compareOptions are the flags of compare.
type compareOptions struct {
	compare.Options
	json bool
}

// comparison is one of the functions of package compare.
type comparison func(context.Context, compare.Options) ([]compare.Row, error)

func newCompare() *cobra.Command {
	o := &compareOptions{}
	cmd := &cobra.Command{
		Use:     "compare diffusion|km|polar",
		Short:   "Repeat the papers' comparisons between their schemes, with what each truly costs",
		Long:    compareAbout,
		Example: "  testnet compare diffusion\n  testnet compare km --full --seeds 10\n  testnet compare polar --json",
		Args: func(_ *cobra.Command, args []string) error {
			_, err := chooseComparison(args)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	f.IntVar(&o.Seeds, "seeds", 5, "how many seeds, from --seed up")
	f.Uint64Var(&o.Seed, "seed", 1, "of data, noise and delays: the same seed gives the same table")
	f.BoolVar(&o.Full, "full", false, "the papers' numbers of rounds, which take minutes")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	return cmd
}

func chooseComparison(args []string) (comparison, error) {
	if len(args) == 1 {
		switch args[0] {
		case "diffusion":
			return compare.Diffusion, nil
		case "km":
			return compare.KM, nil
		case "polar":
			return compare.Polar, nil
		}
	}
	return nil, usageError{fmt.Errorf("compare %q: say what to compare: diffusion, km or polar", args)}
}

func (o *compareOptions) run(cmd *cobra.Command, args []string) error {
	measure, err := chooseComparison(args)
	if err != nil {
		return err
	}
	if o.Seeds < 1 {
		return usageError{fmt.Errorf("--seeds %d: must be at least 1", o.Seeds)}
	}
	var stop func()
	o.Progress, stop = showCounts(cmd.ErrOrStderr(), "compare: %d of %d runs")
	rows, err := measure(cmd.Context(), o.Options)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	write := writeRows
	if o.json {
		write = writeRowsJSON
	}
	if failed := write(cmd.OutOrStdout(), rows); failed != nil {
		return failed
	}
	if err != nil {
		return errInterrupted
	}
	return nil
}

func writeRows(w io.Writer, rows []compare.Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "setting\tepsilon\tdelta\tvalid\tmeasure\tmean\tspread\tseeds\tpublished")
	for _, r := range rows {
		epsilon, delta := "-", "-"
		if r.Epsilon > 0 {
			epsilon, delta = fmt.Sprintf("%.3g", r.Epsilon), fmt.Sprintf("%g", r.Delta)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%.3g\t%.2g\t%d\t%s\n",
			r.Setting, epsilon, delta, r.Valid, r.Measure, r.Mean, r.Spread, r.Seeds, r.Published)
	}
	return table.Flush()
}

func writeRowsJSON(w io.Writer, rows []compare.Row) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		Rows []compare.Row `json:"rows"`
	}{rows})
}
