package testnet

import (
	"fmt"
	"io"
	"strings"

	"p2pnode/testnet/page"
)

// graphPageFile is the report of a [GraphResult] for a browser.
const graphPageFile = "graph.html"

// writePage writes the report as one HTML file. made are facts about how it was made,
// such as the command.
func (r *GraphResult) writePage(w io.Writer, made ...page.Fact) error {
	p := &page.Page{
		Title:  "Do nodes find their like by what they release?",
		Result: strings.Join(r.verdicts(), ". "),
		Lead:   []string{r.title()},
		Facts:  made,
	}
	if !r.Complete {
		p.Lead = append(p.Lead, "INTERRUPTED: runs are missing.")
	}
	table := page.Table{
		Caption: "Networks of people in hidden groups",
		Head:    []string{"graph", "within groups", "least", "by weight", "degree", "error", "less than over random", "95% interval", "seeds"},
	}
	for _, row := range r.Rows {
		table.Rows = append(table.Rows, page.Line{Group: fmt.Sprintf("%d groups", row.Groups), Cells: row.cells()})
	}
	p.Sections = append(p.Sections, page.Section{
		Title: "What it is worth",
		Text: []string{
			"Within groups: edges that join people of one group; least: in the worst seed. Error: mean error share of the personal models. " +
				"Random and oracle graphs are given, the oracle's inside the groups; the one by what was released was discovered.",
		},
		Tables: []page.Table{table},
	})
	for _, sweep := range graphSweeps {
		section := page.Section{Title: "By " + strings.TrimSuffix(sweepLabel(sweep), " (log scale)")}
		for _, groups := range graphGroups {
			if c := r.chart(sweep, groups); len(c.Series) > 0 {
				section.Charts = append(section.Charts, *c)
			}
		}
		if len(section.Charts) > 0 {
			p.Sections = append(p.Sections, section)
		}
	}
	return p.Write(w)
}

func (r *GraphResult) title() string {
	return fmt.Sprintf("%d people, 200 records each, (%g, %g) for every record.", r.Options.Nodes, r.Options.Budget.Epsilon, r.Options.Budget.Delta)
}

// verdicts say, for each number of groups, whether finding similar people is worth it,
// and how well it succeeds.
func (r *GraphResult) verdicts() (parts []string) {
	for _, row := range r.Rows {
		if row.Graph == "released" {
			parts = append(parts, fmt.Sprintf("%d groups, discovered graph beside a random one: %s; %.0f%% of its edges join people of one group",
				row.Groups, row.Verdict, 100*row.Share))
		}
	}
	return parts
}

// cells are the cells of the row without the number of groups.
func (row *GraphRow) cells() []string {
	cells := append([]string{row.Graph}, strings.Split(row.sharesText(), "\t")...)
	return append(cells, fmt.Sprintf("%.4f", row.Error), fmt.Sprintf("%+.4f", row.Margin[0]),
		fmt.Sprintf("%+.4f to %+.4f", row.Margin[1], row.Margin[2]), fmt.Sprint(row.Seeds))
}
