package page

// Chart is a plot with a title, axes with units, and a legend above the data.
type Chart struct {
	Title  string
	Alt    string // what it shows, in a sentence, for who does not see it
	Note   string // below it: what a reader must know to read it; "" for nothing
	X, Y   Axis
	Series []Series
}

// Axis is one axis of a chart. With Min and Max both 0 it spans the data.
type Axis struct {
	Label    string // with the unit
	Log      bool   // values at or below 0 are left out
	Min, Max float64
	Least    float64 // without Log: it spans at least this much, so that small changes look small
	// Names are those of categories: the series' values are 0, 1, 2, ... Those of the
	// vertical axis are written from the top down. Nothing joins their points.
	Names []string
}

// Style says what a series is.
type Style int

// The styles. They differ in shape as well as in colour.
const (
	Ours      Style = iota // a line with dots: measured here, and the guarantee holds or none is claimed
	Invalid                // a dashed line with crosses: measured here, without the guarantee it claims
	Published              // hollow points alone: numbers of a paper or of another program
	Level                  // a thin line across at Y[0], or where Y has names at X[0]: something to compare with
	Crowd                  // small points alone: one for each person or run
	Stroke                 // a thick line without dots
	Variant                // a dashed line with rings: one of Ours made otherwise
)

// Series is one line or one set of points. All its slices have one length, or none
// where nothing is given. A point that is no number breaks the line. Low and High
// bound a band around Y; with categories, bars around the value.
type Series struct {
	Name  string // in the legend; "" for none
	Style Style
	// Colour is by default that of an earlier series of another style whose name this
	// one continues after a comma, as "alone, published" does "alone", or the next one.
	// Where several of style Published continue others alike, the legend has one entry
	// for all of them.
	Colour    Colour
	X, Y      []float64
	Low, High []float64
}
