package crowd

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"p2pnode/testnet"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// method is a row of the report.
type method struct {
	name    string
	key     string // of the cells
	numbers string
	private bool
}

// The rows, by number.
const (
	alone = iota
	freeModels
	freeFits
	budgetModels
	budgetFits
	sumFits
	sumNewcomers
)

var methods = []method{
	alone:        {name: "alone, tuned", key: aloneKey, numbers: fit},
	freeModels:   {name: free.name + ": shared models", key: free.key, numbers: model},
	freeFits:     {name: free.name + ": what each person uses", key: free.key, numbers: fit},
	budgetModels: {name: budget.name + ": shared models", key: budget.key, numbers: model, private: true},
	budgetFits:   {name: budget.name + ": what each person uses", key: budget.key, numbers: fit, private: true},
	sumFits:      {name: "private sum, no graph: what each person uses", key: sumKey, numbers: fit, private: true},
	sumNewcomers: {name: "private sum, no graph: newcomers, who added nothing", key: sumKey, numbers: fresh, private: true},
}

// values are the errors of the sample in all finished seeds.
func (s sizes) values(done paper.Done, m method) (all []float64) {
	for _, seed := range s.seeds {
		all = append(all, done[problem{seed, s.people}.cell(m.key)][m.numbers]...)
	}
	return all
}

// pairs are the errors with a method beside those alone.
func (s sizes) pairs(done paper.Done, m method) (pairs []testnet.Pair) {
	lone := methods[alone]
	for _, seed := range s.seeds {
		by, with := done[problem{seed, s.people}.cell(lone.key)][lone.numbers], done[problem{seed, s.people}.cell(m.key)][m.numbers]
		for i := range by {
			if with != nil {
				pairs = append(pairs, testnet.Pair{Person: len(pairs), Alone: by[i], With: with[i]})
			}
		}
	}
	return pairs
}

// resamples of a bootstrap; with so many people few are enough.
const resamples = 500

func (s sizes) row(done paper.Done, m method) (r paper.Row, ok bool) {
	errors := s.values(done, m)
	if len(errors) == 0 {
		return r, false
	}
	r = paper.Row{
		Setting: m.name, Seeds: len(errors) / s.sample, Valid: m.private, Measure: "share predicted wrong",
		Error: paper.Number(stat.Mean(errors, nil)),
	}
	if m.private {
		r.Epsilon, r.Delta = paper.Number(epsilon), paper.Number(delta)
	}
	if pairs := s.pairs(done, m); len(pairs) > 0 {
		r.Alone = paper.Number(stat.Mean(s.values(done, methods[alone]), nil))
		if m.key != aloneKey {
			gain := testnet.Bootstrap(pairs, resamples, s.seeds[0])
			r.GainLow, r.GainHigh = &gain.Low, &gain.High
		}
	}
	return r, true
}

// verdict judges a private row.
func (s sizes) verdict(done paper.Done, row int) string {
	pairs := s.pairs(done, methods[row])
	if len(pairs) == 0 {
		return ""
	}
	return testnet.Judge(testnet.Evidence{Pairs: pairs, Free: s.pairs(done, methods[freeFits]), Base: 0.5, Seed: s.seeds[0]}).String()
}

// report makes the report of what is done. The verdict is that of the private sum, as
// people would choose it; broadcasts have theirs as a note.
func (s sizes) report(done paper.Done) (*paper.Report, error) {
	r := &paper.Report{Notes: s.notes(), Verdict: s.verdict(done, sumFits)}
	for k, m := range methods {
		row, ok := s.row(done, m)
		if !ok {
			continue
		}
		if k == budgetFits {
			row.Note = s.verdict(done, k)
		}
		r.Rows = append(r.Rows, row)
	}
	r.Summary = s.summary(done)
	r.Sections = append(r.Sections, s.curves(done))
	if table := s.costs(done); len(table.Rows) > 0 {
		r.Sections = append(r.Sections, page.Section{Title: "What it took", Tables: []page.Table{table}, Text: []string{
			"A wake is one release with its message and its deliveries to the neighbours. Memory is the most that the process had taken so far; a private sum is worked out without agents, for one person after the other. " +
				"Seconds and bytes are of the machine that this was run on: they are the only numbers here that differ from run to run.",
		}})
	}
	return r, nil
}

// summary is the main result in a sentence or two.
func (s sizes) summary(done paper.Done) string {
	text := ""
	for _, part := range []struct {
		of     method
		before string
	}{
		{methods[alone], fmt.Sprintf("Of %s people with %d records each, models fitted alone err in ", grouped(s.people), records)},
		{methods[freeFits], ", those fitted around what the neighbours say without privacy in "},
		{methods[budgetFits], fmt.Sprintf(", within epsilon %g and delta 1e-6 in ", epsilon)},
		{methods[sumFits], ", and with a private sum at the same budget in "},
	} {
		if errors := s.values(done, part.of); len(errors) > 0 {
			text += fmt.Sprintf("%s%.1f%%", part.before, 100*stat.Mean(errors, nil))
		} else if text == "" {
			return ""
		}
	}
	return text + " of the tests; one label in twenty is turned round, so nobody can err in less than 5%."
}

