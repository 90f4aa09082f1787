package page

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// WriteSVG writes the chart, title and legend included, as an SVG file on white.
func (c *Chart) WriteSVG(w io.Writer) error {
	svg, err := c.svg(true)
	if err != nil {
		return fmt.Errorf("page: draw %q: %w", c.Title, err)
	}
	_, err = w.Write(svg)
	return err
}

// inline returns the chart as an element of a page that shows the title elsewhere. id
// must be unique in the page. Its colours are the page's.
func (c *Chart) inline(id string) (string, error) {
	svg, err := c.svg(false)
	if err != nil {
		return "", fmt.Errorf("draw %q: %w", c.Title, err)
	}
	_, svg, _ = bytes.Cut(svg, []byte("<svg"))
	head, body, _ := bytes.Cut(svg, []byte(">"))
	box := viewBox.Find(head)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg role="img" aria-labelledby="%s-t %s-d" %s><title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
		id, id, box, id, html.EscapeString(c.Title), id, html.EscapeString(c.Alt))
	b.Write(withVariables(body))
	return b.String(), nil
}

var (
	viewBox = regexp.MustCompile(`viewBox="[^"]*"`)
	drawn   = regexp.MustCompile(`(fill|stroke):#([0-9A-F]{6})`)
)

// withVariables replaces the drawn colours by the page's variables, which have a light
// and a dark value. Transparent colours are rounded a little in the drawing.
func withVariables(svg []byte) []byte {
	return drawn.ReplaceAllFunc(svg, func(m []byte) []byte {
		part := drawn.FindSubmatch(m)
		v, err := strconv.ParseUint(string(part[2]), 16, 32)
		if err != nil {
			return m
		}
		for _, r := range roles() {
			if near(uint32(v), r.light) {
				return fmt.Appendf(nil, "%s:var(--%s)", part[1], r.name)
			}
		}
		return m
	})
}

// near reports whether two colours are equal except for rounding.
func near(a, b uint32) bool {
	for shift := 0; shift < 24; shift += 8 {
		if d := int(a>>shift&0xff) - int(b>>shift&0xff); d < -1 || d > 1 {
			return false
		}
	}
	return true
}

// svg draws the chart from the top: title, if wanted, legend, plot.
func (c *Chart) svg(titled bool) ([]byte, error) {
	f := newFigure(c)
	title := ""
	if titled {
		title = wrap(f.title, clean(c.Title), chartWidth-2*margin)
	}
	titleHeight := vg.Length(0)
	if title != "" {
		titleHeight = f.title.Height(title) + gap
	}
	canvas := &measured{Canvas: vgsvg.New(chartWidth, titleHeight+f.legend.height+f.height)}
	area := draw.New(canvas)
	if titled {
		area.SetColor(light(paperRole))
		area.Fill(area.Rectangle.Path())
	}
	area = draw.Crop(area, margin, -2*margin, margin, -margin)
	area.FillText(f.title, vg.Point{X: area.Min.X, Y: area.Max.Y}, title)
	area.Max.Y -= titleHeight
	f.legend.draw(area)
	area.Max.Y -= f.legend.height
	f.draw(area)
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return nil, err
	}
	return withFallbackFonts(canvas.withWidths(svg.Bytes())), nil
}

// withFallbackFonts names fonts of the same widths beside Liberation Sans,
// which few machines have.
func withFallbackFonts(svg []byte) []byte {
	const family = "font-family:Liberation Sans"
	return bytes.ReplaceAll(svg, []byte(family), []byte(family+",Arial,Helvetica,sans-serif"))
}

// measured remembers the width that each piece of text had in the layout of the chart.
type measured struct {
	*vgsvg.Canvas
	widths []vg.Length
}

// FillString implements [vg.Canvas].
func (m *measured) FillString(face font.Face, at vg.Point, text string) {
	m.widths = append(m.widths, face.Width(text))
	m.Canvas.FillString(face, at, text)
}

// withWidths makes each piece of text fill the width of the layout, because the
// reader's font may be wider.
func (m *measured) withWidths(svg []byte) []byte {
	const start = "<text "
	pieces := bytes.Split(svg, []byte(start))
	out := slices.Clone(pieces[0])
	for i, piece := range pieces[1:] {
		out = fmt.Appendf(out, `%stextLength="%.2f" lengthAdjust="spacingAndGlyphs" `, start, m.widths[i].Points())
		out = append(out, piece...)
	}
	return out
}

// clean replaces characters that are not allowed in HTML or XML.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == utf8.RuneError || r == 0xfffe || r == 0xffff {
			return '\uFFFD'
		}
		return r
	}, text)
}
