package paper

import (
	"fmt"
	"slices"
	"strings"

	"p2pnode/testnet/page"
)

// page is the report for a browser: the figures first, then all rows.
func (r *Result) page() *page.Page {
	p := &page.Page{Title: r.Title, Result: r.Verdict, Lead: []string{r.Summary, r.about}, Up: r.up}
	if r.Verdict == "" {
		p.Result, p.Lead = r.Summary, p.Lead[1:]
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
	Group(all.Rows)
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

// Group puts consecutive lines whose first cells begin alike, up to ": ", under that
// beginning as a heading, and removes it from the cells.
func Group(lines []page.Line) {
	beginning := func(i int) string {
		before, _, found := strings.Cut(lines[i].Cells[0], ": ")
		if !found {
			return ""
		}
		return before
	}
	for from := 0; from < len(lines); {
		name, to := beginning(from), from+1
		for to < len(lines) && beginning(to) == name {
			to++
		}
		for i := from; i < to && name != "" && to-from > 1; i++ {
			lines[i].Group = name
			lines[i].Cells[0] = strings.TrimPrefix(lines[i].Cells[0], name+": ")
		}
		from = to
	}
}
