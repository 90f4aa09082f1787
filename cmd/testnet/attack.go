package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/libp2p/go-libp2p/gologshim"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"p2pnode/testnet"
	"p2pnode/testnet/attack"
)

const attackAbout = `Attack does to p2pnode what strangers, liars and Sybils would, and sets what came
of it beside what must hold: a table of bars, each with what was measured, what is
allowed, and whether it is held. Attacks of connections and bytes are made on real
daemons, in network namespaces with addresses of their own; those with thousands of
identities, and lying models, on the same code under virtual time.

Namespaces take root and the programs ip, nft and nsenter. Nothing leaves this
machine. Without names every attack is made, one after another; with --quick some at
a time. An attack that has no end of its own lasts --minutes. The exit code is 1 if
a bar is not held.

--list says which attacks there are and what each does.`

// attackOptions are the flags of attack.
type attackOptions struct {
	program           string // the p2pnode to attack
	minutes           float64
	quick, list, json bool
}

func newAttack(scenarios []attack.Scenario, dir string) *cobra.Command {
	o := &attackOptions{}
	cmd := &cobra.Command{
		Use:     "attack [NAME...]",
		Short:   "Attack daemons and simulated networks, and say what must hold and whether it does",
		Long:    attackAbout,
		Example: "  testnet attack --list\n  testnet attack --quick\n  testnet attack providers\n  testnet attack providers --minutes 10 --json",
		RunE:    func(cmd *cobra.Command, names []string) error { return o.run(cmd, scenarios, names, dir) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.quick, "quick", false, "some seconds of each attack, smaller ones, and none that takes minutes: three minutes in all")
	f.Float64Var(&o.minutes, "minutes", 2, "how long an attack lasts that has no end of its own")
	f.BoolVar(&o.list, "list", false, "say which attacks there are, and make none")
	f.StringVar(&o.program, "p2pnode", "", "the p2pnode to attack (default: the one beside testnet, or built from the source)")
	f.BoolVar(&o.json, "json", false, "write one JSON object to standard output, and nothing else")
	return cmd
}

// run makes the requested attacks.
func (o *attackOptions) run(cmd *cobra.Command, all []attack.Scenario, names []string, dir string) error {
	chosen, err := o.choose(cmd, all, names)
	if err != nil {
		return usageError{err}
	}
	if o.list {
		return listAttacks(cmd.OutOrStdout(), chosen, o.json)
	}
	gologshim.SetDefaultHandler(slog.DiscardHandler) // the attacker's hosts are refused all the time
	r := attackReport{Bars: []attack.Bar{}}
	say := o.teller(cmd.ErrOrStderr())
	options := attack.Options{Quick: o.quick, Length: o.length()}
	if chosen, err = o.ready(cmd, chosen, dir, &options); err != nil {
		r.fail(say, err)
	}
	r.make(cmd.Context(), say, chosen, options, dir)
	r.Interrupted = cmd.Context().Err() != nil
	write := r.write
	if o.json {
		write = r.writeJSON
	}
	if err := write(cmd.OutOrStdout()); err != nil {
		return err
	}
	return r.verdict()
}

// choose finds the attacks with these names, or all if there are none.
func (o *attackOptions) choose(cmd *cobra.Command, all []attack.Scenario, names []string) ([]attack.Scenario, error) {
	if set := cmd.Flags().Changed; o.quick && set("minutes") {
		return nil, errors.New("--minutes: --quick says how long an attack lasts")
	}
	if !(o.minutes > 0) || o.minutes > 24*60 {
		return nil, fmt.Errorf("--minutes %g: must be above 0 and at most a day", o.minutes)
	}
	var chosen []attack.Scenario
	for _, name := range names {
		i := slices.IndexFunc(all, func(s attack.Scenario) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("there is no attack %q; choose from %s", name, strings.Join(known, ", "))
		}
		if o.quick && all[i].Slow {
			return nil, fmt.Errorf("the attack %q takes minutes: leave out --quick", name)
		}
		chosen = append(chosen, all[i])
	}
	if len(names) == 0 {
		chosen = slices.DeleteFunc(slices.Clone(all), func(s attack.Scenario) bool { return o.quick && s.Slow })
	}
	return chosen, nil
}

// length is what --minutes says; 0: --quick says it.
func (o *attackOptions) length() time.Duration {
	if o.quick {
		return 0
	}
	return time.Duration(o.minutes * float64(time.Minute))
}

// ready finds the program to attack. If there can be no namespaces, it leaves out the
// attacks that need some, and says why.
func (o *attackOptions) ready(cmd *cobra.Command, chosen []attack.Scenario, dir string, options *attack.Options) ([]attack.Scenario, error) {
	if !slices.ContainsFunc(chosen, func(s attack.Scenario) bool { return s.Daemons }) {
		return chosen, nil
	}
	err := attack.Available()
	if err == nil {
		options.Program, err = locate(cmd, o.program, dir)
	}
	if err == nil {
		return chosen, nil
	}
	virtual := slices.DeleteFunc(slices.Clone(chosen), func(s attack.Scenario) bool { return s.Daemons })
	return virtual, fmt.Errorf("%d attacks on real daemons were not made: %w", len(chosen)-len(virtual), err)
}

// teller writes lines with the seconds since the start, from any goroutine.
func (o *attackOptions) teller(w io.Writer) func(string) {
	start := time.Now()
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%4.0fs %s\n", time.Since(start).Seconds(), line)
	}
}

