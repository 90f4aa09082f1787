package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/audit"
)

const auditAbout = `Audit tries to break the privacy of the release path. It plants a record, lets
the real agent make all its releases many thousand times with the record and
with its opposite, and measures how well the best possible test tells the two
apart from what was released. That gives a lower bound on epsilon, which is set
beside the epsilon that was claimed.

Learner sums is private sums: for each recipe the auditor colludes with as many
members of the committee as may, and with all other devices. Then contributions
are attacked, with all arithmetic, keys and signatures: they are looked at, stolen
and sent again, and two lists are voted on. Where one member more colludes than
may, the attack must succeed, or it would prove nothing.

bound is right with 95 % confidence. gate is the bound with confidence 1 - 1e-6:
if that is above the claim, the claim is false, and the exit code is 1. A bound
far below the claim is no proof of anything: small deltas and small losses need
more runs to be seen.`

// auditOptions are the flags of audit.
type auditOptions struct {
	learner, noise, accounting string
	audit.Options
	json bool
}

func newAudit() *cobra.Command {
	o := &auditOptions{}
	cmd := &cobra.Command{
		Use:     "audit",
		Short:   "Try to break the release path, and set what was found beside what is claimed",
		Long:    auditAbout,
		Example: "  testnet audit\n  testnet audit --noise laplace --accounting plan --runs 1000000",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.learner, "learner", "all", "all, or one of: "+strings.Join(audit.Learners(), ", "))
	f.StringVar(&o.noise, "noise", "all", "all, or one of: "+strings.Join(noises(), ", "))
	f.StringVar(&o.accounting, "accounting", "all", "all, or one of: "+strings.Join(accountings(), ", "))
	f.Float64Var(&o.Claim.Epsilon, "epsilon", 1, "the budget to claim")
	f.Float64Var(&o.Claim.Delta, "delta", 1e-3, "room for exceptions to epsilon, see docs/privacy.md; below 1/runs nobody can see it")
	f.IntVar(&o.Releases, "releases", 2, "how many releases share the budget")
	f.IntVar(&o.Dimension, "dimension", 20, "coordinates of a release")
	f.IntVar(&o.Runs, "runs", 40000, "runs for each of two canaries in each of two worlds")
	f.Uint64Var(&o.Seed, "seed", 1, "of the noise: the same seed gives the same table")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	return cmd
}

