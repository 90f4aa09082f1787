package testnet

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of the plots.
const (
	plotWidth  = 16 * vg.Centimeter
	plotHeight = 11 * vg.Centimeter
)

// figure is a plot with its title and legend, which are drawn above the data so
// that they never cover them.
type figure struct {
	*plot.Plot
	title  string
	legend []plot.Legend // of one entry each, drawn side by side
}

func newFigure(title string) *figure {
	p := plot.New()
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(11)
		axis.Tick.Label.Font = sans(10)
		axis.Label.Padding = vg.Points(4)
		axis.Tick.Marker = evenTicks{}
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{Y: 0xdd}, color.Gray{Y: 0xdd}
	p.Add(grid)
	return &figure{Plot: p, title: title}
}

func sans(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
}

// entry adds an entry to the legend.
func (f *figure) entry(name string, thumbs ...plot.Thumbnailer) {
	l := plot.NewLegend()
	l.TextStyle.Font = sans(10)
	l.Top, l.Left = true, true
	l.Add(name, thumbs...)
	f.legend = append(f.legend, l)
}

// widen leaves air above and below the data, and makes the axis span at least
// least, so that small changes look small.
func widen(y *plot.Axis, least float64) {
	if y.Min > y.Max {
		y.Min, y.Max = 0, 0 // no data
	}
	air := max(0.06*(y.Max-y.Min), (least-(y.Max-y.Min))/2)
	y.Min -= air
	y.Max += air
}

// writeSVG draws from the top: title, legend, plot.
func (f *figure) writeSVG(w io.Writer) error {
	canvas := vgsvg.New(plotWidth, plotHeight)
	left := draw.New(canvas)
	left.SetColor(color.White)
	left.Fill(left.Rectangle.Path())
	left = draw.Crop(left, vg.Points(8), -vg.Points(16), vg.Points(6), -vg.Points(8))

	style := f.Title.TextStyle
	style.Font, style.XAlign = sans(13), draw.XLeft
	left.FillText(style, vg.Point{X: left.Min.X, Y: left.Max.Y}, f.title)
	left.Max.Y -= vg.Points(24)

	row := left
	for i := range f.legend {
		entry := f.legend[i].Rectangle(row)
		f.legend[i].Draw(row)
		row.Min.X += entry.Size().X + vg.Points(18)
	}
	left.Max.Y -= vg.Points(22)
	f.Draw(left)
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return fmt.Errorf("testnet: draw %q: %w", f.title, err)
	}
	if _, err := w.Write(withFallbackFonts(svg.Bytes())); err != nil {
		return fmt.Errorf("testnet: write %q: %w", f.title, err)
	}
	return nil
}

// withFallbackFonts names fonts of the same widths beside Liberation Sans,
// which few machines have.
func withFallbackFonts(svg []byte) []byte {
	const family = "font-family:Liberation Sans"
	return bytes.ReplaceAll(svg, []byte(family), []byte(family+",Arial,Helvetica,sans-serif"))
}

// evenTicks labels multiples of 1, 2 or 5 times a power of ten, four to ten of
// them.
type evenTicks struct{}

// Ticks implements [plot.Ticker].
func (evenTicks) Ticks(low, high float64) []plot.Tick {
	if !(low < high) || math.IsInf(high-low, 0) {
		return nil
	}
	power := math.Floor(math.Log10((high - low) / 4))
	step := math.Pow(10, power)
	for _, m := range []float64{5, 2} {
		if (high-low)/(m*step) >= 4 {
			step *= m
			break
		}
	}
	digits := max(0, -int(power))
	var ticks []plot.Tick
	for k := math.Ceil(low / step); k*step <= high; k++ {
		value := k*step + 0 // not -0
		ticks = append(ticks, plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'f', digits, 64)})
	}
	return ticks
}

// countTicks marks 1, 2, 5, 10, 20, 50, ... on a log axis, and the same parts of
// numbers below 1.
type countTicks struct{}

// Ticks implements [plot.Ticker].
func (countTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for decade := math.Pow(10, math.Floor(math.Log10(min(1, low)))); decade <= high; decade *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := m * decade; low <= v && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
			}
		}
	}
	return ticks
}
