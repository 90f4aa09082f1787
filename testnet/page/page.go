// Package page writes what was measured as one HTML file that needs nothing else: text,
// tables and plots as SVG, readable in light and dark, with the keyboard and without a
// network. It knows nothing about what was measured. [WriteFile] replaces a file whole.
package page

// Page is one report.
type Page struct {
	Title    string
	Result   string   // the main result in a sentence or two, said first; "" for none
	Lead     []string // paragraphs: what this is and what it shows
	Facts    []Fact   // how the page was made: command, seed, versions, time
	Sections []Section
	Up       string // address of the page above, relative; "" for none
}

// Fact is a name with a value.
type Fact struct {
	Name, Value string
	Code        bool // something to type, such as a command
}

// Section is a part of a page with a heading of its own.
type Section struct {
	Title  string
	Text   []string // paragraphs before the charts
	Charts []Chart
	Tables []Table
}

// Table has a head and rows with as many cells. Columns of numbers are set to the
// right; a row with Struck is crossed out, because its result does not hold.
type Table struct {
	Caption string
	Head    []string
	Rows    []Line
}

// Line is a row of a table. Link, if set, is the address its first cell leads to.
// Group, if set, heads the lines that have the same one and follow each other.
type Line struct {
	Group  string
	Cells  []string
	Struck bool
	Link   string
}