func (o *auditOptions) run(cmd *cobra.Command) error {
	subjects, err := o.subjects()
	if err != nil {
		return usageError{err}
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	var stop func()
	o.Progress, stop = showCounts(cmd.ErrOrStderr(), "audit: %d of %d runs")
	r := auditReport{wanted: len(subjects)}
	r.findings, err = audit.Run(cmd.Context(), subjects, o.Options)
	if err == nil && slices.ContainsFunc(subjects, func(s audit.Subject) bool { return s.Learner == audit.Sums }) {
		r.attempts, err = audit.Attack(cmd.Context(), o.Seed)
	}
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	r.interrupted = err != nil
	write := r.write
	if o.json {
		write = r.writeJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	return r.verdict()
}

// auditReport is the result of an audit.
type auditReport struct {
	findings    []audit.Finding
	wanted      int // number of findings expected
	attempts    []audit.Attempt
	interrupted bool
}

// verdict is what the exit code says: a false claim before an interruption.
func (r *auditReport) verdict() error {
	switch {
	case slices.ContainsFunc(r.findings, func(f audit.Finding) bool { return !f.Holds() }):
		return errors.New("the releases tell more than is claimed")
	case slices.ContainsFunc(r.attempts, func(a audit.Attempt) bool { return !a.Holds }):
		return errors.New("an attack on contributions to private sums does not come to what is said")
	case r.interrupted:
		return errInterrupted
	}
	return nil
}

// noises and accountings are those of any learner.
func noises() []string {
	return choices(func(s audit.Subject) string { return string(s.Noise) })
}

func accountings() []string {
	return choices(func(s audit.Subject) string { return string(s.Accounting) })
}

func choices(of func(audit.Subject) string) (names []string) {
	for _, l := range audit.Learners() {
		for _, s := range audit.Subjects(l) {
			if name := of(s); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// subjects are what the flags choose.
func (o *auditOptions) subjects() ([]audit.Subject, error) {
	names := audit.Learners()
	if o.learner != "all" {
		if !slices.Contains(names, o.learner) {
			return nil, fmt.Errorf("--learner %s: choose all or one of %q", o.learner, names)
		}
		names = []string{o.learner}
	}
	if o.noise != "all" && !slices.Contains(noises(), o.noise) {
		return nil, fmt.Errorf("--noise %s: choose all or one of %q", o.noise, noises())
	}
	if o.accounting != "all" && !slices.Contains(accountings(), o.accounting) {
		return nil, fmt.Errorf("--accounting %s: choose all or one of %q", o.accounting, accountings())
	}
	var subjects []audit.Subject
	for _, name := range names {
		for _, s := range audit.Subjects(name) {
			if (o.noise == "all" || o.noise == string(s.Noise)) && (o.accounting == "all" || o.accounting == string(s.Accounting)) {
				subjects = append(subjects, s)
			}
		}
	}
	if len(subjects) == 0 {
		return nil, fmt.Errorf("--noise %s --accounting %s: no learner releases in this way", o.noise, o.accounting)
	}
	return subjects, nil
}

// holds is a verdict in words.
func holds(yes bool) string {
	if yes {
		return "holds"
	}
	return "BROKEN"
}

// write writes the tables. If there are fewer findings than wanted, the audit was
// interrupted.
func (r *auditReport) write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "learner\tnoise\taccounting\trecords\treleases\truns\tclaim\tbound\tgate\tverdict")
	for _, f := range r.findings {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t(%g, %g)\t%.3f\t%.3f\t%s\n", strings.TrimSpace(f.Subject.Learner+" "+f.Subject.Recipe), f.Subject.Noise,
			f.Subject.Accounting, recordsText(f.Subject.Sampled), f.Releases, f.Runs, f.Claim.Epsilon, f.Claim.Delta, f.Bound, f.Gate, holds(f.Holds()))
	}
	if len(r.findings) < r.wanted {
		fmt.Fprintf(table, "\nINTERRUPTED: %d of %d ways to release were audited.\n", len(r.findings), r.wanted)
	}
	fmt.Fprint(table, "\nclaim: the guarantee (epsilon, delta). bound, gate: epsilon is at least this at the claimed delta, with confidence\n"+
		"95 % and 1 - 1e-6. A gate above the claim proves it false. runs: for each of two canaries in each of two worlds.\n")
	if len(r.attempts) > 0 {
		fmt.Fprintln(table, "\nprivate sums of a committee of 4, of whom 1 may collude\tfound\tverdict")
	}
	for _, a := range r.attempts {
		fmt.Fprintf(table, "%s\t%s\t%s\n", a.Attack, a.Found, holds(a.Holds))
	}
	return table.Flush()
}

func recordsText(sampled bool) string {
	if sampled {
		return "half at random"
	}
	return "all"
}

// finding is a finding in JSON.
type finding struct {
	Learner      string             `json:"learner"`
	Recipe       string             `json:"recipe,omitempty"` // of a private sum
	Noise        privacy.Noise      `json:"noise"`
	Accounting   privacy.Accounting `json:"accounting"`
	Sampled      bool               `json:"sampled"`
	Releases     int                `json:"releases"`
	Runs         int                `json:"runs"`
	ClaimEpsilon float64            `json:"claim_epsilon"`
	ClaimDelta   float64            `json:"claim_delta"`
	Bound        float64            `json:"bound_95"`
	Gate         float64            `json:"bound_1_minus_1e-6"`
	Holds        bool               `json:"holds"`
}

func (r *auditReport) writeJSON(w io.Writer) error {
	rows := make([]finding, len(r.findings))
	for i, f := range r.findings {
		rows[i] = finding{
			f.Subject.Learner, f.Subject.Recipe, f.Subject.Noise, f.Subject.Accounting, f.Subject.Sampled, f.Releases, f.Runs,
			f.Claim.Epsilon, f.Claim.Delta, f.Bound, f.Gate, f.Holds(),
		}
	}
	return testnet.WriteJSON(w, struct {
		Interrupted bool            `json:"interrupted"` // findings or attempts are missing
		Findings    []finding       `json:"findings"`
		Attempts    []audit.Attempt `json:"attempts,omitempty"` // attacks on contributions to private sums
	}{r.interrupted, rows, r.attempts})
}
