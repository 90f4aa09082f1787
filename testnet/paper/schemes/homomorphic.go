package schemes

import (
	"fmt"
	"math"
	"strings"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// GraphHomomorphic is figure 1 of Vlaski and Sayed 2020: three ways to add noise in
// diffusion learning (eq. 7-9 and 20; see [learner.Diffusion]), at equal noise power as
// in the paper, and at equal epsilon.
func GraphHomomorphic() paper.Experiment {
	return paper.Experiment{
		Name:  "graph-homomorphic",
		Title: "Where the noise goes: graph-homomorphic perturbations",
		About: `Figure 1 of Vlaski and Sayed, "Graph-homomorphic perturbations for private
decentralized learning" (2020): 20 agents, 5 features, logistic loss, one new record
per agent and iteration, steps 1, .1 and .01. Squared distance from the minimum, of
the agents' models and of their mean, the centroid, which nobody holds: without
noise, with independent noise, and with noise that the graph makes cancel in the
centroid. At equal noise power, as in the paper, and beside it at equal epsilon.`,
		Plan: func(o paper.Options) (*paper.Plan, error) {
			settings := diffusionSettings(o.Quick)
			var trials []trial
			for _, s := range settings {
				trials = append(trials, trial{key: s.key(), cost: float64(s.rounds), run: s.run})
			}
			seeds := 5
			if o.Quick {
				seeds = 2
			}
			return plan("graph-homomorphic", o, seeds, trials, func(f found) *paper.Report { return diffusionReport(f, o.Quick) }), nil
		},
	}
}

const (
	iid         = "iid"
	transmit    = "transmit-only"
	homomorphic = "graph-homomorphic"
)

// figureSteps are the steps of the figure, each with as many iterations as it needs to
// come to rest, or with a few.
func figureSteps(quick bool) []diffusionSetting {
	steps := []diffusionSetting{{mu: 1, rounds: 400}, {mu: .1, rounds: 2000}, {mu: .01, rounds: 8000}}
	if quick {
		steps[0].rounds, steps[1].rounds, steps[2].rounds = 100, 300, 600
	}
	for i := range steps {
		steps[i].lazy = 1
	}
	return steps
}

// with is the same step with another scheme and noise.
func (s diffusionSetting) with(by calibration, scheme string, epsilon float64) diffusionSetting {
	s.by, s.scheme, s.epsilon = by, scheme, epsilon
	return s
}

const streamEpsilon = 10 // of the figure at equal epsilon

func diffusionSettings(quick bool) []diffusionSetting {
	var all []diffusionSetting
	for _, s := range figureSteps(quick) {
		all = append(all, s.with(withoutNoise, iid, 0), s.with(equalPower, iid, 0), s.with(equalPower, homomorphic, 0))
		if s.mu == 1 {
			s.lazy = 5
			all = append(all, s.with(withoutNoise, iid, 0), s.with(equalPower, iid, 0), s.with(equalPower, homomorphic, 0))
		}
	}
	for _, p := range equalEpsilon(quick) {
		all = append(all, p...)
	}
	return all
}

// equalEpsilon are the comparisons at equal epsilon; each begins with independent
// noise.
func equalEpsilon(quick bool) [][]diffusionSetting {
	var all [][]diffusionSetting
	for _, s := range figureSteps(quick) {
		all = append(all, []diffusionSetting{s.with(recordLevel, iid, streamEpsilon), s.with(recordLevel, homomorphic, streamEpsilon)})
	}
	for _, c := range []diffusionSetting{
		{mu: .1, rounds: 1000, epsilon: 1e3}, {mu: .1, rounds: 1000, epsilon: 1e4}, {mu: .1, rounds: 1000, epsilon: 1e5},
		{mu: .1, rounds: 100, epsilon: 10}, {mu: 1, rounds: 100, epsilon: 1e3}, {mu: .01, rounds: 1000, epsilon: 1e3},
	} {
		if c.lazy = 1; quick && c.rounds > 100 {
			continue
		}
		all = append(all, []diffusionSetting{
			c.with(agentLevel, iid, c.epsilon), c.with(agentPrinted, homomorphic, c.epsilon), c.with(agentLevel, homomorphic, c.epsilon),
		})
	}
	for _, c := range []diffusionSetting{{mu: 1, rounds: 10}, {mu: 1, rounds: 100}, {mu: .1, rounds: 100}} {
		c.lazy = 1
		all = append(all, []diffusionSetting{c.with(budgeted, iid, 1), c.with(budgeted, transmit, 1), c.with(budgeted, homomorphic, 1)})
	}
	return all
}

// diffusionPublished is what an independent program found at rest, for the centroid and
// the agents; 0: nothing. Its graph, its class means and, at equal epsilon, its clip (1
// on gradients, here B on features) are different ones of the same kind.
func diffusionPublished(s diffusionSetting) [2]float64 {
	if s.mu*float64(s.rounds) < 20 {
		return [2]float64{} // this run is not at rest
	}
	if s.by == withoutNoise || s.by == equalPower {
		s.rounds = 0
	}
	return map[diffusionSetting][2]float64{
		{withoutNoise, iid, 1, 0, 1, 0}:               {.065},
		{equalPower, iid, 1, 0, 1, 0}:                 {1.51},
		{equalPower, homomorphic, 1, 0, 1, 0}:         {.54},
		{withoutNoise, iid, .1, 0, 1, 0}:              {.005, .006},
		{equalPower, iid, .1, 0, 1, 0}:                {15.3, 17.9},
		{equalPower, homomorphic, .1, 0, 1, 0}:        {.39, 7.5},
		{withoutNoise, iid, .01, 0, 1, 0}:             {.0005},
		{equalPower, iid, .01, 0, 1, 0}:               {167},
		{equalPower, homomorphic, .01, 0, 1, 0}:       {.39},
		{withoutNoise, iid, 1, 0, 5, 0}:               {.098, .94},
		{equalPower, iid, 1, 0, 5, 0}:                 {2.83, 19.0},
		{equalPower, homomorphic, 1, 0, 5, 0}:         {.130, 1.5},
		{agentLevel, iid, .1, 1000, 1, 1e3}:           {0, 4.0},
		{agentPrinted, homomorphic, .1, 1000, 1, 1e3}: {0, 3.7e5},
		{agentLevel, homomorphic, .1, 1000, 1, 1e3}:   {0, 1.2e4},
		{agentLevel, iid, .1, 1000, 1, 1e4}:           {0, .040},
		{agentPrinted, homomorphic, .1, 1000, 1, 1e4}: {0, 3.7e3},
		{agentLevel, homomorphic, .1, 1000, 1, 1e4}:   {0, 120},
		{agentLevel, iid, .1, 1000, 1, 1e5}:           {0, .0097},
		{agentPrinted, homomorphic, .1, 1000, 1, 1e5}: {0, 37},
		{agentLevel, homomorphic, .1, 1000, 1, 1e5}:   {0, 1.2},
	}[s]
}

var diffusionMeasures = [2]string{"MSD at rest, centroid", "MSD at rest, agents"}

// rows are the two rows of a setting, as far as it is finished.
func (s diffusionSetting) rows(f found) []paper.Row {
	row := paper.Row{Setting: s.label()}
	switch s.by {
	case withoutNoise:
	case equalPower:
		row.Epsilon, row.Delta, row.Valid = paper.Number(s.worth()), paper.Number(diffusionTail), true
	default:
		row.Epsilon, row.Delta, row.Valid = paper.Number(s.claimed()), paper.Number(0), true
		if s.by == budgeted {
			row.Delta = paper.Number(diffusionTail)
		}
	}
	var rows []paper.Row
	for i, v := range diffusionPublished(s) {
		r, ok := f.over(s.key(), "rest").fill(row, i)
		if r.Measure = diffusionMeasures[i]; v > 0 {
			r = published(r, v)
		}
		if ok {
			rows = append(rows, r)
		}
	}
	return rows
}

func diffusionReport(f found, quick bool) *paper.Report {
	r := &paper.Report{Notes: diffusionNotes}
	for _, s := range diffusionSettings(quick) {
		r.Rows = append(r.Rows, s.rows(f)...)
	}
	for _, s := range figureSteps(quick) {
		r.Sections = append(r.Sections, page.Section{
			Title: fmt.Sprintf("Step %g", s.mu),
			Charts: []page.Chart{
				s.chart(f, fmt.Sprintf("mu = %g, equal noise power (the paper's figure)", s.mu), equalPower, 0),
				s.chart(f, fmt.Sprintf("mu = %g, equal epsilon for one record", s.mu), recordLevel, streamEpsilon),
			},
		})
	}
	wins, text := diffusionWins(f, quick)
	if r.Summary = text; text != "" {
		r.Sections = append(r.Sections, page.Section{Title: "Who wins at equal epsilon", Text: []string{text}, Tables: []page.Table{wins}})
	}
	return r
}

// chart is the figure for one step and one calibration.
func (s diffusionSetting) chart(f found, title string, by calibration, epsilon float64) page.Chart {
	c := page.Chart{
		Title: title, X: page.Axis{Label: "iterations"}, Y: page.Axis{Label: "squared distance from the minimum", Log: true},
		Alt: title + ": squared distance of the centroid and of the agents' models from the minimum, against iterations.",
	}
	var points []page.Series
	for _, one := range []struct {
		setting diffusionSetting
		name    string
	}{{s.with(withoutNoise, iid, 0), "no noise"}, {s.with(by, iid, epsilon), "independent"}, {s.with(by, homomorphic, epsilon), "graph-homomorphic"}} {
		for i, who := range []string{"centroid", "agents"} {
			v := line{curve: f.over(one.setting.key(), who)}
			for k := range v.mean {
				v.x = append(v.x, (float64(k)+0.5)*float64(s.rounds)/float64(len(v.mean)))
			}
			l, ok := v.series(one.name+", "+who, page.Ours)
			if !ok {
				continue
			}
			c.Series = append(c.Series, l)
			if v := diffusionPublished(one.setting)[i]; v > 0 {
				points = append(points, page.Series{
					Name: one.name + ", " + who + ", " + independent + ", at rest", Style: page.Published, X: []float64{float64(s.rounds)}, Y: []float64{v},
				})
			}
		}
	}
	c.Series = append(c.Series, points...)
	return c
}

// diffusionWins is a table of the comparisons at equal epsilon, with its conclusion.
func diffusionWins(f found, quick bool) (page.Table, string) {
	t := page.Table{
		Caption: "Squared distance at rest, independent against graph-homomorphic noise",
		Head:    []string{"comparison", "agents: iid", "homomorphic", "ratio", "centroid: iid", "homomorphic", "ratio"},
	}
	wins, all, centroid, least, most := 0, 0, 0, math.Inf(1), 0.
	for _, c := range equalEpsilon(quick) {
		one := f.over(c[0].key(), "rest")
		for _, s := range c[1:] {
			other := f.over(s.key(), "rest")
			if one.seeds == 0 || other.seeds == 0 || s.scheme != homomorphic {
				continue
			}
			all++
			if one.mean[1] < other.mean[1] {
				wins++
				least, most = min(least, other.mean[1]/one.mean[1]), max(most, other.mean[1]/one.mean[1])
			}
			if other.mean[0] < one.mean[0] {
				centroid++
			}
			cells := []string{strings.NewReplacer("equal epsilon, ", "", ": "+homomorphic, "").Replace(s.key())}
			for _, i := range []int{1, 0} {
				cells = append(cells, paper.Short(one.mean[i]), paper.Short(other.mean[i]), paper.Short(other.mean[i]/one.mean[i]))
			}
			t.Rows = append(t.Rows, page.Line{Cells: cells})
		}
	}
	if all == 0 {
		return t, ""
	}
	by := ""
	if wins > 0 {
		by = fmt.Sprintf(", by %s to %s times", paper.Short(least), paper.Short(most))
	}
	return t, fmt.Sprintf("At equal epsilon independent noise gives the better models to the agents in %d of %d comparisons%s. The centroid is better with graph-homomorphic noise in %d of them, but nobody holds it, and to publish it would be one more release.", wins, all, by, centroid)
}

// diffusionNotes are what a reader must know.
var diffusionNotes = []string{
	"MSD is the squared distance from the minimiser of the expected loss. At rest: the mean over the last half of the run. The agents' models are the private w_k, which the graph-homomorphic scheme shows to nobody; the centroid is their mean.",
	"The paper does not say which graph, which class means, or whether the noise power is that of a coordinate. Here: Metropolis weights on random graphs with edge probability .3, a mean of norm 1, noise of variance 2 in every coordinate; the lazy graph is .8 I + .2 A.",
	fmt.Sprintf("Features longer than %g are scaled down to that, a third of them: with longer ones a step of 1 can bring two private states further apart, and no epsilon would bound the graph-homomorphic scheme. So a record's gradient is at most %g long, where the independent program clips to 1: epsilons are %g times its own, for the same noise.", featureBound, featureBound, featureBound),
	"At equal noise power epsilon is what that noise is worth to one record of the stream. A record pays much less for independent noise, and the less the smaller the step; that, not the place of the noise, is the factor 1/mu between the two curves. The graph-homomorphic private state carries what a record did to it to all later messages, so the same noise protects it less.",
	"All data of an agent: epsilon of replacing everything it holds, after so many iterations; by (27) as the paper's formula has it, which adds up mu G (i + 1) for ever, and otherwise with the contraction of rho-strong convexity. Epsilons in the thousands protect nobody. They are there because below them every scheme's models are noise.",
	"The centroid does better with graph-homomorphic noise in short runs with much noise: where the slopes of the logistic loss are saturated at both ends, symmetric noise averages out over the agents. Nobody holds the centroid.",
	"One record of a stream: each record is used in one iteration. With independent noise it pays in that one alone, whatever comes after; so a small step comes close to no noise at all.",
}
