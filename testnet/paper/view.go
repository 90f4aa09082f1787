package paper

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"p2pnode/testnet/page"
)

// cells are the rows as text, with a head; columns that are empty in all rows are
// left out.
func (r *Result) cells() (head []string, lines [][]string) {
	head = []string{"setting", "epsilon", "delta", "private", "measure", "value", "spread", "alone", "gain (95%)", "published", "seeds"}
	for i := range r.Rows {
		row := &r.Rows[i]
		gain := ""
		if row.GainLow != nil {
			gain = signed(*row.GainLow) + " to " + signed(*row.GainHigh)
		}
		value := row.Error
		if value == nil {
			value = row.Accuracy
		}
		lines = append(lines, []string{
			row.Setting, short(row.Epsilon), short(row.Delta), row.private(), row.Measure, digits(value), digits(row.Spread),
			digits(row.Alone), gain, digits(row.Published), strconv.Itoa(row.Seeds),
		})
	}
	for k := len(head) - 1; k > 0; k-- {
		if !slices.ContainsFunc(lines, func(l []string) bool { return l[k] != "" }) {
			head = slices.Delete(head, k, k+1)
			for i := range lines {
				lines[i] = slices.Delete(lines[i], k, k+1)
			}
		}
	}
	return head, lines
}

// private says whether the claim holds.
func (r *Row) private() string {
	switch {
	case r.Valid:
		return "yes"
	case r.Epsilon == nil:
		return ""
	case r.TrueEps != nil:
		return "NO: truly epsilon " + short(r.TrueEps)
	case r.TrueDelta != nil:
		return "NO: truly delta " + short(r.TrueDelta)
	}
	return "NO"
}

func short(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', 3, 64)
}

// digits gives four significant digits.
func digits(v *float64) string {
	if v == nil {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("%#.4g", *v), ".")
}

func signed(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }

// WriteTable writes the rows for people, with the notes.
func (r *Result) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", r.Title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head, lines := r.cells()
	for _, line := range append([][]string{head}, lines...) {
		fmt.Fprintln(table, strings.Join(line, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, note := range r.remarks() {
		fmt.Fprintf(&b, "\n%s", note)
	}
	if !r.Complete {
		b.WriteString("\nINTERRUPTED: these are the results so far.")
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// remarks are the notes, those of the rows too.
func (r *Result) remarks() []string {
	notes := slices.Clone(r.Notes)
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Note != "" {
			if note := row.Setting + ": " + row.Note; !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// page is the report for a browser.
func (r *Result) page() *page.Page {
	head, lines := r.cells()
	table := page.Table{Caption: "All settings", Head: head}
	for i, line := range lines {
		row := &r.Rows[i]
		table.Rows = append(table.Rows, page.Line{Cells: line, Struck: row.Epsilon != nil && !row.Valid})
	}
	p := &page.Page{Title: r.Title, Lead: []string{r.about}, Up: r.up}
	if r.Summary != "" {
		p.Lead = append(p.Lead, r.Summary)
	}
	if !r.Complete {
		p.Lead = append(p.Lead, "Interrupted: these are the results so far.")
	}
	p.Facts = []page.Fact{
		{Name: "Command", Value: r.Command, Code: true},
		{Name: "Seeds", Value: fmt.Sprintf("%d from %d", r.Seeds, r.Seed)},
		{Name: "Time", Value: fmt.Sprintf("%.1f s", r.Seconds)},
		{Name: "Version", Value: r.Version},
		{Name: "Files", Value: r.Name + ".json, " + r.Name + ".csv"},
	}
	p.Sections = append([]page.Section{{Title: "Results", Text: nil, Tables: []page.Table{table}}}, r.sections...)
	if notes := r.remarks(); len(notes) > 0 {
		p.Sections = append(p.Sections, page.Section{Title: "Notes", Text: notes})
	}
	return p
}
