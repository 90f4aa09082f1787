package tabular

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"p2pnode/testnet"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// way is one way to learn with what came of it: for each shuffle that is complete,
// the error of each node in the units of the report.
type way struct {
	errors [][]float64 // [shuffle][node]
	alone  [][]float64
}

// ways are those without and with privacy.
func (e *csvRun) ways(done paper.Done, private bool) way {
	var w way
	for k := range e.repeats {
		var with, alone tally
		complete := true
		for fold := range folds {
			n, ok := done[part{e.seed + uint64(k), fold, private}.key()]
			if complete = complete && ok; !complete {
				break
			}
			with.add(n, "with")
			alone.add(n, "alone")
		}
		if complete {
			w.errors = append(w.errors, e.inUnits(with.means()))
			w.alone = append(w.alone, e.inUnits(alone.means()))
		}
	}
	return w
}

// inUnits turns mean squared errors into errors in the units of the target.
func (e *csvRun) inUnits(losses []float64) []float64 {
	if e.coding.target.classes == nil {
		for i, l := range losses {
			losses[i] = math.Sqrt(l) * e.coding.target.unit()
		}
	}
	return losses
}

func (w way) pairs() []testnet.Pair {
	var list []testnet.Pair
	for k := range w.errors {
		for i := range w.errors[k] {
			list = append(list, testnet.Pair{Person: i, Alone: w.alone[k][i], With: w.errors[k][i]})
		}
	}
	return list
}

func (e *csvRun) report(done paper.Done) (*paper.Report, error) {
	together, private := e.ways(done, false), e.ways(done, true)
	r := &paper.Report{Notes: e.notes()}
	if len(together.errors) > 0 {
		r.Rows = append(r.Rows,
			e.row("alone: each node with a tuned model of its own", together.alone, together.alone),
			e.row("together, without privacy", together.errors, together.alone))
		gain(&r.Rows[1], together.pairs())
	}
	if len(private.errors) > 0 {
		row := e.row("together, within the privacy budget", private.errors, private.alone)
		row.Epsilon, row.Delta = &e.budget.Epsilon, &e.budget.Delta
		row.Valid = e.ranges != ""
		if !row.Valid {
			row.Note = noRanges
		}
		gain(&row, private.pairs())
		r.Rows = append(r.Rows, row)
	}
	if len(together.errors) > 0 && len(private.errors) > 0 {
		r.Sections = e.sections(together, private)
		mean := func(errors [][]float64) float64 { return stat.Mean(meansOf(errors), nil) }
		r.Summary = fmt.Sprintf("The %s, mean over nodes, is %.4g alone, %.4g together and %.4g within epsilon %g and delta %s.",
			e.loss(), mean(together.alone), mean(together.errors), mean(private.errors), e.budget.Epsilon, paper.Short(e.budget.Delta))
	}
	return r, nil
}

const noRanges = "the ranges of the columns were taken from the records, which tells something of them: describe public ranges in a file and name it with --ranges"

func (e *csvRun) measure() string {
	if e.coding.target.classes == nil {
		return fmt.Sprintf("root mean squared error of %s, mean over nodes", e.coding.target.name)
	}
	return fmt.Sprintf("share of records whose %s is predicted right, mean over nodes", e.coding.target.name)
}

