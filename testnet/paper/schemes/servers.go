package schemes

import (
	"fmt"
	"math"
	"slices"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// Polar is figure 3 of POLAR-SGD (Gade and Vaidya): sub-optimality against iterations
// and against consensus rounds, see [learner.Polar]. Over the Delta steps between two
// consensus rounds the weights add up to M, so that with M = S servers the mean of the
// servers moves as in one step of gradient descent.
func Polar() paper.Experiment {
	return paper.Experiment{
		Name:  "polar",
		Title: "What obfuscation costs in speed: POLAR-SGD",
		About: `Figure 3 of POLAR-SGD (Gade and Vaidya, "Private Learning on Networks", parts I
and II): 5 parameter servers, 100 clients, 100,000 points, least squares.
Sub-optimality against iterations and against consensus rounds, for 10, 20 and 50
iterations between two of them, and without obfuscation; and which model a client
takes its gradient at: the first it hears, the mean of all, or each server's own.
Obfuscation is no differential privacy: no epsilon bounds what is learned about a
record.`,
		Plan: func(o paper.Options) (*paper.Plan, error) {
			var trials []trial
			for _, s := range polarSettings(o.Quick) {
				trials = append(trials, trial{key: s.key(), cost: s.cost(), run: s.run})
			}
			return plan("polar", o, 3, trials, func(f found) *paper.Report { return polarReport(f, o.Quick) }), nil
		},
	}
}

// cost is the number of gradients of all clients.
func (s polarSetting) cost() float64 {
	if s.update == basic {
		return float64(polarServers * s.steps)
	}
	return float64(s.steps)
}

var deltas = []int{10, 20, 50}

// updates are the paper's three cases; Delta sets how they are compared.
var updates = []string{minimum, averaged, basic}

const (
	updateDelta = 10
	updateSteps = 500
)

// polarSettings are the runs: minimum-wait with each Delta, and the other updates for
// fewer steps.
func polarSettings(quick bool) []polarSetting {
	s := polarSetting{update: minimum, clients: 100, records: 1000, steps: 4000}
	if quick {
		s.clients, s.records, s.steps = 20, 100, 500
	}
	var all []polarSetting
	for _, s.delta = range deltas {
		all = append(all, s)
	}
	s.delta, s.steps = updateDelta, updateSteps
	for _, s.update = range updates[1:] {
		all = append(all, s)
	}
	return all
}

// polarSteps are the steps of the table.
var polarSteps = []int{100, 500, 1000, 2000, 4000}

// polarPublished are the sub-optimalities at polarSteps; 0 is for gradient descent.
var polarPublished = map[int][]float64{
	0:  {5.6e-3, 4.8e-5, 7.9e-6, 1.9e-6, 7e-7},
	10: {.72, .044, .009, .0014, 1.6e-4},
	20: {1.7, .17, .046, .0092, 1.4e-3},
	50: {3.9, .71, .25, .070, 1.5e-2},
}

const withoutObfuscation = "without obfuscation"

func polarReport(f found, quick bool) *paper.Report {
	settings := polarSettings(quick)
	r := &paper.Report{Notes: polarNotes}
	plain := f.over(settings[0].key(), "descent")
	for i, k := range polarSteps {
		if k > settings[0].steps {
			break
		}
		row := published(paper.Row{Setting: fmt.Sprintf("%d iterations: %s", k, withoutObfuscation), Measure: "sub-optimality"}, polarPublished[0][i])
		r.Rows = appendRow(r.Rows, plain, row, k)
		for _, s := range settings[:len(deltas)] {
			row := paper.Row{Setting: fmt.Sprintf("%d iterations: Delta %d", k, s.delta), Measure: "sub-optimality"}
			r.Rows = appendRow(r.Rows, f.over(s.key(), "excess"), published(row, polarPublished[s.delta][i]), k/s.delta)
		}
	}
	for i, update := range updates {
		s := settings[0]
		if s.update = update; i > 0 {
			s = settings[len(deltas)+i-1]
		}
		row := paper.Row{Setting: fmt.Sprintf("%d iterations, by what a client hears: Delta %d, %s", updateSteps, updateDelta, update), Measure: "sub-optimality"}
		r.Rows = appendRow(r.Rows, f.over(s.key(), "excess"), row, updateSteps/updateDelta)
	}
	r.Sections = []page.Section{
		{Title: "Sub-optimality", Charts: []page.Chart{
			polarChart(f, settings, "Sub-optimality against iterations", "iterations", func(s polarSetting) float64 { return float64(s.delta) }),
			polarChart(f, settings, "Sub-optimality against consensus rounds", "consensus rounds", func(polarSetting) float64 { return 1 }),
		}},
		slowdownSection(f, settings[:len(deltas)]),
	}
	r.Summary = "With Delta iterations between two consensus rounds POLAR-SGD is about Delta times slower than gradient descent, and none of it is differential privacy."
	if c := f.over(settings[0].key(), "slowdown"); c.seeds > 0 {
		r.Summary += fmt.Sprintf(" After %d iterations with Delta = %d it is where gradient descent was %s times sooner.", settings[0].steps, settings[0].delta, paper.Short(c.mean[settings[0].steps/settings[0].delta]))
	}
	return r
}

// appendRow adds a row with the i-th number of a curve, if it is done.
func appendRow(rows []paper.Row, c curve, row paper.Row, i int) []paper.Row {
	if r, ok := c.fill(row, i); ok {
		return append(rows, r)
	}
	return rows
}

// polarName is the name of a curve; 0 is for gradient descent.
func polarName(delta int) string {
	if delta == 0 {
		return withoutObfuscation
	}
	return fmt.Sprintf("Delta = %d", delta)
}

// polarChart draws the runs of minimum-wait and gradient descent; one consensus round
// is unit(s) of the axis.
func polarChart(f found, settings []polarSetting, title, label string, unit func(polarSetting) float64) page.Chart {
	c := page.Chart{
		Title: title, X: page.Axis{Label: label, Log: true}, Y: page.Axis{Label: "sub-optimality per point", Log: true},
		Alt: title + ", for three lengths of the window between two consensus rounds and without obfuscation.",
	}
	if l, ok := f.over(settings[0].key(), "descent").every(1).series(polarName(0), page.Ours); ok {
		c.Series = append(c.Series, l)
	}
	for _, s := range settings[:len(deltas)] {
		if l, ok := f.over(s.key(), "excess").every(unit(s)).series(polarName(s.delta), page.Ours); ok {
			c.Series = append(c.Series, l)
		}
	}
	for _, delta := range append([]int{0}, deltas...) {
		if !slices.ContainsFunc(c.Series, func(s page.Series) bool { return s.Name == polarName(delta) }) {
			continue // not finished yet
		}
		points := page.Series{Name: polarName(delta) + ", " + independent, Style: page.Published}
		for i, k := range polarSteps {
			x := float64(k)
			if delta > 0 {
				x *= unit(polarSetting{delta: delta}) / float64(delta)
			}
			points.X, points.Y = append(points.X, x), append(points.Y, polarPublished[delta][i])
		}
		c.Series = append(c.Series, points)
	}
	return c
}

// slowdownSection has the slowdowns as a table.
func slowdownSection(f found, settings []polarSetting) page.Section {
	t := page.Table{Caption: "Iterations over those in which gradient descent comes as far", Head: []string{"iterations"}}
	for _, s := range settings {
		t.Head = append(t.Head, fmt.Sprintf("Delta = %d", s.delta))
	}
	for _, k := range polarSteps {
		if k > settings[0].steps {
			break
		}
		line := page.Line{Cells: []string{fmt.Sprint(k)}}
		for _, s := range settings {
			cell := ""
			if c := f.over(s.key(), "slowdown"); c.seeds > 0 {
				cell = paper.Short(c.mean[k/s.delta])
			}
			line.Cells = append(line.Cells, cell)
		}
		t.Rows = append(t.Rows, line)
	}
	return page.Section{
		Title: "How much slower", Tables: []page.Table{t},
		Text: []string{"The weights of the servers and of the Delta iterations of a window add up to M = 5, the number of servers. So a window moves the mean of the servers as one step of gradient descent does, and the rest of the iterations cancel."},
	}
}

var polarNotes = []string{
	"No row has a guarantee. Obfuscation hides a gradient in one message; what a server learns over many, what servers learn together, and what the exact mean tells is bounded by nothing. With noise inside the sum (polar.private) the ledger's guarantee holds.",
	"The paper leaves open the dimension, the step rule, the law of the weights and the bound on d. As in the independent program there are 10 features, a_k = .2 k^-.75 on the mean gradient for records of squared norm 10, and a sub-optimality of 15.5 at the start. Our choice: weights of a Gaussian law with sum 5 and absolute sum 50, d of norm 5 at most. k counts consensus rounds, so that a_k is the same in all Delta iterations of a window.",
	"Without obfuscation ours is gradient descent on all points, and falls on; the independent program's numbers level off from 1000 iterations on, as they would with a few points in each gradient. At a given Delta both agree all the way: they are not that far down.",
	"Records are drawn in all directions, with a model of its own for each client around a common one.",
}

// every returns the curve over its positions times unit, thinned evenly on a
// logarithmic axis.
func (c curve) every(unit float64) line {
	l := line{curve: curve{seeds: c.seeds}}
	last := -1
	for x := 1.; int(x) < len(c.mean); x *= 1.08 {
		if i := int(math.Round(x)); i != last && i < len(c.mean) {
			last = i
			l.x = append(l.x, float64(i)*unit)
			l.mean, l.spread = append(l.mean, c.mean[i]), append(l.spread, c.spread[i])
		}
	}
	return l
}
