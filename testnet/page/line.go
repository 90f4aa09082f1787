package page

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// line is a series as it is drawn.
type line struct {
	*Series
	chart  *Chart
	stroke draw.LineStyle
	mark   draw.GlyphStyle
	dodge  float64 // separates the points of a category
	entry  string  // name in the legend
}

// resolve gives each series its colour, its shape and its dashes.
func resolve(c *Chart) []line {
	lines := make([]line, len(c.Series))
	colours := c.colours()
	levels, published, joined := 0, 0, 0
	for i := range c.Series {
		s := &c.Series[i]
		l := line{Series: s, chart: c, entry: s.Name}
		l.stroke = draw.LineStyle{Color: light(int(colours[i])), Width: 1.6}
		l.mark = draw.GlyphStyle{Color: light(int(colours[i])), Radius: 2.6, Shape: shapes()[joined%len(shapes())]}
		if s.Style != Level && s.Style != Published && s.Style != Crowd {
			joined++
		}
		switch s.Style {
		case Invalid:
			l.stroke.Dashes = []vg.Length{4, 3}
			l.mark.Shape, l.mark.Radius = cross{}, 2.8
		case Variant:
			l.stroke.Dashes = []vg.Length{4, 3}
			l.mark.Shape = draw.RingGlyph{}
		case Published:
			l.stroke.Width = 0
			l.mark.Shape, l.mark.Radius = hollows()[published%len(hollows())], 3.4
			if kin := c.kin(i); kin >= 0 {
				l.mark.Shape = hollows()[0]
				l.entry = strings.TrimPrefix(s.Name, c.Series[kin].Name+", ")
			} else {
				published++
			}
		case Level:
			l.stroke.Width = 1.2
			l.stroke.Dashes = levelDashes(levels)
			l.mark.Radius = 0
			levels++
		case Crowd:
			l.stroke.Width = 0
			l.mark.Shape, l.mark.Radius = draw.RingGlyph{}, 1.5
		case Stroke:
			l.stroke.Width, l.mark.Radius = 2.6, 0
		}
		lines[i] = l
	}
	apart(c, lines)
	return lines
}

// colours returns the colour of each series: its own, that of the series it belongs to,
// grey for a level, or the next one.
func (c *Chart) colours() []Colour {
	given := make([]Colour, len(c.Series))
	next := Auto
	for i := range c.Series {
		s := &c.Series[i]
		colour := s.Colour
		if kin := c.kin(i); colour == Auto && kin >= 0 && !c.taken(i, given[kin], given) {
			colour = given[kin]
		}
		if colour == Auto && s.Style == Level {
			colour = Grey
		}
		if colour == Auto {
			next = next%Sky + 1
			colour = next
		}
		given[i] = colour
	}
	return given
}

// kin is the number of an earlier series of another style whose name that of series i
// continues after a comma, or -1.
func (c *Chart) kin(i int) int {
	s, found := &c.Series[i], -1
	for k := range i {
		if of := &c.Series[k]; of.Style != s.Style && of.Name != "" && strings.HasPrefix(s.Name, of.Name+", ") {
			found = k
		}
	}
	return found
}

// taken reports whether an earlier series of i's style has the colour.
func (c *Chart) taken(i int, colour Colour, colours []Colour) bool {
	for k := range i {
		if c.Series[k].Style == c.Series[i].Style && colours[k] == colour {
			return true
		}
	}
	return false
}

// levelDashes distinguishes the k-th level from the others.
func levelDashes(k int) []vg.Length {
	return [][]vg.Length{nil, {6, 3}, {1.5, 2.5}, {8, 3, 2, 3}}[k%4]
}

// apart separates the points of one category.
func apart(c *Chart, lines []line) {
	if len(c.X.Names) == 0 && len(c.Y.Names) == 0 {
		return
	}
	n := 0
	for i := range lines {
		if lines[i].Style != Level {
			lines[i].stroke.Width = 0
			lines[i].dodge = float64(n)
			n++
		}
	}
	step := min(0.16, 0.7/float64(max(1, n)))
	for i := range lines {
		lines[i].dodge = (lines[i].dodge - float64(n-1)/2) * step
	}
}

// values are all numbers that the axes of a chart must span.
func values(c *Chart, lines []line) (x, y []float64) {
	for i := range lines {
		s := lines[i].Series
		switch {
		case s.Style == Level && len(c.Y.Names) > 0:
			x = append(x, s.X...)
			continue
		case s.Style == Level:
			y = append(y, s.Y...)
			continue
		}
		for k := range s.X {
			if !c.X.shows(s.X[k]) || !c.Y.shows(s.Y[k]) {
				continue
			}
			x, y = append(x, s.X[k]), append(y, s.Y[k])
			if s.bounded(k) && len(c.Y.Names) > 0 {
				x = append(x, s.Low[k], s.High[k])
			} else if s.bounded(k) {
				y = append(y, s.Low[k], s.High[k])
			}
		}
	}
	return x, y
}

// bounded reports whether point k has bounds that are numbers.
func (s *Series) bounded(k int) bool {
	return k < len(s.Low) && !math.IsNaN(s.Low[k]-s.High[k]) && !math.IsInf(s.Low[k]-s.High[k], 0)
}

