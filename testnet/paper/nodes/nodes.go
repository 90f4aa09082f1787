// Package nodes lets an experiment run its task once more over real libp2p nodes in
// this process, one for each person, and compares the results with the simulator's.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// Trial is a private task of an experiment that real nodes learn too.
type Trial struct {
	Name string // of the setting; unique in the experiment
	// Data makes the people, with all constants in their task. Its LeftOut counts those of
	// the experiment who get no node, and LeftOut says why.
	Data   func() (*testnet.Dataset, error)
	Lone   learner.Local // of the tuned lone model; the zero value: as in the task
	Budget privacy.Budget
	// Invalid means that the records have already told something, for example by the
	// ranges of columns, so that the budget does not hold for them.
	Invalid bool
	Seed    uint64
	Cost    float64 // as of [paper.Cell]
	LeftOut string
	// Measure is the measure of errors; those of numbers are multiplied by Unit (0: 1).
	// Of says what the error is of, for example "of the score, mean over schools".
	Measure learner.Measure
	Of      string
	Unit    float64
}

// simulations is how often the simulator runs for each run of the real nodes.
const simulations = 5

func (t *Trial) key() string { return "over libp2p: " + t.Name }

// Add adds trials to a plan: a cell for each, and to the report a section and two rows
// for each finished one. These are the only cells whose numbers differ each time.
//
// Without Options.Real it adds nothing.
func Add(p *paper.Plan, o paper.Options, trials ...Trial) {
	if !o.Real {
		return
	}
	for _, t := range trials {
		p.Cells = append(p.Cells, paper.Cell{
			Key: t.key(), Cost: t.Cost, Solo: true,
			Run: func(ctx context.Context) (paper.Numbers, error) { return t.run(ctx, o.Scratch) },
		})
	}
	of := p.Report
	p.Report = func(done paper.Done) (*paper.Report, error) {
		r, err := of(done)
		if err == nil {
			report(r, done, trials)
		}
		return r, err
	}
}

func (t *Trial) run(ctx context.Context, scratch string) (n paper.Numbers, err error) {
	d, err := t.Data()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch, "p2pnode-paper-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	a, err := testnet.Agree(ctx, testnet.Twins{
		Data: d, Method: testnet.Broadcast, Lone: t.Lone, Budget: t.Budget, Seed: t.Seed, Simulations: simulations, Dir: dir,
	})
	if err != nil {
		return nil, err
	}
	n = paper.Numbers{
		"alone": t.measured(a.Alone), "real": t.measured(a.Real),
		"nodes": {float64(len(a.Real)), float64(a.Unfinished), a.Delivery, a.Seconds, float64(d.LeftOut)},
	}
	for k, errs := range a.Simulated {
		n[simulation(k)] = t.measured(errs)
	}
	return n, nil
}

func simulation(k int) string { return fmt.Sprintf("simulated %d", k+1) }

// measured converts errors to the trial's measure, and an accuracy to 1 minus the
// accuracy.
func (t *Trial) measured(errs []float64) []float64 {
	out := make([]float64, len(errs))
	for i, e := range errs {
		out[i] = e * cmp.Or(t.Unit, 1)
		if t.Measure == learner.MSE {
			out[i] = learner.RMSE.Loss(out[i])
		}
	}
	return out
}

// report adds the results of the finished trials.
func report(r *paper.Report, done paper.Done, trials []Trial) {
	section := page.Section{Title: "The same over real nodes", Text: []string{
		"A libp2p node for each person, in one process and over loopback: they find each other, choose their neighbours and pay for every release as they do anywhere. " +
			"Noise, clocks and the graph are drawn anew each time, so this is the part of the page that does not repeat.",
	}}
	table := page.Table{
		Caption: "Real nodes beside the simulator, the same people",
		Head:    []string{"setting", "nodes", "over libp2p", "simulated", "difference", "95% over people", "standard deviation of a simulation", "copies that arrived", "seconds"},
	}
	for _, t := range trials {
		n := done[t.key()]
		if n == nil {
			continue
		}
		f := t.found(n)
		r.Rows = append(r.Rows, f.real, f.simulated)
		section.Text = append(section.Text, f.text)
		table.Rows = append(table.Rows, page.Line{Cells: f.cells})
	}
	if len(table.Rows) > 0 {
		section.Tables = []page.Table{table}
		r.Sections = append(r.Sections, section)
	}
}

