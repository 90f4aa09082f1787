package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"p2pnode/testnet"
	"p2pnode/testnet/cases"
)

const privacyAbout = `Privacy compares the privacy engine with worked examples that were computed
independently. FILE is JSON: a list of cases under "cases", each with an id, a
kind, an input, the expected value, and how far a result may be from it
(rel_tol) on which side (upper: an accountant that may only ask for too much;
lower: for too little; both: a closed form).

One line a case says what came out. The exit code is 1 when a case is outside its
tolerance or cannot be evaluated.`

func newPrivacy() *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "privacy --cases FILE",
		Short:   "Check the privacy engine against a file of worked examples",
		Long:    privacyAbout,
		Example: "  testnet privacy --cases privacy_values.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return usageError{errors.New("--cases: say which file to check against")}
			}
			results, err := evaluate(cmd, file)
			if err != nil {
				return err
			}
			return reportCases(cmd.OutOrStdout(), results, asJSON)
		},
	}
	cmd.Flags().StringVar(&file, "cases", "", "the file of cases (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object to standard output, and nothing else")
	return cmd
}

func evaluate(cmd *cobra.Command, file string) ([]cases.Result, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := cases.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	results := make([]cases.Result, len(list))
	for i := range list {
		if cmd.Context().Err() != nil {
			return nil, errInterrupted
		}
		results[i] = list[i].Evaluate()
	}
	return results, nil
}

// reportCases writes the results; its error says how many cases are not right.
func reportCases(w io.Writer, results []cases.Result, asJSON bool) error {
	passed := 0
	for _, r := range results {
		if r.OK {
			passed++
		}
	}
	write := writeCases
	if asJSON {
		write = writeCasesJSON
	}
	if err := write(w, results, passed); err != nil {
		return err
	}
	if failed := len(results) - passed; failed > 0 {
		return fmt.Errorf("%d of %d cases are not right", failed, len(results))
	}
	return nil
}

func writeCases(w io.Writer, results []cases.Result, passed int) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "id\tkind\tgot\texpected\tside\tverdict")
	for _, r := range results {
		got, expected := "-", "-"
		if r.Got != nil {
			got = r.Got.String()
		}
		if r.Expected != nil {
			expected = r.Expected.String()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Kind, got, expected, r.Side, r.Verdict())
	}
	fmt.Fprintf(table, "\n%d of %d cases are right.\n", passed, len(results))
	return table.Flush()
}

func writeCasesJSON(w io.Writer, results []cases.Result, passed int) error {
	return testnet.WriteJSON(w, struct {
		Passed int            `json:"passed"`
		Failed int            `json:"failed"`
		Cases  []cases.Result `json:"cases"`
	}{passed, len(results) - passed, results})
}