// listedAttack is an attack that can be made.
type listedAttack struct {
	Name  string `json:"name"`
	Where string `json:"where"`
	About string `json:"about"`
}

func listAttacks(w io.Writer, all []attack.Scenario, asJSON bool) error {
	list := make([]listedAttack, len(all))
	for i, s := range all {
		list[i] = listedAttack{s.Name, "virtual time", s.About}
		if s.Daemons {
			list[i].Where = "real daemons"
		}
	}
	if asJSON {
		return testnet.WriteJSON(w, map[string]any{"attacks": list})
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range list {
		fmt.Fprintf(table, "%s\t%s\t%s\n", l.Name, l.Where, l.About)
	}
	return table.Flush()
}

// attackReport is the result of attacks.
type attackReport struct {
	Interrupted bool         `json:"interrupted"` // bars are missing
	Bars        []attack.Bar `json:"bars"`
	failed      error        // attacks that did not run to their end
}

// quickAtOnce is how many attacks run at the same time with --quick: they mostly wait.
const quickAtOnce = 4

// make runs the attacks, each with a directory of its own below dir.
func (r *attackReport) make(ctx context.Context, say func(string), chosen []attack.Scenario, o attack.Options, dir string) {
	results := make([]outcome, len(chosen))
	var making errgroup.Group
	making.SetLimit(1)
	if o.Quick {
		making.SetLimit(quickAtOnce)
	}
	for i, s := range chosen {
		making.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			say(fmt.Sprintf("%d of %d, %s", i+1, len(chosen), s.Name))
			own := o
			own.Dir = filepath.Join(dir, s.Name)
			own.Say = func(line string) { say(s.Name + ": " + line) }
			results[i] = attempt(ctx, s, own)
			return nil
		})
	}
	_ = making.Wait() // errors are in the results
	for i, got := range results {
		r.Bars = append(r.Bars, got.bars...)
		if got.err != nil && ctx.Err() == nil {
			r.fail(say, fmt.Errorf("%s: %w", chosen[i].Name, got.err))
		}
	}
}

// outcome is the result of one attack.
type outcome struct {
	bars []attack.Bar
	err  error
}

// attempt makes one attack.
func attempt(ctx context.Context, s attack.Scenario, o attack.Options) (out outcome) {
	if out.err = os.MkdirAll(o.Dir, 0o700); out.err != nil {
		return out
	}
	out.bars, out.err = s.Run(ctx, o)
	_ = os.RemoveAll(o.Dir) // the whole directory goes at the end anyway
	return out
}

func (r *attackReport) fail(say func(string), err error) {
	say(err.Error())
	r.failed = errors.Join(r.failed, err)
}

// broken counts the bars that do not hold.
func (r *attackReport) broken() (n int) {
	for _, b := range r.Bars {
		if !b.Held {
			n++
		}
	}
	return n
}

// verdict is the error that sets the exit code.
func (r *attackReport) verdict() error {
	var broken error
	if n := r.broken(); n > 0 {
		broken = fmt.Errorf("%d of %d bars are not held", n, len(r.Bars))
	}
	if err := errors.Join(broken, r.failed); err != nil {
		return err
	}
	if r.Interrupted {
		return errInterrupted
	}
	return nil
}

// write writes the table.
func (r *attackReport) write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "bar\tmeasured\tallowed\theld")
	for _, b := range r.Bars {
		side, held := "at most", "held"
		if b.AtLeast {
			side = "at least"
		}
		if !b.Held {
			held = "NOT HELD"
		}
		fmt.Fprintf(table, "%s\t%s\t%s %.4g %s\t%s\n", b.Name, fmt.Sprintf("%.4g", b.Measured), side, b.Allowed, b.Unit, held)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	text := fmt.Sprintf("\n%d of %d bars are held.\n", len(r.Bars)-r.broken(), len(r.Bars))
	if r.Interrupted {
		text += "INTERRUPTED: bars are missing.\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

func (r *attackReport) writeJSON(w io.Writer) error {
	return testnet.WriteJSON(w, r)
}