func (e *csvRun) row(setting string, errors, alone [][]float64) paper.Row {
	means := meansOf(errors)
	mean, lone := stat.Mean(means, nil), stat.Mean(meansOf(alone), nil)
	row := paper.Row{Setting: setting, Seeds: len(errors), Measure: e.measure(), Spread: spread(means)}
	if e.coding.target.classes == nil {
		row.Error, row.Alone = &mean, &lone
	} else {
		row.Accuracy, row.Alone = paper.Number(1-mean), paper.Number(1-lone)
	}
	return row
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
		records, len(e.owners.list), e.node, len(c.columns), len(c.names()), c.target.name, what)}
	for _, n := range []struct {
		count int
		text  string
	}{
		{e.owners.leftOut, fmt.Sprintf("%%d nodes have fewer than %d records and were left out.", fewestRecords)},
		{e.owners.unlabelled, "%d rows have nothing in the column to predict and were left out."},
		{c.missing, "%d cells are empty: they count as the middle of the column's range, or as none of its values."},
		{c.clamped, "%d cells to learn from lie outside the range of their column and count as its nearest end."},
		{c.outside, "%d cells to predict lie outside the declared range and count as its nearest end, in the test too."},
	} {
		if n.count > 0 {
			notes = append(notes, fmt.Sprintf(n.text, n.count))
		}
	}
	if len(e.leftOut) > 0 {
		notes = append(notes, "Columns left out: "+strings.Join(e.leftOut, ", ")+".")
	}
	return append(notes,
		"How long to learn and with how much noise follows from the budget and from the numbers of nodes, records and coordinates, which are taken as public; no record decides it. "+
			"The model of a node that learns alone is tuned by leave-one-out on its own training records, and so is the trust in the others' model; neither ever leaves the node.")
}

// quantiles is how many points a curve over nodes has at most.
const quantiles = 100

// mostNodes is how many nodes the table of nodes lists at most.
const mostNodes = 500

func (e *csvRun) sections(together, private way) []page.Section {
	gains := func(w way) []float64 {
		g := make([]float64, len(w.errors[0]))
		for _, p := range w.pairs() {
			g[p.Person] += (p.Alone - p.With) / float64(len(w.errors))
		}
		return g
	}
	free, kept := gains(together), gains(private)
	style := page.Ours
	if e.ranges == "" {
		style = page.Invalid
	}
	x, y := curve(free)
	px, py := curve(kept)
	return []page.Section{{
		Title: "Who gains",
		Text:  []string{"The gain of a node is the error of its lone model less that of its model with the others: above zero it is better off together."},
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
	if e.coding.target.classes == nil {
		return "units of " + e.coding.target.name
	}
	return "share of records"
}

// loss is what the tables and charts of nodes call the error.
func (e *csvRun) loss() string {
	if e.coding.target.classes == nil {
		return "error in " + e.unit()
	}
	return "share predicted wrong"
}

// curve is the values in order against their share of the whole in percent.
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

// nodeTable has a line for each node, from the largest gain to the smallest.
func (e *csvRun) nodeTable(together, private way, gains []float64) page.Table {
	order := make([]int, len(gains))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(gains[b], gains[a]) })
	t := page.Table{
		Caption: "Each node's " + e.loss() + ", the largest gain within the budget first",
		Head:    []string{e.node, "records", "alone", "together", "within the budget", "gain"},
	}
	if len(order) > mostNodes {
		t.Caption += fmt.Sprintf(": the first and last %d of %d", mostNodes/2, len(order))
		order = slices.Concat(order[:mostNodes/2], order[len(order)-mostNodes/2:])
	}
	mean := func(w [][]float64, i int) float64 {
		var sum float64
		for k := range w {
			sum += w[k][i]
		}
		return sum / float64(len(w))
	}
	decimals := 4 // so that the mean has four digits
	if size := stat.Mean(meansOf(together.alone), nil); size > 0 {
		decimals = max(3-int(math.Floor(math.Log10(size))), 0)
	}
	for _, i := range order {
		o := e.owners.list[i]
		t.Rows = append(t.Rows, page.Line{Cells: []string{
			o.name, fmt.Sprint(len(o.records)), fmt.Sprintf("%.*f", decimals, mean(together.alone, i)),
			fmt.Sprintf("%.*f", decimals, mean(together.errors, i)), fmt.Sprintf("%.*f", decimals, mean(private.errors, i)), fmt.Sprintf("%+.*f", decimals, gains[i]),
		}})
	}
	return t
}
