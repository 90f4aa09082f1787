package linear

import (
	"fmt"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

func (s sizes) dimensionSection(done paper.Done) page.Section {
	section := page.Section{Title: "Figure 2(b): accuracy by the number of features", Text: []string{
		"First without privacy, then at each epsilon, beside the tuned lone models. Crosses are readings of the paper that do not keep the epsilon they state. Lines are means over the seeds, bands reach from the least to the largest.",
	}}
	for _, epsilon := range append([]float64{0}, epsilons...) {
		chart := page.Chart{
			Title: "Without privacy", Alt: "Accuracy by the number of features, published and measured.",
			X: page.Axis{Label: "features", Log: true}, Y: page.Axis{Label: accuracy},
		}
		if epsilon > 0 {
			chart.Title = fmt.Sprintf("Epsilon %v", epsilon)
		}
		for _, m := range methods() {
			if m.epsilon == epsilon || m.key == loneKey {
				chart.Series = append(chart.Series, s.dimensionSeries(done, m)...)
			}
		}
		if len(chart.Series) > 0 {
			section.Charts = append(section.Charts, chart)
		}
	}
	return section
}

// dimensionSeries are the measured numbers of a method, and the published ones unless
// another reading already shows them.
func (s sizes) dimensionSeries(done paper.Done, m method) []page.Series {
	series := page.Series{Name: m.name}
	switch {
	case m.truth != nil:
		series.Style = page.Invalid
	case m.delta > 0:
		series.Style = page.Variant
	case m.key == loneKey:
		series.Colour = page.Grey
	}
	published := page.Series{Name: m.name + ", published", Style: page.Published}
	for _, p := range s.dimensions {
		all := m.values(done, s.agents, p, s.seeds)
		if len(all) == 0 {
			continue
		}
		addPoint(&series, float64(p), meanOf(all))
		if v, there := publishedAccuracy[p][m.paper]; there && m.numbers != name(longFig, m.epsilon) {
			published.X, published.Y = append(published.X, float64(p)), append(published.Y, v)
		}
	}
	var list []page.Series
	for _, each := range []page.Series{series, published} {
		if len(each.X) > 0 {
			list = append(list, each)
		}
	}
	return list
}

func (s sizes) tradeOffSection(done paper.Done) page.Section {
	section := page.Section{Title: "Figure 2(a): accuracy by the number of updates"}
	chart := page.Chart{
		Title: fmt.Sprintf("%d features, eps %v", s.figure1, tradeOffEpsilon), Alt: "Accuracy by the number of updates each person makes.",
		X: page.Axis{Label: "updates per person", Log: true}, Y: page.Axis{Label: accuracy},
	}
	for _, c := range []struct {
		key, name string
		updates   []int
		style     page.Style
	}{
		{tradeOffReading, "reading of the figures, not private", tradeOffUpdates, page.Invalid},
		{tradeOffShared, "Gaussian, shared models", tradeOffUpdates, page.Ours},
		{tradeOffSilent, "Gaussian, with silent fit", silentUpdates, page.Ours},
	} {
		series := page.Series{Name: c.name, Style: c.style}
		for k, updates := range c.updates {
			if values := s.column(done, tradeOffKey, c.key, k); len(values) > 0 {
				addPoint(&series, float64(updates), spanOf(values))
			}
		}
		if len(series.X) > 0 {
			chart.Series = append(chart.Series, series)
		}
	}
	if len(chart.Series) > 0 {
		section.Charts = append(section.Charts, chart)
	}
	return section
}

// column is the k-th number of a name, in each seed.
func (s sizes) column(done paper.Done, key, name string, k int) (values []float64) {
	for _, seed := range s.seeds {
		if v := done[fmt.Sprintf(key, seed)][name]; k < len(v) {
			values = append(values, v[k])
		}
	}
	return values
}