// curves is the chart of errors by the number of wakes.
func (s sizes) curves(done paper.Done) page.Section {
	c := page.Chart{
		Title: fmt.Sprintf("%s people, %d records of %d features each", grouped(s.people), records, features),
		Alt:   "Share of fresh records predicted wrong by the number of wakes of each person.",
		Note:  fmt.Sprintf("Means of the first %s people, of whom half an interval of 95 %% is %.4f or less; fits before the end are of %s.", grouped(s.sample), s.precision(done), grouped(s.onTheWay())),
		X:     page.Axis{Label: "wakes per person", Log: true}, Y: page.Axis{Label: "share predicted wrong"},
	}
	level := func(m method, name string, colour page.Colour) {
		if errors := s.values(done, m); len(errors) > 0 {
			c.Series = append(c.Series, page.Series{Name: name, Style: page.Level, Colour: colour, Y: []float64{stat.Mean(errors, nil)}})
		}
	}
	level(methods[alone], "alone, tuned", page.Grey)
	for _, w := range []way{free, budget} {
		for _, of := range []struct {
			numbers, name string
			style         page.Style
		}{{silent, w.name, page.Ours}, {shared, w.name + ", shared models", page.Variant}} {
			series := page.Series{Name: of.name, Style: of.style}
			for k, at := range times {
				if values := s.column(done, w, of.numbers, k); len(values) > 0 {
					series.X, series.Y = append(series.X, float64(at)), append(series.Y, stat.Mean(values, nil))
				}
			}
			if len(series.X) > 0 {
				c.Series = append(c.Series, series)
			}
		}
	}
	level(methods[sumFits], "private sum, no graph", 0)
	return page.Section{Title: "The error by the number of wakes", Charts: []page.Chart{c}, Text: []string{
		"A line with dots is what people use: the fit of each person's own model around what she has heard by then, which is never sent. A dashed line is the models that are sent.",
		fmt.Sprintf("Within the budget each person makes %d releases, each a little less noisy than the one before, and then is silent.", releases),
	}}
}

// column is the k-th number of a way in each finished seed.
func (s sizes) column(done paper.Done, w way, numbers string, k int) (values []float64) {
	for _, seed := range s.seeds {
		if v := done[problem{seed, s.people}.cell(w.key)][numbers]; k < len(v) {
			values = append(values, v[k])
		}
	}
	return values
}

// precision is half of the widest 95 % interval of a mean error.
func (s sizes) precision(done paper.Done) (half float64) {
	for _, m := range methods {
		if errors := s.values(done, m); len(errors) > 1 {
			half = max(half, 1.96*stat.StdDev(errors, nil)/math.Sqrt(float64(len(errors))))
		}
	}
	return half
}

// costs is the table of time and memory.
func (s sizes) costs(done paper.Done) page.Table {
	t := page.Table{
		Caption: fmt.Sprintf("Time and memory of %s people", grouped(s.people)),
		Head:    []string{"", "set up", "run", "wakes", "wakes/s", "per CPU s", "memory at the peak"},
	}
	for _, seed := range s.seeds {
		d := problem{seed, s.people}
		for _, w := range []way{free, budget} {
			n, there := done[d.cell(w.key)]
			if !there {
				continue
			}
			line := page.Line{Cells: []string{
				w.name, fmt.Sprintf("%.0f s", n[setUp][0]), fmt.Sprintf("%.0f s", n[ran][0]), grouped(int(n[made][0])), rate(n[made][0], n[ran][0]), rate(n[made][0], n[used][0]), gigabytes(n[memory][0]),
			}}
			t.Rows = append(t.Rows, line)
		}
		if n, there := done[d.cell(sumKey)]; there {
			t.Rows = append(t.Rows, page.Line{Cells: []string{"private sum", "", fmt.Sprintf("%.0f s", n[ran][0]), "", "", "", gigabytes(n[memory][0])}})
		}
	}
	return t
}

func rate(count, seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return grouped(int(count / seconds))
}

// grouped writes a number with a comma after each three digits from the right.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

func gigabytes(bytes float64) string {
	if bytes == 0 {
		return "not known"
	}
	return fmt.Sprintf("%.2f GB", bytes/1e9)
}

func (s sizes) notes() []string {
	return []string{
		fmt.Sprintf("The problem: %s people with %d records each, all for training, features uniform in [-1, 1]^%d and labels by the side of a target model, one in twenty turned round, in the tests too. The first two coordinates of a target model are the cosine and the sine of an angle of the person's own, and the others 0.", grouped(s.people), records, features),
		fmt.Sprintf("The graph is public, as in the paper: each person has %d neighbours, whose angles differ from hers by %g in the root of the mean square. It comes from the target models: nothing else uses those but the tests.", neighbours, alike),
		"Alone is each person's own fit to her own records, tuned by leave-one-out and marginal likelihood. What each person uses is the same fit around what she has heard, or nearly alone where her records say that this serves better.",
		fmt.Sprintf("The agents, accounts, noise and schedules are the product's: learner personal, %d releases for epsilon %g and delta 1e-6 over the whole run. Private rows hold for replacing one record. The ranges of the features are public.", releases, epsilon),
		fmt.Sprintf("With so few records of each person, noise is far longer than what one of them has to say: a shared model becomes of use only as the neighbours', and their neighbours', noise averages out. It is that of %d neighbours that remains. A private sum averages over everybody at once.", neighbours),
		"The private sum is of the recipe \"moments\": it finds the two coordinates in which people differ, and needs no graph and no wakes.",
		"Constants were chosen on the seed 1001 with 20,000 people, without spending budget. Seconds, rates and bytes are in the table of what it took.",
	}
}
