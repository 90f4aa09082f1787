package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"p2pnode/node"
)

// withOwner runs f with the data directory, through its daemon if one runs.
func withOwner(cmd *cobra.Command, o *options, f func(ctx context.Context, owner node.Owner) error) error {
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	owner, closer, err := node.Connect(cmd.Context(), o.dir, log)
	if err != nil {
		return err
	}
	return errors.Join(f(cmd.Context(), owner), closer.Close())
}

func printJSON(cmd *cobra.Command, v any) error {
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// table prints aligned columns.
func table(cmd *cobra.Command, rows ...[]any) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = fmt.Sprint(v)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

func statusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "How the node is doing: neighbours, round, privacy spent, and what it bought",
		Example: `  p2pnode status
  p2pnode status --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withOwner(cmd, o, func(ctx context.Context, owner node.Owner) error {
				s, err := owner.Status(ctx)
				if err != nil || o.json {
					return errors.Join(err, printIf(err == nil, cmd, s))
				}
				return printStatus(cmd, s)
			})
		},
	}
}

func printIf(ok bool, cmd *cobra.Command, v any) error {
	if !ok {
		return nil
	}
	return printJSON(cmd, v)
}

func printStatus(cmd *cobra.Command, s node.Status) error {
	running := "not running (start it with: p2pnode run)"
	if s.Running {
		running = "running"
	}
	rows := [][]any{
		{"node", s.Peer},
		{"task", fmt.Sprintf("%s (network %s)", s.Task, s.Network)},
		{"daemon", running},
	}
	for _, a := range s.Addrs {
		rows = append(rows, []any{"address", a})
	}
	rows = append(rows,
		[]any{"records", fmt.Sprintf("%d, of which %d are held out to measure", s.Records, s.HeldOut)},
		[]any{"neighbours", fmt.Sprintf("%d, %d listening now, %d heard", s.Neighbours, s.Listening, s.Heard)},
		[]any{"round", s.Round},
		[]any{"privacy", privacyLine(s.Privacy)},
		[]any{"traffic", fmt.Sprintf("%d models sent, %d received; %s in, %s out",
			s.Traffic.Published, s.Traffic.Delivered, size(s.Traffic.BytesIn), size(s.Traffic.BytesOut))},
		[]any{"model", modelLine(s.Personal)})
	return table(cmd, rows...)
}

func privacyLine(b node.BudgetSummary) string {
	if b.Unbounded {
		return "UNBOUNDED: models were or will be sent without a guarantee"
	}
	return fmt.Sprintf("epsilon %v, delta %v guaranteed; %.0f %% of the budget spent, %d releases left", b.Epsilon, b.Delta, 100*b.Spent, b.Left)
}

func modelLine(c *node.Comparison) string {
	if c == nil {
		return "no held-out records yet (every fifth record is held out)"
	}
	return fmt.Sprintf("%s %.4f with the neighbours, %.4f alone, on %d held-out records", c.Measure, c.Personal, c.Alone, c.HeldOut)
}

func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

func budgetCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "budget",
		Short: "What privacy has been spent, from the ledger on disk",
		Example: `  p2pnode budget
  p2pnode budget --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withOwner(cmd, o, func(ctx context.Context, owner node.Owner) error {
				b, err := owner.Budget(ctx)
				if err != nil || o.json {
					return errors.Join(err, printIf(err == nil, cmd, b))
				}
				return printBudget(cmd, b)
			})
		},
	}
}

func printBudget(cmd *cobra.Command, b node.Budget) error {
	out := cmd.OutOrStdout()
	if b.Unbounded {
		fmt.Fprintln(out, "UNBOUNDED: models were or will be sent without a guarantee.")
	} else {
		fmt.Fprintf(out, "Guaranteed for each record, for ever: epsilon %v, delta %v (replacing one record; at most %d releases).\n", b.Epsilon, b.Delta, b.Releases)
		fmt.Fprint(out, "Someone with several records here:")
		for _, p := range b.Person {
			if p.Records > 1 {
				fmt.Fprintf(out, "  %d records: epsilon %.3g", p.Records, p.Epsilon)
			}
		}
		fmt.Fprintln(out)
	}
	rows := [][]any{{"COHORT", "RECORDS", "RELEASES", "LEFT", "SPENT"}}
	for _, c := range b.Cohorts {
		rows = append(rows, []any{c.Cohort, c.Records, c.Releases, c.Left, fmt.Sprintf("%.1f %%", 100*c.Spent)})
	}
	if len(b.Cohorts) == 0 {
		fmt.Fprintln(out, "No records yet, so nothing is spent.")
		return nil
	}
	return table(cmd, rows...)
}

func peersCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "peers",
		Short:   "The neighbours in the similarity graph",
		Example: `  p2pnode peers`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withOwner(cmd, o, func(ctx context.Context, owner node.Owner) error {
				peers, err := owner.Peers(ctx)
				if err != nil || o.json {
					return errors.Join(err, printIf(err == nil, cmd, peers))
				}
				if len(peers) == 0 {
					fmt.Fprintln(cmd.OutOrStdout(), "No neighbours yet.")
					return nil
				}
				rows := [][]any{{"PEER", "WEIGHT", "CONNECTED", "LISTENING", "ROUND HEARD"}}
				for _, p := range peers {
					rows = append(rows, []any{p.ID, fmt.Sprintf("%.3f", p.Weight), yes(p.Connected), yes(p.Listening), p.Round})
				}
				return table(cmd, rows...)
			})
		},
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func dataCommand(o *options) *cobra.Command {
	var skipBad bool
	load := &cobra.Command{
		Use:   "import FILE.csv",
		Short: "Import records from a CSV file; - reads standard input",
		Long: `Import records from a CSV file whose first line names the task's columns.
Every bad line is reported with its number. A file with bad lines is not
imported at all, unless --skip-bad leaves them out.`,
		Example: `  p2pnode data import ratings.csv
  p2pnode data import --skip-bad - < ratings.csv`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := cmd.InOrStdin()
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			return withOwner(cmd, o, func(ctx context.Context, owner node.Owner) error {
				r, err := owner.Import(ctx, in, skipBad)
				return errors.Join(printImport(cmd, o, r), err)
			})
		},
	}
	load.Flags().BoolVar(&skipBad, "skip-bad", false, "import the good lines and leave the bad ones out")
	data := &cobra.Command{Use: "data", Short: "Manage the node's records"}
	data.AddCommand(load)
	return data
}

func printImport(cmd *cobra.Command, o *options, r node.ImportReport) error {
	if o.json {
		return printJSON(cmd, r)
	}
	for _, l := range r.Lines {
		fmt.Fprintf(cmd.ErrOrStderr(), "line %d: %s\n", l.Line, l.Reason)
	}
	if more := r.Bad - len(r.Lines); more > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "and %d more bad lines\n", more)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Imported %d records, %d bad lines.\n", r.Records, r.Bad)
	return nil
}

func predictCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "predict COLUMN=VALUE...",
		Short: "Ask the personal model",
		Example: `  p2pnode predict 'genres=Comedy|Romance' year=1994
  p2pnode predict --json 'genres=Film-Noir' year=1944`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			row := make(map[string]string, len(args))
			for _, a := range args {
				name, value, ok := strings.Cut(a, "=")
				if !ok {
					return usageError{fmt.Errorf("%q is not COLUMN=VALUE", a)}
				}
				row[name] = value
			}
			return withOwner(cmd, o, func(ctx context.Context, owner node.Owner) error {
				p, err := owner.Predict(ctx, row)
				if err != nil || o.json {
					return errors.Join(err, printIf(err == nil, cmd, p))
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%.3f (alone: %.3f)\n", p.Value, p.Alone)
				return nil
			})
		},
	}
}

func versionCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return errors.New("this binary carries no build information")
			}
			if o.json {
				return printJSON(cmd, map[string]string{"version": info.Main.Version, "go": info.GoVersion})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "p2pnode %s (%s)\n", info.Main.Version, info.GoVersion)
			return nil
		},
	}
}
