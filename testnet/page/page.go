// Package page writes what was measured as one HTML file that needs nothing else:
// text, tables and plots as SVG, readable in light and dark, with the keyboard and
// without a network. It knows nothing of what was measured.
package page

// Page is one report.
type Page struct {
	Title    string
	Lead     []string // paragraphs: what this is and what it shows
	Facts    []Fact   // how it was made: command, seed, versions, time
	Sections []Section
	Up       string // address of the page above, relative; "" for none
}

// Fact is a name with a value.
type Fact struct{ Name, Value string }

// Section is a part of a page with a heading of its own.
type Section struct {
	Title  string
	Text   []string // paragraphs, before the charts
	Charts []Chart
	Tables []Table
}

// Table has a head and rows of as many cells. Columns of numbers are set to the
// right; a row whose Struck is set is crossed out, as what does not hold.
type Table struct {
	Caption string
	Head    []string
	Rows    []Line
}

// Line is a row of a table. Link, if set, is the address its first cell leads to.
type Line struct {
	Cells  []string
	Struck bool
	Link   string
}

// Chart is a plot with a title, axes with units, and a legend above the data.
type Chart struct {
	Title  string
	Alt    string // what it shows, in a sentence, for who does not see it
	X, Y   Axis
	Series []Series
}

// Axis is one axis of a chart. With Min and Max both 0 it spans the data.
type Axis struct {
	Label    string // with the unit
	Log      bool   // values at or below 0 are left out
	Min, Max float64
	Names    []string // for categories: the series' values are 0, 1, 2, ...
}

// Style says what a series is.
type Style int

// The styles. They differ in shape as well as in colour.
const (
	Ours      Style = iota // a line with dots: measured here, and the guarantee holds or none is claimed
	Invalid                // a dashed line with crosses: measured here, without the guarantee it claims
	Published              // points alone: numbers of a paper or of another program
	Level                  // a thin horizontal line at Y[0]: something to compare with
)

// Series is one line or one set of points. Low and High, where given, bound a band
// around Y. All slices have one length.
type Series struct {
	Name      string
	Style     Style
	X, Y      []float64
	Low, High []float64
}
