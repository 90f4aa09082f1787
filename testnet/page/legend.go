package page

import (
	"slices"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legend shows the names of the series, in as many rows as needed.
type legend struct {
	style   text.Style
	entries []entry
	height  vg.Length
}

// entry is a series with its name, broken into lines. Its position is measured right of
// and down from the upper left corner.
type entry struct {
	*line
	name string
	x, y vg.Length
}

// sample is the width of a series' sample.
func (l *line) sample() vg.Length {
	if l.stroke.Width > 0 {
		return 24
	}
	return 9
}

func newLegend(series []line) *legend {
	l := &legend{style: style(10, int(Ink))}
	l.style.XAlign, l.style.YAlign = draw.XLeft, draw.YTop
	width := chartWidth - 3*margin
	var x, y, row vg.Length
	for i, one := range series {
		if one.entry == "" {
			continue
		}
		if one.entry != one.Name { // one entry for all points of its kind, of every colour
			if slices.ContainsFunc(series[:i], func(other line) bool { return other.entry == one.entry }) {
				continue
			}
			one.mark.Color = light(int(Ink))
		}
		sample := one.sample() + gap/2
		name := wrap(l.style, clean(one.entry), width-sample)
		needed := sample + l.style.Width(name)
		if x > 0 && x+needed > width {
			x, y, row = 0, y+row, 0
		}
		l.entries = append(l.entries, entry{&one, name, x, y})
		x += needed + 2*gap
		row = max(row, vg.Length(1+strings.Count(name, "\n"))*l.lineHeight()+gap/2)
	}
	if l.height = y + row; l.height > 0 {
		l.height += gap
	}
	return l
}

// lineHeight is the height of one line of a name.
func (l *legend) lineHeight() vg.Length {
	e := l.style.FontExtents()
	return e.Height
}

// draw draws the legend at the top of c.
func (l *legend) draw(c draw.Canvas) {
	for _, e := range l.entries {
		corner := vg.Point{X: c.Min.X + e.x, Y: c.Max.Y - e.y}
		e.thumbnail(&c, vg.Point{X: corner.X, Y: corner.Y - l.lineHeight()/2})
		corner.X += e.sample() + gap/2
		c.FillText(l.style, corner, e.name)
	}
}
