package linear

import (
	"fmt"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// bins of figure 2(c), by the number of records.
var bins = []bin{{10, 32}, {33, 55}, {56, 78}, {79, 100}}

type bin struct{ from, to int }

// sizeSection is figure 2(c) at the largest number of features.
func (s sizes) sizeSection(done paper.Done) page.Section {
	p := s.dimensions[len(s.dimensions)-1]
	section := page.Section{Title: "Figure 2(c): accuracy by the number of records"}
	t := page.Table{Caption: fmt.Sprintf("Mean accuracy of people by their number of records, %d features", p), Head: []string{""}}
	for _, b := range bins {
		t.Head = append(t.Head, fmt.Sprintf("%d to %d records", b.from, b.to))
	}
	t.Head = append(t.Head, "all gain")
	for _, m := range methods() {
		line, ok := s.sizeLine(done, m, p)
		if ok {
			t.Rows = append(t.Rows, line)
		}
	}
	if len(t.Rows) > 0 {
		section.Tables = append(section.Tables, t)
		section.Text = []string{"Groups gain when they do better than the tuned lone models of the same people."}
	}
	return section
}

func (s sizes) sizeLine(done paper.Done, m method, p int) (page.Line, bool) {
	line := page.Line{Group: "without privacy", Cells: []string{m.name}, Struck: m.truth != nil}
	if m.epsilon > 0 {
		line.Group = fmt.Sprintf("epsilon %v", m.epsilon)
	}
	gain := "yes"
	for _, b := range bins {
		var with, by, n float64
		for _, seed := range s.seeds {
			sizes := done[fmt.Sprintf(readingsKey, p, seed)][records]
			w, a := done[m.cell(s.agents, p, seed)][m.numbers], done[tunedAlone.cell(s.agents, p, seed)][accuracy]
			if sizes == nil || w == nil || a == nil {
				continue
			}
			for i, records := range sizes {
				if int(records) >= b.from && int(records) <= b.to {
					with, by, n = with+w[i], by+a[i], n+1
				}
			}
		}
		if n == 0 {
			return line, false
		}
		line.Cells = append(line.Cells, fmt.Sprintf("%.3f", with/n))
		if with <= by {
			gain = "no"
		}
	}
	if m.key == loneKey {
		gain = ""
	}
	line.Cells = append(line.Cells, gain)
	return line, true
}

// localSection is local differential privacy, figure 4.
func (s sizes) localSection(done paper.Done) page.Section {
	section := page.Section{Title: "Local differential privacy"}
	t := page.Table{Caption: "Accuracy after every record was hidden by itself at eps 1", Head: []string{"features", accuracy}}
	for _, p := range s.dimensions {
		if all := (method{key: readingsKey, numbers: hidden}).values(done, s.agents, p, s.seeds); len(all) > 0 {
			t.Rows = append(t.Rows, page.Line{Cells: []string{fmt.Sprint(p), fmt.Sprintf("%.3f", meanOf(all).value)}})
		}
	}
	if len(t.Rows) > 0 {
		section.Tables = append(section.Tables, t)
		section.Text = []string{"Records that hide themselves, label and features, and non-private descent on what they show: as the paper says, no better than chance."}
	}
	return section
}

func (s sizes) allocationSection(done paper.Done) page.Section {
	section := page.Section{Title: "How to spread a budget over updates"}
	t := page.Table{Caption: "Accuracy after the same number of updates of everybody, budgets added up", Head: []string{""}}
	for _, a := range allocationsTried {
		t.Head = append(t.Head, a.name)
	}
	for _, c := range allocationCases {
		line := page.Line{Cells: []string{fmt.Sprintf("%s, %d updates", c.name, c.updates)}, Struck: true}
		for k := range allocationsTried {
			if values := s.column(done, allocationsKey, c.name, k); len(values) > 0 {
				line.Cells = append(line.Cells, fmt.Sprintf("%.4f", spanOf(values).value))
			}
		}
		if len(line.Cells) > 1 {
			t.Rows = append(t.Rows, line)
		}
	}
	if len(t.Rows) > 0 {
		section.Tables = append(section.Tables, t)
		section.Text = []string{"Proposition 2 weighs the noise of the t-th of T updates by C^t, where the recursion it solves has C^(T-1-t): reversed, its budget grows with time as it should, but with the worst-case C it is uniform all the same. A budget that grows by a tenth at every update is better."}
	}
	return section
}