// found is the result of a trial.
type found struct {
	real, simulated paper.Row
	text            string // the verdict, and who was left out
	cells           []string
}

func (t *Trial) found(n paper.Numbers) found {
	a := testnet.Agreement{Alone: n["alone"], Real: n["real"]}
	for k := range simulations {
		a.Simulated = append(a.Simulated, n[simulation(k)])
	}
	above, spread := a.Difference(t.Seed)
	if t.Measure == learner.Accuracy {
		above = above.Negative()
	}
	size, unfinished, delivery, seconds, leftOut := n["nodes"][0], n["nodes"][1], n["nodes"][2], n["nodes"][3], n["nodes"][4]
	f := found{real: t.row("over libp2p", a.Alone, a.Real), simulated: t.row("simulated, the same people", a.Alone, a.Simulated...)}
	f.text = fmt.Sprintf("%s, over libp2p: %s.", t.Name, testnet.Judge(testnet.Evidence{Pairs: pairs(a.Alone, a.Real), Seed: t.Seed}))
	f.simulated.Spread = paper.Number(spread)
	f.real.Note = fmt.Sprintf("%+.4f from the simulator, 95%% interval over people %+.4f to %+.4f; a simulation's standard deviation is %.4f; not the same at each run",
		above.Mean, above.Low, above.High, spread)
	if unfinished > 0 {
		f.real.Note += fmt.Sprintf("; nodes that had not made all releases: %.0f", unfinished)
	}
	if leftOut > 0 {
		without := fmt.Sprintf("%.0f of %.0f nodes were left out: %s", leftOut, leftOut+size, t.LeftOut)
		f.real.Note += "; " + without
		f.text += " " + without + "."
	}
	f.cells = []string{
		t.Name, fmt.Sprint(size), fmt.Sprintf("%.4f", t.of(&f.real)), fmt.Sprintf("%.4f", t.of(&f.simulated)),
		fmt.Sprintf("%+.4f", above.Mean), fmt.Sprintf("%+.4f to %+.4f", above.Low, above.High), fmt.Sprintf("%.4f", spread),
		fmt.Sprintf("%.2f%%", 100*math.Min(1, delivery)), fmt.Sprintf("%.0f", seconds),
	}
	return f
}

// row is the row of runs of the same people.
func (t *Trial) row(setting string, alone []float64, runs ...[]float64) paper.Row {
	var means []float64
	for _, errs := range runs {
		means = append(means, stat.Mean(errs, nil))
	}
	gain := testnet.Bootstrap(pairs(alone, runs...), resamples, t.Seed)
	r := paper.Row{
		Setting: t.Name + ": " + setting, Seeds: len(runs), Valid: !t.Invalid, Measure: strings.TrimSpace(string(t.Measure) + " " + t.Of),
		Epsilon: paper.Number(t.Budget.Epsilon), Delta: paper.Number(t.Budget.Delta),
		GainLow: paper.Number(gain.Low), GainHigh: paper.Number(gain.High),
	}
	with, without := stat.Mean(means, nil), stat.Mean(alone, nil)
	if t.Measure == learner.Accuracy {
		r.Accuracy, r.Alone = paper.Number(t.Measure.Of(with)), paper.Number(t.Measure.Of(without))
	} else {
		r.Error, r.Alone = paper.Number(with), paper.Number(without)
	}
	return r
}

// pairs sets the errors of runs of the same people beside those alone.
func pairs(alone []float64, runs ...[]float64) (list []testnet.Pair) {
	for _, errs := range runs {
		for i, e := range errs {
			list = append(list, testnet.Pair{Person: i, Alone: alone[i], With: e})
		}
	}
	return list
}

// of is the row's number.
func (t *Trial) of(r *paper.Row) float64 {
	if r.Accuracy != nil {
		return *r.Accuracy
	}
	return *r.Error
}

// resamples of a bootstrap.
const resamples = 2000
