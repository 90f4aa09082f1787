package linear

import (
	"fmt"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

func (s sizes) dimensionSection(done paper.Done) page.Section {
	section := page.Section{Title: "Figure 2(b): accuracy by the number of features"}
	asPublished := page.Chart{Title: "What the paper plots", Alt: "Accuracy by features, published and by the readings that agree with it."}
	possible := page.Chart{Title: "What is possible", Alt: "Accuracy by features of what is private at the epsilon it states."}
	for _, m := range methods() {
		series := page.Series{Name: m.name}
		if m.epsilon > 0 {
			series.Name = fmt.Sprintf("%s, eps %v", m.name, m.epsilon)
		}
		if m.truth != nil {
			series.Style = page.Invalid
			series.Name += ", not private"
		}
		published := page.Series{Name: series.Name + ": published", Style: page.Published}
		for _, p := range s.dimensions {
			if all := m.values(done, s.agents, p, s.seeds); len(all) > 0 {
				addPoint(&series, float64(p), meanOf(all))
			}
			if v, there := publishedAccuracy[p][m.paper]; there {
				published.X, published.Y = append(published.X, float64(p)), append(published.Y, v)
			}
		}
		if len(series.X) == 0 {
			continue
		}
		if m.paper != "" || m.numbers == target {
			asPublished.Series = append(asPublished.Series, series)
		}
		if len(published.X) > 0 {
			asPublished.Series = append(asPublished.Series, published)
		}
		if m.valid && (m.key == silentKey || m.epsilon == epsilons[0]) || m.key == loneKey || m.numbers == together || m.numbers == target {
			possible.Series = append(possible.Series, series)
		}
	}
	for _, chart := range []page.Chart{asPublished, possible} {
		if len(chart.Series) > 0 {
			chart.X, chart.Y = page.Axis{Label: "features", Log: true}, page.Axis{Label: accuracy}
			section.Charts = append(section.Charts, chart)
		}
	}
	return section
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

// column is the k-th number of a name in each seed.
func (s sizes) column(done paper.Done, key, name string, k int) (values []float64) {
	for _, seed := range s.seeds {
		if v := done[fmt.Sprintf(key, seed)][name]; k < len(v) {
			values = append(values, v[k])
		}
	}
	return values
}
