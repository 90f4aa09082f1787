package tabular

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/testnet"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// kind is the result of one kind of model, for each complete shuffle.
type kind struct {
	errors  [][]float64 // [shuffle][node], in the units of the report
	logLoss [][]float64 // as errors; nil: none
	area    []float64   // mean over folds and over the nodes that have one; nil: none
}

// way is one way to learn, with its result.
type way struct {
	with, alone, base kind
	newcomer          kind                // of private sums
	majority          bool                // nothing but the majority class was predicted
	gains             []*learner.Interval // of each node in the first complete shuffle; see [learner.Score.Gain]
}

// way collects the result of parts like this one.
func (e *csvRun) way(done paper.Done, like part) way {
	w := way{majority: true}
	for k := range e.repeats {
		var cells []paper.Numbers
		for fold := range folds {
			like.seed, like.fold = e.seed+uint64(k), fold
			if n, ok := done[like.key()]; ok {
				cells = append(cells, n)
			}
		}
		if len(cells) < folds {
			continue
		}
		w.with.add(e, cells, "with")
		w.alone.add(e, cells, "alone")
		w.base.add(e, cells, "base")
		if like.sum {
			w.newcomer.add(e, cells, "newcomer")
		}
		if w.gains == nil {
			w.gains = e.gains(cells)
		}
		for _, n := range cells {
			w.majority = w.majority && !slices.Contains(n["majority"], 0)
		}
	}
	return w
}

// add takes in a shuffle.
func (k *kind) add(e *csvRun, cells []paper.Numbers, model string) {
	var errors, logs tally
	var areas []float64
	for _, n := range cells {
		errors.add(n, model)
		if n[model+logLoss] != nil {
			logs.add(n, model+logLoss)
		}
		areas = append(areas, n[model+area]...)
	}
	means := errors.means()
	for i, loss := range means {
		means[i] = e.coding.measure().Of(loss)
	}
	k.errors = append(k.errors, means)
	if logs.tests != nil {
		k.logLoss = append(k.logLoss, logs.means())
	}
	if areas != nil {
		k.area = append(k.area, stat.Mean(areas, nil))
	}
}

func (w way) pairs() []testnet.Pair { return w.pairsOf(w.with) }

// pairsOf sets the errors of a kind of model beside those alone.
func (w way) pairsOf(with kind) []testnet.Pair { return pairs(with.errors, w.alone.errors) }

// pairs sets what nodes have in each shuffle beside what they have alone.
func pairs(with, alone [][]float64) (list []testnet.Pair) {
	for k := range with {
		for i := range with[k] {
			list = append(list, testnet.Pair{Person: i, Alone: alone[k][i], With: with[k][i]})
		}
	}
	return list
}

// judge is the verdict on a kind of model of a way, beside the same way without noise.
func (e *csvRun) judge(of way, with kind, free way) testnet.Verdict {
	evidence := testnet.Evidence{Pairs: of.pairsOf(with), Free: free.pairs(), Base: meanOf(of.base), MajorityOnly: of.majority, Seed: e.seed}
	if with.logLoss != nil {
		evidence.LogLoss = &testnet.Evidence{
			Pairs: pairs(with.logLoss, of.alone.logLoss), Free: pairs(free.with.logLoss, free.alone.logLoss), Base: stat.Mean(meansOf(of.base.logLoss), nil), Seed: e.seed,
		}
	}
	return testnet.Judge(evidence)
}

func (e *csvRun) report(done paper.Done) (*paper.Report, error) {
	together, private := e.way(done, part{}), e.way(done, part{private: true})
	r := &paper.Report{Notes: e.notes()}
	if len(together.with.errors) > 0 {
		r.Rows = append(r.Rows,
			e.row("alone: each node with a tuned model of its own", together.alone, together.alone),
			e.row("together, without privacy", together.with, together.alone))
		gain(&r.Rows[1], together.pairs())
	}
	if len(private.with.errors) > 0 {
		row := e.row("together, within the privacy budget", private.with, private.alone)
		e.promise(&row)
		gain(&row, private.pairs())
		r.Rows = append(r.Rows, row, e.row("a constant: each node's own "+e.constant(), private.base, private.alone))
		r.Rows = append(r.Rows, e.sumRows(done)...)
		r.Verdict = e.judge(private, private.with, together).String()
	}
	if len(together.with.errors) > 0 && len(private.with.errors) > 0 {
		r.Sections = e.sections(together, private)
		r.Summary = fmt.Sprintf("The %s, mean over nodes, is %.4g of a constant, %.4g alone, %.4g together and %.4g within epsilon %g and delta %s.",
			e.loss(), meanOf(together.base), meanOf(together.alone), meanOf(together.with), meanOf(private.with), e.budget.Epsilon, paper.Short(e.budget.Delta))
	}
	return r, nil
}

// promise is the guarantee of a row within the budget.
func (e *csvRun) promise(row *paper.Row) {
	row.Epsilon, row.Delta = &e.budget.Epsilon, &e.budget.Delta
	if row.Valid = e.task != ""; !row.Valid {
		row.Note = noRanges
	}
}

const noRanges = "the ranges of the columns were taken from the records, which tells something of them: write a task with public ranges and name it with --task"

