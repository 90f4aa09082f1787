package schemes

import (
	"fmt"
	"slices"

	"p2pnode/privacy"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// The sweeps of figure 1; the other parameter is that of kmBudget.
var (
	epsilons = []float64{.1, .15, .2, .3, .5, .7, 1, 1.5, 2, 3}
	tails    = []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 5e-2}
	// compositions are the numbers of releases whose true delta is computed.
	compositions = []int{1, 50, 100}
)

// compositionOf is the position of a number of releases in compositions.
func compositionOf(releases int) int { return slices.Index(compositions, releases) }

func lawKey(l law) string { return "noise: " + string(l) }

// noiseTrials compute the noise that the laws need, a cell for each law.
func noiseTrials() []trial {
	var trials []trial
	for _, l := range allLaws {
		trials = append(trials, trial{key: lawKey(l), cost: 0.5, once: true, run: func(uint64) (paper.Numbers, error) { return l.numbers() }})
	}
	return trials
}

// numbers are the standard deviations of the sweeps and the true deltas of one release
// along the first, and of several at kmBudget.
func (l law) numbers() (paper.Numbers, error) {
	n := paper.Numbers{}
	var failed error
	add := func(name string, v float64, err error) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("schemes: %s: %w", l, err)
		}
		n[name] = append(n[name], v)
	}
	for _, e := range epsilons {
		b := privacy.Budget{Epsilon: e, Delta: kmBudget.Delta}
		std, err := l.std(b)
		add("by epsilon", std, err)
		delta, err := l.trueDelta(b, 1)
		add("delta by epsilon", delta, err)
	}
	for _, d := range tails {
		std, err := l.std(privacy.Budget{Epsilon: kmBudget.Epsilon, Delta: d})
		add("by delta", std, err)
	}
	std, err := l.std(kmBudget)
	add("std", std, err)
	for _, k := range compositions {
		delta, err := l.trueDelta(kmBudget, k)
		add("deltas", delta, err)
	}
	return n, failed
}

// scalarPublished are an independent program's standard deviations.
var scalarPublished = map[law]float64{
	laplace: 2.83, gaussianClassic: 7.55, gaussianExact: 4.61, truncatedLaplace: 2.73, truncatedGaussian: 4.612, theorem6: 1.0,
}

// noiseRows are the standard deviations for one release of one number.
func noiseRows(f found) []paper.Row {
	var rows []paper.Row
	for _, l := range allLaws {
		row := published(paper.Row{
			Setting: "one release of one number: " + string(l), Measure: "noise std, sensitivity 1",
			Epsilon: paper.Number(kmBudget.Epsilon), Delta: paper.Number(kmBudget.Delta), Valid: l != theorem6,
		}, scalarPublished[l])
		if c := f.over(lawKey(l), "deltas"); l == theorem6 && c.seeds > 0 {
			row.TrueDelta = paper.Number(c.mean[0])
		}
		rows = appendRow(rows, f.over(lawKey(l), "std"), row, 0)
	}
	return rows
}

// noiseSections draw figure 1 and what is wrong with theorem 6.
func noiseSections(f found) []page.Section {
	t := page.Table{
		Caption: "One release of one number of sensitivity 1, epsilon 0.5, delta 0.001",
		Head:    []string{"mechanism", "standard deviation", "true delta", "of 50 releases", "of 100 releases"},
	}
	for _, l := range allLaws {
		std, deltas := f.over(lawKey(l), "std"), f.over(lawKey(l), "deltas")
		if std.seeds > 0 {
			t.Rows = append(t.Rows, page.Line{Struck: l == theorem6, Cells: []string{
				string(l), paper.Short(std.mean[0]), paper.Short(deltas.mean[0]), paper.Short(deltas.mean[1]), paper.Short(deltas.mean[2]),
			}})
		}
	}
	return []page.Section{{
		Title: "The noise of one number",
		Text: []string{
			"Truncated Laplace noise is the least that is private, a little less than Laplace noise. Truncating the Gaussian gains nothing: the best bound is so wide that it cuts off nothing. Theorem 6 asks for far less noise because it takes the mass of one end of the truncated law for delta and forgets where the ratio of the densities exceeds e^epsilon.",
		},
		Charts: []page.Chart{
			lawChart(f, "Noise by epsilon, delta = 0.001", "epsilon", "standard deviation", "by epsilon", epsilons),
			lawChart(f, "Noise by delta, epsilon = 0.5", "delta", "standard deviation", "by delta", tails),
			lawChart(f, "True delta where 0.001 is claimed", "epsilon", "delta at epsilon", "delta by epsilon", epsilons),
		},
		Tables: []page.Table{t},
	}}
}

// lawChart draws one number of each law over a sweep.
func lawChart(f found, title, x, y, name string, at []float64) page.Chart {
	c := page.Chart{
		Title: title, X: page.Axis{Label: x, Log: true}, Y: page.Axis{Label: y, Log: true},
		Alt: title + ": a line for each mechanism; theorem 6 is dashed, since it is not private.",
	}
	for _, l := range allLaws {
		style := page.Ours
		if l == theorem6 {
			style = page.Invalid
		}
		if s, ok := (line{f.over(lawKey(l), name), at}).series(string(l), style); ok {
			c.Series = append(c.Series, s)
		}
	}
	if name == "delta by epsilon" {
		c.Series = append(c.Series, page.Series{Name: "claimed", Style: page.Level, Y: []float64{kmBudget.Delta}})
	}
	return c
}
