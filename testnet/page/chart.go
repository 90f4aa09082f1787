package page

// Chart is a plot with a title, axes with units, and a legend above the data.
type Chart struct {
	Title  string
	Alt    string // what the chart shows, in a sentence, for readers who cannot see it
	Note   string // shown below it: what a reader must know to read it; "" for nothing
	X, Y   Axis
	Series []Series
}

// Axis is one axis of a chart. With Min and Max both 0 it spans the data.
type Axis struct {
	Label    string // with the unit
	Log      bool   // values at or below 0 are left out
	Min, Max float64
	Least    float64 // without Log, the least span, so that small changes look small
	// Names are the names of categories: the series' values are then 0, 1, 2, ... Those
	// of the vertical axis are written from the top down. Their points are not joined.
	Names []string
}

// Style says how a series is drawn.
type Style int

// The styles. They differ in shape as well as in colour.
const (
	Ours      Style = iota // a line with dots: measured here, and the guarantee holds or none is claimed
	Invalid                // a dashed line with crosses: measured here, without the guarantee it claims
	Published              // hollow points without a line: numbers of a paper or of another program
	Level                  // a thin line across at Y[0] or, where Y has names, at X[0]: something to compare with
	Crowd                  // small points without a line: one for each person or run
	Stroke                 // a thick line without dots
	Variant                // a dashed line with rings: a variant of Ours
)

// Series is one line or one set of points. All its slices have the same length, or are
// empty if nothing is given. A point that is no number breaks the line. Low and High
// bound a band around Y; with categories, bars around the value.
type Series struct {
	Name  string // in the legend; "" for none
	Style Style
	// Colour defaults to that of an earlier series of another style whose name this one
	// continues after a comma, as "alone, published" continues "alone"; if there is
	// none, to the next colour. If several series of style Published continue others in
	// the same way, the legend has one entry for all of them.
	Colour    Colour
	X, Y      []float64
	Low, High []float64
}