// of says what the error is of.
func (e *csvRun) of() string { return fmt.Sprintf("of %s, mean over nodes", e.coding.target.name) }

// constant is what a model without features predicts.
func (e *csvRun) constant() string {
	if e.coding.target.classes == nil {
		return "mean"
	}
	return "most frequent class"
}

func (e *csvRun) row(setting string, k, alone kind) paper.Row {
	means := meansOf(k.errors)
	return paper.Row{
		Setting: setting, Seeds: len(k.errors), Measure: string(e.coding.measure()) + " " + e.of(), Spread: spread(means),
		Error: paper.Number(stat.Mean(means, nil)), Alone: paper.Number(meanOf(alone)), LogLoss: meanOrNil(meansOf(k.logLoss)), AUC: meanOrNil(k.area),
	}
}

// meanOf is the mean error over nodes and shuffles.
func meanOf(k kind) float64 { return stat.Mean(meansOf(k.errors), nil) }

func meanOrNil(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return paper.Number(stat.Mean(values, nil))
}

func meansOf(values [][]float64) []float64 {
	means := make([]float64, len(values))
	for k := range values {
		means[k] = stat.Mean(values[k], nil)
	}
	return means
}

// notes say what was read and how.
func (e *csvRun) notes() []string {
	c := e.coding
	records := 0
	for _, o := range e.owners.list {
		records += len(o.records)
	}
	what := "a number"
	if c.target.classes != nil {
		what = fmt.Sprintf("one of %d classes", len(c.target.classes))
	}
	notes := []string{fmt.Sprintf("%d records of %d nodes (column %q), %d features in %d coordinates; %q is taken for %s (--kind number or --kind classes says otherwise).",
		records, len(e.owners.list), e.node, len(c.columns), c.task().Width()-1, c.target.name, what)}
	for _, n := range []struct {
		count int
		text  string
	}{
		{e.owners.leftOut, fmt.Sprintf("%%d nodes have fewer than %d records and were left out.", fewestRecords)},
		{e.more, "%d more nodes were left out, as a quick run takes the first of a file."},
		{e.owners.unlabelled, "%d rows have nothing in the column to predict and were left out."},
	} {
		if n.count > 0 {
			notes = append(notes, fmt.Sprintf(n.text, n.count))
		}
	}
	if e.bad > 0 {
		notes = append(notes, fmt.Sprintf("Lines that cannot be read were left out: %d, for example %s.", e.bad, e.badLine))
	}
	notes = append(notes, c.notes()...)
	if len(e.leftOut) > 0 {
		notes = append(notes, "Columns left out: "+strings.Join(e.leftOut, ", ")+".")
	}
	return append(notes,
		"How long to learn and with how much noise follows from the budget and from the numbers of nodes, records and coordinates, which are taken as public; no record decides it. "+
			"The model of a node that learns alone is tuned by leave-one-out on its own training records, and so is the trust in the others' model; neither ever leaves the node.")
}

// quantiles is the largest number of points of a curve over nodes.
const quantiles = 100

func (e *csvRun) sections(together, private way) []page.Section {
	gains := func(w way) []float64 {
		g := make([]float64, len(w.with.errors[0]))
		for _, p := range w.pairs() {
			g[p.Person] += (p.Alone - p.With) / float64(len(w.with.errors))
		}
		return g
	}
	free, kept := gains(together), gains(private)
	style := page.Ours
	if e.task == "" {
		style = page.Invalid
	}
	x, y := curve(free)
	px, py := curve(kept)
	return []page.Section{{
		Title: "Who gains",
		Text: []string{"The gain of a node is the error of its lone model less that of its model with the others: above zero it is better off together. " +
			"Its 95% interval, of the first shuffle, is of the node's own records, which may be too few to tell."},
		Charts: []page.Chart{{
			Title: "Gain over learning alone",
			Alt:   "The gain of every node, from the smallest to the largest, with and without privacy.",
			X:     page.Axis{Label: "nodes, in order of gain (%)"},
			Y:     page.Axis{Label: "gain in " + e.unit()},
			Series: []page.Series{
				{Name: "without privacy", Style: page.Ours, X: x, Y: y},
				{Name: "within the budget", Style: style, X: px, Y: py},
				{Name: "alone", Style: page.Level, X: []float64{0}, Y: []float64{0}},
			},
		}},
		Tables: []page.Table{e.nodeTable(together, private, kept)},
	}}
}

func (e *csvRun) unit() string {
	switch {
	case e.coding.target.classes != nil:
		return "share of records"
	case e.coding.measure() == learner.RMSLE:
		return "units of the logarithm of " + e.coding.target.name
	}
	return "units of " + e.coding.target.name
}

// loss is the name of the error in the tables and charts of nodes.
func (e *csvRun) loss() string {
	if e.coding.target.classes == nil {
		return string(e.coding.measure()) + " in " + e.unit()
	}
	return string(e.coding.measure())
}

// curve returns the values in order, against their share of the whole in percent.
func curve(values []float64) (x, y []float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := min(len(sorted), quantiles)
	for k := range n {
		at := 0
		if n > 1 {
			at = k * (len(sorted) - 1) / (n - 1)
		}
		x = append(x, 100*float64(at+1)/float64(len(sorted)))
		y = append(y, sorted[at])
	}
	return x, y
}