// Plot implements [plot.Plotter].
func (l *line) Plot(c draw.Canvas, p *plot.Plot) {
	at := func(x, y float64) vg.Point { return vg.Point{X: c.X(p.X.Norm(x)), Y: c.Y(p.Y.Norm(y))} }
	switch {
	case l.Style == Level:
		l.plotLevel(c, p)
		return
	case len(l.chart.X.Names) > 0 || len(l.chart.Y.Names) > 0:
		l.plotBars(c, p, at)
		return
	}
	for _, run := range l.runs() {
		l.plotRun(c, p, run, at)
	}
}

// runs are the stretches [from, to) of points that can be shown, without gaps.
func (l *line) runs() (runs [][2]int) {
	from := -1
	for k := 0; k <= len(l.X); k++ {
		ok := k < len(l.X) && l.chart.X.shows(l.X[k]) && l.chart.Y.shows(l.Y[k])
		switch {
		case ok && from < 0:
			from = k
		case !ok && from >= 0:
			runs = append(runs, [2]int{from, k})
			from = -1
		}
	}
	return runs
}

func (l *line) plotRun(c draw.Canvas, p *plot.Plot, run [2]int, at func(x, y float64) vg.Point) {
	var points, low, high []vg.Point
	for k := run[0]; k < run[1]; k++ {
		points = append(points, at(l.X[k], l.Y[k]))
		if l.bounded(k) {
			low = append(low, at(l.X[k], max(l.Low[k], p.Y.Min)))
			high = append([]vg.Point{at(l.X[k], max(l.High[k], p.Y.Min))}, high...)
		}
	}
	if len(low) > 1 {
		c.FillPolygon(pale(l.mark.Color), c.ClipPolygonXY(append(low, high...)))
	}
	if l.stroke.Width > 0 {
		c.StrokeLines(l.stroke, c.ClipLinesXY(points)...)
	}
	l.plotMarks(c, points)
}

// mostMarks is the largest number of points that are marked on a line, so that the
// marks do not hide it.
const mostMarks = 16

func (l *line) plotMarks(c draw.Canvas, points []vg.Point) {
	every := 1
	if l.stroke.Width > 0 {
		every = (len(points) + mostMarks - 1) / mostMarks
	}
	for k, point := range points {
		if l.mark.Radius > 0 && k%every == 0 && inside(c, point) {
			c.DrawGlyphNoClip(l.mark, point)
		}
	}
}

// plotBars draws points of categories, with bars for their intervals.
func (l *line) plotBars(c draw.Canvas, p *plot.Plot, at func(x, y float64) vg.Point) {
	bar := draw.LineStyle{Color: l.mark.Color, Width: 1.2}
	for k := range l.X {
		x, y := l.X[k], l.Y[k]
		if !l.chart.X.shows(x) || !l.chart.Y.shows(y) {
			continue
		}
		low, high := at(x+l.dodge, y), at(x+l.dodge, y)
		if len(l.chart.Y.Names) > 0 {
			low, high = at(x, y+l.dodge), at(x, y+l.dodge)
		}
		point := low
		if l.bounded(k) && len(l.chart.Y.Names) > 0 {
			low.X, high.X = c.X(p.X.Norm(max(l.Low[k], p.X.Min))), c.X(p.X.Norm(max(l.High[k], p.X.Min)))
		} else if l.bounded(k) {
			low.Y, high.Y = c.Y(p.Y.Norm(max(l.Low[k], p.Y.Min))), c.Y(p.Y.Norm(max(l.High[k], p.Y.Min)))
		}
		c.StrokeLines(bar, c.ClipLinesXY([]vg.Point{low, high})...)
		if inside(c, point) {
			c.DrawGlyphNoClip(l.mark, point)
		}
	}
}

// plotLevel draws a line across, or from top to bottom where Y has names.
func (l *line) plotLevel(c draw.Canvas, p *plot.Plot) {
	if len(l.chart.Y.Names) > 0 {
		if len(l.X) > 0 && l.chart.X.shows(l.X[0]) {
			x := c.X(p.X.Norm(l.X[0]))
			c.StrokeLines(l.stroke, c.ClipLinesXY([]vg.Point{{X: x, Y: c.Min.Y}, {X: x, Y: c.Max.Y}})...)
		}
		return
	}
	if len(l.Y) > 0 && l.chart.Y.shows(l.Y[0]) {
		y := c.Y(p.Y.Norm(l.Y[0]))
		c.StrokeLines(l.stroke, c.ClipLinesXY([]vg.Point{{X: c.Min.X, Y: y}, {X: c.Max.X, Y: y}})...)
	}
}

// thumbnail draws a sample with its left end at from.
func (l *line) thumbnail(c *draw.Canvas, from vg.Point) {
	middle, to := from, from
	middle.X += l.sample() / 2
	to.X += l.sample()
	if len(l.Low) > 0 && l.stroke.Width > 0 {
		c.FillPolygon(pale(l.mark.Color), []vg.Point{{X: from.X, Y: from.Y - 4}, {X: to.X, Y: to.Y - 4}, {X: to.X, Y: to.Y + 4}, {X: from.X, Y: from.Y + 4}})
	}
	if l.stroke.Width > 0 {
		c.StrokeLines(l.stroke, []vg.Point{from, to})
	}
	if l.mark.Radius > 0 {
		c.DrawGlyphNoClip(l.mark, middle)
	}
}
