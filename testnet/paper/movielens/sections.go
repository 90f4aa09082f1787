package movielens

import (
	"fmt"
	"slices"

	"p2pnode/testnet"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

func (e *experiment) sections(rows []paper.Row, done paper.Done) []page.Section {
	list := []page.Section{e.tableOne(rows)}
	if c := e.learning(done); len(c.Series) > 0 {
		list = append(list, page.Section{
			Title:  "While they learn",
			Text:   []string{fmt.Sprintf("The error of everybody's personal model during the run, in split %d; she fits it around what she has heard so far. At 0 updates she is alone.", e.seeds[0])},
			Charts: []page.Chart{c},
		})
	}
	if s := e.gains(done); len(s.Charts[0].Series) > 0 {
		list = append(list, s)
	}
	return append(list, e.noise())
}

// tableOne is laid out as the paper's table.
func (e *experiment) tableOne(rows []paper.Row) page.Section {
	t := page.Table{
		Caption: "RMSE, mean over people and splits",
		Head:    []string{"", "alone", "no privacy", "eps = 1", "eps = 0.5", "eps = 0.1", "private at that eps?"},
		Rows: []page.Line{{Cells: []string{
			"published", four(published.local), four(published.together[0]), four(published.together[1]),
			four(published.together[0.5]), four(published.together[0.1]), "see below",
		}}},
	}
	for _, r := range readings(e.quick) {
		line := e.line("paper, "+r.name, "paper, "+r.name+": alone", rows, paperDelta, "no")
		line.Struck = true
		t.Rows = append(t.Rows, line)
	}
	for _, k := range kinds() {
		for _, delta := range []float64{paperDelta, smallDelta} {
			if delta == smallDelta && (k.lone || e.quick) {
				continue
			}
			valid := "yes, delta = " + paper.Short(delta)
			switch {
			case k.lone:
				valid = ""
			case k.leaks():
				valid += ", given features"
			}
			t.Rows = append(t.Rows, e.line(k.name, k.name+": tuned, alone", rows, delta, valid))
		}
	}
	return page.Section{
		Title: "Table 1",
		Text: []string{"Crossed out, and dashed: readings of the paper that are not private at the epsilon of their column. " +
			"Below them, what agents reach with privacy that holds, and how well the same people do alone when that is tuned as well."},
		Charts: []page.Chart{againstEpsilon(rows, e.quick)}, Tables: []page.Table{t},
	}
}

// line is a line of the table: alone, without privacy and at each epsilon.
func (e *experiment) line(name, alone string, rows []paper.Row, delta float64, valid string) page.Line {
	cells := []string{name, cell(find(rows, alone, guarantee{}))}
	for _, eps := range append([]float64{0}, epsilons...) {
		cells = append(cells, cell(find(rows, name+": together", guarantee{eps, delta})))
	}
	return page.Line{Cells: append(cells, valid)}
}

func cell(r *paper.Row) string {
	if r == nil {
		return ""
	}
	return four(*r.Error)
}

func four(v float64) string { return fmt.Sprintf("%.4f", v) }

// againstEpsilon draws the errors at the paper's delta.
func againstEpsilon(rows []paper.Row, quick bool) page.Chart {
	c := page.Chart{
		Title: "Error against epsilon, delta = exp(-5)",
		Alt:   "RMSE at epsilon 0.1, 0.5 and 1 for the published numbers, the readings of the paper and the kinds of features.",
		X:     page.Axis{Label: "epsilon of each rating", Log: true},
		Y:     page.Axis{Label: "RMSE in stars, mean over people"},
	}
	add := func(name, setting string, style page.Style) {
		s := page.Series{Name: name, Style: style}
		for _, eps := range epsilons {
			if r := find(rows, setting, guarantee{eps, paperDelta}); r != nil {
				s.X, s.Y = append(s.X, eps), append(s.Y, *r.Error)
			}
		}
		if len(s.X) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	for _, r := range readings(quick) {
		add("paper, "+r.name, "paper, "+r.name+": together", page.Invalid)
	}
	c.Series = append(c.Series, page.Series{
		Name: "paper, losses summed, published", Style: page.Published, X: epsilons,
		Y: []float64{published.together[1], published.together[0.5], published.together[0.1]},
	})
	for _, k := range kinds() {
		add(k.name, k.name+": together", page.Ours)
		if r := find(rows, k.name+": tuned, alone", guarantee{}); r != nil && (!k.lone || k.name == analysed.name) {
			c.Series = append(c.Series, page.Series{Name: k.name + ", alone", Style: page.Level, X: epsilons[:1], Y: []float64{*r.Error}})
		}
	}
	return c
}

// learning draws the errors in the course of the first split.
func (e *experiment) learning(done paper.Done) page.Chart {
	c := page.Chart{
		Title: "Error against updates, epsilon 1, delta = exp(-5)",
		Alt:   "RMSE of the personal models as a function of the updates each person has made.",
		X:     page.Axis{Label: "updates of each person"},
		Y:     page.Axis{Label: "RMSE in stars, mean over people"},
	}
	for _, k := range kinds() {
		alone := e.errors(e.splitsDone(done, func(int) string { return e.aloneKey(k, 0) }))
		n := done[e.key(k, guarantee{1, paperDelta}, 0)]
		if n == nil || alone == nil {
			continue
		}
		c.Series = append(c.Series, page.Series{
			Name: k.name, Style: page.Ours,
			X: slices.Concat([]float64{0}, n["updates"]), Y: slices.Concat(alone[:1], n["curve"]),
		})
	}
	return c
}

// gains shows who wins and who loses.
func (e *experiment) gains(done paper.Done) page.Section {
	c := page.Chart{
		Title: "Gain over the tuned lone model, person by person, at epsilon 1",
		Alt:   "The sorted gains in RMSE against the share of people who gain at most as much.",
		X:     page.Axis{Label: "share of people, per cent", Min: 0, Max: 100},
		Y:     page.Axis{Label: "gain in stars of RMSE", Min: -0.1, Max: 0.15},
	}
	t := page.Table{
		Caption: "By number of training ratings, at epsilon 1 and delta = exp(-5)",
		Head:    []string{"ratings", "people", "alone", "together", "mean gain", "who lose, per cent"},
	}
	for _, k := range kinds() {
		pairs, _ := e.pairs(k, guarantee{1, paperDelta}, done)
		if len(pairs) == 0 {
			continue
		}
		c.Series = append(c.Series, quantiles(k.name, pairs))
		for _, b := range testnet.Bins() {
			if in := b.In(pairs); len(in) > 0 {
				t.Rows = append(t.Rows, page.Line{Group: k.name, Cells: gainCells(b, in, len(e.seeds))})
			}
		}
	}
	return page.Section{
		Title: "Who gains, who loses",
		Text: []string{"A person's error is of a few test ratings, so most of the spread is chance; the mean is what learning together is worth. " +
			"Gains are over the lone model tuned on the same ratings, not over the paper's."},
		Charts: []page.Chart{c}, Tables: []page.Table{t},
	}
}

// quantiles are the gains at every second per cent.
func quantiles(name string, pairs []testnet.Pair) page.Series {
	gains := make([]float64, len(pairs))
	for i, p := range pairs {
		gains[i] = p.Alone - p.With
	}
	slices.Sort(gains)
	s := page.Series{Name: name, Style: page.Ours}
	for percent := 2; percent <= 98; percent += 4 {
		s.X = append(s.X, float64(percent))
		s.Y = append(s.Y, gains[percent*(len(gains)-1)/100])
	}
	return s
}

func gainCells(b testnet.Bin, pairs []testnet.Pair, splits int) []string {
	s, alone := testnet.Summarise(pairs), meanAlone(pairs)
	return []string{
		b.String(), fmt.Sprint(len(pairs) / splits), four(alone), four(s.Error),
		fmt.Sprintf("%+.4f", alone-s.Error), fmt.Sprintf("%.0f", 100*s.Worse),
	}
}
