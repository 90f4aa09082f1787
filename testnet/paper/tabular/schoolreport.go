package tabular

import (
	"fmt"

	"gonum.org/v1/gonum/stat"

	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// What Liu et al. 2022 published, at epsilon 6 and delta 1e-3.
const (
	publishedEpsilon = 6.
	publishedDelta   = 1e-3
	publishedFedAvg  = .02564
	publishedLocal   = .02628
	publishedMRMTL   = .02394
	publishedSource  = "Liu, Hu, Wu, Smith 2022: MR-MTL, the best of theirs (FedAvg .02564, local .02628)"
	schoolMeasure    = "MSE of (score - 1)/69 over test pupils"
)

// atPublished is how the schools learn at the published budget.
var atPublished = schoolWay{"diffusion", privacy.Budget{Epsilon: publishedEpsilon, Delta: publishedDelta}}

// results are the errors of one kind of model, split by split.
type results struct {
	pooled []float64      // over pupils
	means  []float64      // over schools
	pairs  []testnet.Pair // each school's share of the pooled error, beside the lone model's
}

// results collects the results of the finished splits.
func (e *schoolRun) results(done paper.Done, w schoolWay, model string) results {
	var r results
	for k := range e.splits {
		n, ok := done[w.key(e.seed+uint64(k))]
		if !ok {
			continue
		}
		var t, alone tally
		t.add(n, model)
		alone.add(n, "alone")
		r.pooled = append(r.pooled, inMarks(t.pooled()))
		r.means = append(r.means, inMarks(stat.Mean(t.means(), nil)))
		mean := stat.Mean(t.tests, nil)
		for i := range t.loss {
			r.pairs = append(r.pairs, testnet.Pair{Person: i, Alone: inMarks(alone.loss[i] / mean), With: inMarks(t.loss[i] / mean)})
		}
	}
	return r
}

// inMarks converts a squared error of the score to one of (score - 1)/69.
func inMarks(loss float64) float64 {
	return loss / ((mostScore - leastScore) * (mostScore - leastScore))
}

func (e *schoolRun) report(done paper.Done) (*paper.Report, error) {
	r := &paper.Report{Notes: schoolNotes()}
	table := page.Table{Caption: "Over pupils and over schools", Head: []string{"setting", "epsilon", "delta", "over pupils", "mean over schools"}}
	add := func(setting string, w schoolWay, model string) {
		got := e.results(done, w, model)
		if len(got.pooled) == 0 {
			return
		}
		row := e.row(setting, w, model, got, e.results(done, w, "alone"))
		r.Rows = append(r.Rows, row)
		epsilon, delta := "", ""
		if row.Epsilon != nil {
			epsilon, delta = paper.Short(*row.Epsilon), paper.Short(*row.Delta)
		}
		table.Rows = append(table.Rows, page.Line{Cells: []string{
			setting, epsilon, delta, fmt.Sprintf("%.5f", *row.Error), fmt.Sprintf("%.5f", stat.Mean(got.means, nil)),
		}})
	}
	add("alone: each school's tuned model, never sent", e.ways[0], "alone")
	for _, w := range e.ways {
		add(w.String()+": each school's own fit, never sent", w, "with")
	}
	for _, w := range e.ways {
		if w.learner == bySum {
			add(w.String()+": a newcomer's own fit, who added nothing", w, "newcomer")
		} else {
			add(w.String()+": the model as released", w, "shared")
		}
	}
	add("a constant: the mean of each school's own pupils", e.ways[0], "base")
	r.Verdict, r.Summary = e.verdict(done), e.summary(done)
	if len(table.Rows) > 0 {
		paper.Group(table.Rows)
		r.Sections = []page.Section{{Title: "Error against epsilon", Charts: e.charts(done), Tables: []page.Table{table}}}
	}
	return r, nil
}

// verdict is that at the published budget.
func (e *schoolRun) verdict(done paper.Done) string {
	private := e.results(done, atPublished, "with")
	if len(private.pairs) == 0 {
		return ""
	}
	free := e.results(done, e.ways[0], "with")
	return testnet.Judge(testnet.Evidence{Pairs: private.pairs, Free: free.pairs, Base: e.base(done), Seed: e.seed}).String()
}

// base is the error of a constant, the mean of a school's own pupils, in the mean over
// the splits.
func (e *schoolRun) base(done paper.Done) float64 {
	return stat.Mean(e.results(done, e.ways[0], "base").pooled, nil)
}

// summary compares at the published budget.
func (e *schoolRun) summary(done paper.Done) string {
	personal, released, alone := e.results(done, atPublished, "with"), e.results(done, atPublished, "shared"), e.results(done, atPublished, "alone")
	if len(personal.pooled) == 0 {
		return ""
	}
	return fmt.Sprintf("At epsilon %g and delta %g the mean squared error is %.5f with a school's own fit and %.5f alone, neither of which is sent; %.5f with the model as released, where %.5f is published.",
		publishedEpsilon, publishedDelta, stat.Mean(personal.pooled, nil), stat.Mean(alone.pooled, nil), stat.Mean(released.pooled, nil), publishedMRMTL)
}

func (e *schoolRun) row(setting string, w schoolWay, model string, got, alone results) paper.Row {
	row := paper.Row{
		Setting: setting, Seeds: len(got.pooled), Measure: schoolMeasure, Spread: spread(got.pooled),
		Error: paper.Number(stat.Mean(got.pooled, nil)), Alone: paper.Number(stat.Mean(alone.pooled, nil)),
	}
	if model == "alone" || model == "base" {
		return row
	}
	gain(&row, got.pairs)
	if w.learner == bySum {
		row.Note = testnet.Judge(testnet.Evidence{Pairs: got.pairs, Seed: e.seed}).String()
	}
	if w.free() {
		return row
	}
	row.Epsilon, row.Delta, row.Valid = paper.Number(w.budget.Epsilon), paper.Number(w.budget.Delta), true
	if w.budget == atPublished.budget {
		row.Published, row.Source = paper.Number(publishedMRMTL), publishedSource
	}
	return row
}

// charts has two charts for each delta: what a school uses, and what it sent.
func (e *schoolRun) charts(done paper.Done) []page.Chart {
	var list []page.Chart
	for _, delta := range schoolDeltas() {
		for _, kind := range []struct{ model, title, alt string }{
			{"with", "Own fit, never sent", "The error of each school's own fit against epsilon, beside the published errors and the lone model."},
			{"shared", "As released", "The error of the models as released against epsilon, beside the published errors and the lone model."},
		} {
			c := page.Chart{
				Title: fmt.Sprintf("%s: delta = %s", kind.title, paper.Short(delta)), Alt: kind.alt,
				X: page.Axis{Label: "epsilon for each pupil", Log: true},
				Y: page.Axis{Label: "MSE of (score - 1)/69"},
			}
			for _, learner := range []string{"diffusion", "personal"} {
				if s := e.curve(done, learner, kind.model, delta, "learner "+learner); len(s.X) > 0 {
					c.Series = append(c.Series, s)
				}
			}
			if len(c.Series) == 0 {
				continue
			}
			c.Series = append(c.Series, e.levels(done)...)
			if delta == publishedDelta {
				c.Series = append(c.Series,
					point("Liu et al.: FedAvg", publishedFedAvg), point("Liu et al.: local", publishedLocal), point("Liu et al.: MR-MTL", publishedMRMTL))
			}
			list = append(list, c)
		}
	}
	return list
}

func point(name string, y float64) page.Series {
	return page.Series{Name: name, Style: page.Published, X: []float64{publishedEpsilon}, Y: []float64{y}}
}

// curve is the error against epsilon, with its spread over the splits as a band.
func (e *schoolRun) curve(done paper.Done, learner, model string, delta float64, name string) page.Series {
	s := page.Series{Name: name, Style: page.Ours}
	for _, w := range e.ways {
		if w.learner != learner || w.budget.Delta != delta {
			continue
		}
		got := e.results(done, w, model)
		if len(got.pooled) == 0 {
			continue
		}
		mean, std := stat.Mean(got.pooled, nil), 0.
		if v := spread(got.pooled); v != nil {
			std = *v
		}
		s.X, s.Y = append(s.X, w.budget.Epsilon), append(s.Y, mean)
		s.Low, s.High = append(s.Low, mean-std), append(s.High, mean+std)
	}
	return s
}

// levels are the errors that do not depend on epsilon.
func (e *schoolRun) levels(done paper.Done) []page.Series {
	var list []page.Series
	for _, l := range []struct{ model, name string }{{"alone", "alone"}, {"with", "own fit without privacy"}} {
		if got := e.results(done, e.ways[0], l.model); len(got.pooled) > 0 {
			list = append(list, page.Series{Name: l.name, Style: page.Level, X: []float64{publishedEpsilon}, Y: []float64{stat.Mean(got.pooled, nil)}})
		}
	}
	return list
}

func schoolNotes() []string {
	return []string{
		"Error is over all test pupils, as in Liu et al., whose program weights the schools by their test pupils; the table has the mean over schools too. " +
			"70% of each school's pupils are learned from and 30% kept for the test, drawn anew for each split.",
		"What is protected is one pupil's record against everybody outside the school, with replace-one neighbours, over the whole run. " +
			"In Liu et al. each school's model itself is released, so their local model carries noise. Here a school's own model never leaves it, and neither it nor the lone model needs noise: " +
			"to set those beside their numbers is to compare two promises. The rows of released models are like theirs: everything that is measured there was sent with noise.",
		"Features are brought to scale by public ranges: percentages from 0 to 100, everything else yes or no. " +
			"Liu et al. standardise each school's features by its own training records, which epsilon does not count.",
		"The pulls of the personal and of the lone model and how long to learn were chosen on validation parts of the training records of two splits; other splits have some of those pupils in their tests. Clip and step follow from public numbers as in experiment csv.",
	}
}
