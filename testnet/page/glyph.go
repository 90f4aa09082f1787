package page

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// shapes are the marks of lines, in order. Combined with the colours they make twelve
// different lines.
func shapes() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{draw.CircleGlyph{}, polygon{corners: 4, turn: math.Pi / 4}, polygon{corners: 3, turn: math.Pi / 2}, polygon{corners: 3, turn: -math.Pi / 2}}
}

// hollows are the marks of published numbers.
func hollows() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{
		polygon{corners: 4, hollow: true}, polygon{corners: 3, turn: math.Pi / 2, hollow: true},
		polygon{corners: 4, turn: math.Pi / 4, hollow: true}, polygon{corners: 3, turn: -math.Pi / 2, hollow: true},
	}
}

// inside reports whether a point lies in c, up to rounding.
func inside(c draw.Canvas, p vg.Point) bool {
	const hair = 1e-6
	return p.X >= c.Min.X-hair && p.X <= c.Max.X+hair && p.Y >= c.Min.Y-hair && p.Y <= c.Max.Y+hair
}

// pale makes a colour transparent.
func pale(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	return color.NRGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(b >> 8), A: 0x38}
}

// polygon is a mark with corners; turn is the angle of the first one from the right.
type polygon struct {
	corners int
	turn    float64
	hollow  bool
}

// DrawGlyph implements [draw.GlyphDrawer].
func (g polygon) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	var p vg.Path
	for k := range g.corners {
		sin, cos := math.Sincos(g.turn + 2*math.Pi*float64(k)/float64(g.corners))
		corner := at.Add(vg.Point{X: 1.2 * s.Radius * vg.Length(cos), Y: 1.2 * s.Radius * vg.Length(sin)})
		if k == 0 {
			p.Move(corner)
		} else {
			p.Line(corner)
		}
	}
	p.Close()
	if g.hollow {
		c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: 1.3})
		c.Stroke(p)
		return
	}
	c.SetColor(s.Color)
	c.Fill(p)
}

// cross is the mark of a result whose guarantee does not hold.
type cross struct{}

// DrawGlyph implements [draw.GlyphDrawer].
func (cross) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r, stroke := s.Radius, draw.LineStyle{Color: s.Color, Width: 1.5}
	c.StrokeLine2(stroke, at.X-r, at.Y-r, at.X+r, at.Y+r)
	c.StrokeLine2(stroke, at.X-r, at.Y+r, at.X+r, at.Y-r)
}
