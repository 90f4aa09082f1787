package page

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes in points. Charts are narrow, so that their text is legible on a phone, and
// grow with the page.
const (
	chartWidth  = 360 * vg.Length(1)
	chartHeight = 236 * vg.Length(1) // without title and legend
	margin      = 4 * vg.Length(1)
	gap         = 6 * vg.Length(1)
)

// figure is a chart laid out.
type figure struct {
	*plot.Plot
	title  text.Style
	x      string // the axes' labels, drawn here because gonum centres them elsewhere on a log axis
	y      string // it is broken into lines once the height of the data is known
	legend *legend
	height vg.Length // height of the plot
}

func newFigure(c *Chart) *figure {
	p := plot.New()
	p.BackgroundColor = nil
	f := &figure{Plot: p, title: style(13, int(Ink)), height: chartHeight}
	f.title.XAlign, f.title.YAlign = draw.XLeft, draw.YTop
	if n := len(c.Y.Names); n > 0 {
		p.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}}
		f.height = max(chartHeight/2, vg.Length(64+26*n))
	}
	series := resolve(c)
	f.axis(&p.X)
	f.axis(&p.Y)
	f.x, f.y = wrap(p.X.Label.TextStyle, clean(c.X.Label), chartWidth-3*margin), clean(c.Y.Label)
	x, y := values(c, series)
	c.X.span(&p.X, x, 0)
	c.Y.span(&p.Y, y, 0.06)
	room := chartWidth - 60 // room for the data
	c.Y.names(&p.Y, chartWidth*2/5, false)
	if len(c.Y.Names) > 0 {
		room = chartWidth*3/5 - 20
	}
	if len(c.X.Names) > 0 {
		c.X.names(&p.X, room/vg.Length(len(c.X.Names))-4, true)
	} else {
		c.X.thin(&p.X, room)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = light(ruleRole), light(ruleRole)
	if len(c.X.Names) > 0 {
		grid.Vertical.Color = nil
	}
	p.Add(grid)
	for i := range series {
		p.Add(&series[i])
	}
	if len(x) == 0 && len(y) == 0 {
		p.Add(nothing{})
	}
	f.legend = newLegend(series)
	return f
}

// axis sets colours and fonts.
func (f *figure) axis(a *plot.Axis) {
	a.Color, a.Tick.Color = light(quietRole), light(quietRole)
	a.Label.TextStyle.Font, a.Label.TextStyle.Color = sans(11), light(int(Ink))
	a.Tick.Label.Font, a.Tick.Label.Color = sans(10), light(int(Ink))
	a.Tick.Length = 5
}

// draw draws the plot with its labels.
func (f *figure) draw(c draw.Canvas) {
	s := f.X.Label.TextStyle
	descent := s.FontExtents().Descent
	corner := c.Min
	if f.x != "" {
		c.Min.Y += s.Height(f.x) + gap
	}
	y := wrap(s, f.y, f.DataCanvas(c).Size().Y)
	if y != "" {
		c.Min.X += s.Height(y) + gap
	}
	f.Draw(c)
	data := f.DataCanvas(c)
	c.FillText(s, vg.Point{X: data.Center().X, Y: corner.Y + descent}, f.x)
	s.Rotation = math.Pi / 2
	c.FillText(s, vg.Point{X: corner.X + s.FontExtents().Height*vg.Length(1+strings.Count(y, "\n")) - descent, Y: data.Center().Y}, y)
}

// nothing is what a chart without data shows.
type nothing struct{}

// Plot implements [plot.Plotter].
func (nothing) Plot(c draw.Canvas, _ *plot.Plot) {
	s := style(11, quietRole)
	s.XAlign, s.YAlign = draw.XCenter, draw.YCenter
	c.FillText(s, c.Center(), "Nothing has been measured yet.")
}

// style is the style of text of a size.
func style(size float64, colour int) text.Style {
	return text.Style{Color: light(colour), Font: sans(size), Handler: plot.DefaultTextHandler}
}

func sans(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
}

// wrap breaks text at spaces, except no-break spaces, into lines within width; a longer
// word stays whole.
func wrap(s text.Style, words string, width vg.Length) string {
	var b strings.Builder
	line := ""
	for _, word := range strings.FieldsFunc(words, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }) {
		switch {
		case line == "":
			line = word
		case s.Width(line+" "+word) <= width:
			line += " " + word
		default:
			b.WriteString(line + "\n")
			line = word
		}
	}
	return b.String() + line
}
