package linear

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// publishedFigure1 are accuracies of figure 1.
var publishedFigure1 = struct{ iterations, cd, admm []float64 }{
	[]float64{0, 100, 200, 300, 500, 750, 1000, 1500},
	[]float64{.662, .769, .812, .832, .854, .864, .870, .875},
	[]float64{.660, .667, .674, .685, .709, .742, .766, .806},
}

// curves of figure 1 with their names for readers.
var curves = []struct{ key, name string }{
	{byPaper, "coordinate descent"},
	{byAgents, "the same through the agents, one bound for all steps"},
	{byPublic, "the same, step from public bounds only"},
	{byADMM, "ADMM"},
}

func (s sizes) figure1Section(done paper.Done) page.Section {
	section := page.Section{Title: "Figure 1: coordinate descent and ADMM", Text: []string{
		fmt.Sprintf("Both minimise the same objective Q, with %d features and mu = %v on the mean loss, from everybody's own local model. An iteration is one person's update or the activation of one edge. A p-vector is counted once for each neighbour it is sent to, and four for an activation.", s.figure1, figure1Mu),
		"ADMM is ahead for the first few vectors and descent after that. The paper's step comes from the spectral norm of everybody's own data, which nobody may know; from the ranges of the features alone it is far shorter.",
	}}
	for _, c := range []struct{ title, x, y, label string }{
		{"Distance to the optimum by iterations", "iterations", "gap", "Q - Q*"},
		{"Distance to the optimum by vectors sent", "vectors", "gap", "Q - Q*"},
		{"Distance to the optimum, a broadcast counted once", "broadcasts", "gap", "Q - Q*"},
		{"Accuracy by iterations", "iterations", accuracy, "accuracy"},
	} {
		if chart := s.figure1Chart(done, c.x, c.y); chart != nil {
			chart.Title, chart.Y.Label = c.title, c.label
			chart.Alt = c.title + " of coordinate descent and ADMM."
			section.Charts = append(section.Charts, *chart)
		}
	}
	if t := s.figure1Table(done); t != nil {
		section.Tables = append(section.Tables, *t)
	}
	return section
}

func (s sizes) figure1Chart(done paper.Done, x, y string) *page.Chart {
	chart := &page.Chart{X: page.Axis{Label: map[string]string{
		"iterations": "iterations", "vectors": "p-vectors sent", "broadcasts": "p-vectors sent, a broadcast counted once",
	}[x]}}
	most := map[string]float64{"iterations": 3000, "vectors": 45_000, "broadcasts": 12_000}[x]
	if y == accuracy {
		most = 1500
	}
	chart.Y.Log = y == "gap"
	for _, c := range curves {
		series := page.Series{Name: c.name}
		for k := range figure1Points + 1 {
			at := most * float64(k) / figure1Points
			if values := s.at(done, c.key, x, y, at); len(values) > 0 {
				addPoint(&series, at, spanOf(values))
			}
		}
		if len(series.X) > 0 {
			chart.Series = append(chart.Series, series)
		}
	}
	if len(chart.Series) == 0 {
		return nil
	}
	if y == accuracy && s.figure1 == 100 {
		f := publishedFigure1
		chart.Series = append(chart.Series,
			page.Series{Name: "coordinate descent, published", Style: page.Published, X: f.iterations, Y: f.cd},
			page.Series{Name: "ADMM, published", Style: page.Published, X: f.iterations, Y: f.admm})
	}
	return chart
}

// figure1Points is the number of points of a curve.
const figure1Points = 60

// addPoint adds a mean with its band.
func addPoint(s *page.Series, x float64, m mean) {
	s.X, s.Y = append(s.X, x), append(s.Y, m.value)
	s.Low, s.High = append(s.Low, m.low), append(s.High, m.high)
}

// at interpolates a curve of figure 1 in each seed; it interpolates gaps in their
// logarithms.
func (s sizes) at(done paper.Done, key, x, y string, at float64) (values []float64) {
	for _, seed := range s.seeds {
		n := done[fmt.Sprintf(figure1Key, seed)]
		xs, ys := n[key+" "+x], n[key+" "+y]
		k := sort.SearchFloat64s(xs, at)
		switch {
		case k == len(xs), k == 0 && xs[k] > at: // beyond the curve
			continue
		case xs[k] == at:
			values = append(values, ys[k])
			continue
		}
		share := (at - xs[k-1]) / (xs[k] - xs[k-1])
		if y == "gap" && ys[k-1] > 0 && ys[k] > 0 {
			values = append(values, math.Exp((1-share)*math.Log(ys[k-1])+share*math.Log(ys[k])))
		} else {
			values = append(values, (1-share)*ys[k-1]+share*ys[k])
		}
	}
	return values
}

func (s sizes) figure1Table(done paper.Done) *page.Table {
	t := &page.Table{
		Caption: "Q - Q*, and the accuracy at the same place",
		Head:    []string{"", "300 iterations", "1,000 iterations", "3,000 iterations", "3,300 vectors", "10,000 vectors", "30,000 vectors"},
	}
	for _, c := range curves {
		line := page.Line{Cells: []string{c.name}}
		for _, at := range []float64{300, 1000, 3000} {
			line.Cells = append(line.Cells, s.figure1Cell(done, c.key, "iterations", at))
		}
		for _, at := range []float64{3300, 10_000, 30_000} {
			line.Cells = append(line.Cells, s.figure1Cell(done, c.key, "vectors", at))
		}
		if strings.Join(line.Cells[1:], "") != "" {
			t.Rows = append(t.Rows, line)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func (s sizes) figure1Cell(done paper.Done, key, x string, at float64) string {
	gaps, right := s.at(done, key, x, "gap", at), s.at(done, key, x, accuracy, at)
	if len(gaps) == 0 {
		return ""
	}
	gap, format := spanOf(gaps).value, "%.3g (%.3f)"
	if gap >= 100 {
		format = "%.0f (%.3f)"
	}
	return fmt.Sprintf(format, gap, spanOf(right).value)
}
