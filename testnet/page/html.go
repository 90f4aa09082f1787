package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	//go:embed page.html
	layoutText string
	//go:embed page.css
	styleText string

	layout = template.Must(template.New("page").Parse(layoutText))
)

// Write writes the page as one HTML file.
func (p *Page) Write(w io.Writer) error {
	v, err := p.view()
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var b strings.Builder
	if err := layout.Execute(&b, v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if _, err := io.WriteString(w, clean(b.String())); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// view is the page with its charts drawn and every part named.
type view struct {
	*Page
	Style    template.CSS
	Sections []sectionView
}

type sectionView struct {
	Section
	ID     string
	Charts []chartView
	Tables []tableView
}

type chartView struct {
	Chart
	ID  string
	SVG template.HTML
}

type tableView struct {
	Table
	ID    string
	Kinds []string // CSS classes of the columns
}

// longTable is the number of rows from which a table is folded.
const longTable = 20

// Long reports whether the table is folded until a reader opens it.
func (t tableView) Long() bool { return len(t.Rows) >= longTable }

func (p *Page) view() (*view, error) {
	v := &view{Page: p, Style: template.CSS(variables() + styleText)}
	for i, s := range p.Sections {
		section := sectionView{Section: s, ID: fmt.Sprintf("s%d", i+1)}
		for k, c := range s.Charts {
			id := fmt.Sprintf("%s-c%d", section.ID, k+1)
			svg, err := c.inline(id)
			if err != nil {
				return nil, err
			}
			section.Charts = append(section.Charts, chartView{c, id, template.HTML(svg)})
		}
		for k, t := range s.Tables {
			section.Tables = append(section.Tables, tableView{t, fmt.Sprintf("%s-t%d", section.ID, k+1), t.kinds()})
		}
		v.Sections = append(v.Sections, section)
	}
	return v, nil
}

// variables are the colours, light and dark; paper is always light.
func variables() string {
	var light, dark strings.Builder
	for _, r := range roles() {
		fmt.Fprintf(&light, "--%s:%s;", r.name, hex(r.light))
		fmt.Fprintf(&dark, "--%s:%s;", r.name, hex(r.dark))
	}
	return fmt.Sprintf(":root{color-scheme:light dark;%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n", &light, &dark)
}

// longText is the number of characters from which a cell is set as running text.
const longText = 40

// kinds returns the class of each column but the first: n if it contains only numbers
// or nothing, w if it contains long text, or none.
func (t *Table) kinds() []string {
	kinds := make([]string, len(t.Head))
	for k := range kinds {
		number, long := k > 0, false
		for _, row := range t.Rows {
			if k < len(row.Cells) {
				number = number && startsAsNumber(row.Cells[k])
				long = long || utf8.RuneCountInString(row.Cells[k]) >= longText
			}
		}
		switch {
		case long && k > 0:
			kinds[k] = "w"
		case number:
			kinds[k] = "n"
		}
	}
	return kinds
}

func startsAsNumber(cell string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(cell, "+-−.("))
	return strings.Trim(cell, "-–") == "" || unicode.IsDigit(first)
}
