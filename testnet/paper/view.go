package paper

import (
	"fmt"
	"slices"

	"p2pnode/testnet/page"
)

// page is the report for a browser: the figures first, then all rows.
func (r *Result) page() *page.Page {
	p := &page.Page{Title: r.Title, Lead: []string{r.about}, Up: r.up}
	if r.Summary != "" {
		p.Lead = append(p.Lead, r.Summary)
	}
	if !r.Complete {
		p.Lead = append(p.Lead, "INTERRUPTED: these are the results so far.")
	}
	p.Facts = []page.Fact{
		{Name: "Command", Value: r.Command, Code: true},
		{Name: "Seeds", Value: fmt.Sprintf("%d from %d", r.Seeds, r.Seed)},
		{Name: "Time", Value: fmt.Sprintf("%.1f s", r.Seconds)},
		{Name: "Version", Value: r.Version},
		{Name: "Files", Value: r.Name + ".json, " + r.Name + ".csv"},
	}
	t := r.table()
	all := page.Table{Caption: "All rows", Head: t.head}
	for i, line := range t.lines {
		row := &r.Rows[i]
		all.Rows = append(all.Rows, page.Line{Cells: line, Struck: row.Epsilon != nil && !row.Valid})
	}
	p.Sections = append(slices.Clone(r.sections), page.Section{
		Title: "All results",
		Text: []string{
			"Private says whether the epsilon and delta of a row hold for replacing one record; a row without them claims none. " +
				"Spread is the standard deviation over seeds. Alone is the tuned model of each by itself, in the same measure; " +
				"gain the interval of the mean gain over it, above zero when learning together is better.",
		},
		Tables: []page.Table{all},
	})
	if notes := append(t.numbered(), r.Notes...); len(notes) > 0 {
		p.Sections = append(p.Sections, page.Section{Title: "Notes", Text: notes})
	}
	return p
}
