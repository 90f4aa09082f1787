package testnet

import (
	"fmt"
	"io"

	"p2pnode/testnet/page"
)

// writePage writes the report as one HTML file: what the table says, and the plots.
// made are facts on how it was made, as the command.
func (r *Result) writePage(w io.Writer, made ...page.Fact) error {
	verdicts := r.verdicts()
	p := &page.Page{
		Title:  "Learning together: what does it buy?",
		Result: verdicts[0], Lead: append(verdicts[1:], r.change(), r.title()),
		Facts: append(made, page.Fact{Name: "Time", Value: fmt.Sprintf("%.1f s", r.Seconds)}, page.Fact{Name: "Files", Value: RawFile + ", " + CurveFile + ", " + GainFile}),
	}
	methods := tableOf("Ways to learn, each measured on every person's own test records", r.methodCells())
	p.Sections = []page.Section{
		{
			Title: "Ways to learn",
			Text: []string{
				"Better, worse: share of people with a smaller or larger error than alone. Gain p10: one person in ten gains less than this share of her error alone. " +
					"Messages: copies of models sent, or contributions to the sum. Bytes: everything sent. " + r.ways(),
			},
			Charts: []page.Chart{*r.curve(), *r.gain()}, Tables: []page.Table{methods},
		},
	}
	if bins := r.binCells(); len(bins) > 1 {
		p.Sections = append(p.Sections, page.Section{
			Title:  "By number of records",
			Text:   []string{"Median gain: half of the people gain more."},
			Tables: []page.Table{tableOf("By number of records a person learns from", bins)},
		})
	}
	if notes := r.notes(); len(notes) > 0 {
		p.Sections = append(p.Sections, page.Section{Title: "Notes", Text: notes})
	}
	return p.Write(w)
}

// tableOf makes a table of cells, whose first line is the head.
func tableOf(caption string, cells [][]string) page.Table {
	t := page.Table{Caption: caption, Head: cells[0]}
	for _, line := range cells[1:] {
		t.Rows = append(t.Rows, page.Line{Cells: line})
	}
	return t
}
