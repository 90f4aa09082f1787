package testnet

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours that people with any colour vision can tell apart (Okabe and Ito 2008).
func colourOf(m Method) color.Color {
	switch m {
	case Alone:
		return color.RGBA{R: 0x55, G: 0x55, B: 0x55, A: 0xff}
	case Together:
		return color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}
	}
	return color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
}

// WriteCurve draws the learning curve as SVG: mean test error against mean
// releases per node, for the first seed; the lone models are a horizontal line.
func (r *Result) WriteCurve(w io.Writer) error {
	f := newFigure("Error while learning together")
	f.X.Label.Text = "releases per node (mean)"
	f.Y.Label.Text = "test error per person (mean " + r.Measure + ")"
	f.X.Min = 0
	if len(r.Rounds) > 0 {
		if err := f.addCurves(&r.Rounds[0]); err != nil {
			return err
		}
	}
	widen(&f.Y, 0.02)
	return f.writeSVG(w)
}

func (f *figure) addCurves(round *Round) error {
	alone := round.trial(Alone)
	if alone == nil {
		return nil
	}
	start := mean(alone.Errors)
	end := 1.0
	for _, m := range []Method{Together, Private} {
		t := round.trial(m)
		if t == nil || len(t.Curve) == 0 {
			continue
		}
		points := plotter.XYs{{X: 0, Y: start}}
		for _, c := range t.Curve {
			points = append(points, plotter.XY{X: c.Releases, Y: c.Error})
		}
		end = max(end, points[len(points)-1].X)
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("testnet: draw the learning curve: %w", err)
		}
		line.Width = vg.Points(1.8)
		line.Color, dots.Color = colourOf(m), colourOf(m)
		dots.Shape, dots.Radius = draw.CircleGlyph{}, vg.Points(2.4)
		f.Add(line, dots)
		f.entry(methodLabel(m), line, dots)
	}
	level, err := plotter.NewLine(plotter.XYs{{X: 0, Y: start}, {X: end, Y: start}})
	if err != nil {
		return fmt.Errorf("testnet: draw the learning curve: %w", err)
	}
	level.Width, level.Color = vg.Points(1.4), colourOf(Alone)
	level.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	f.Add(level)
	f.entry(methodLabel(Alone), level)
	return nil
}

// WriteGain draws each person's gain as SVG against the number of records she
// learns from, with the medians of the bins of the table. Every person of every
// seed is a dot, those who lose too.
func (r *Result) WriteGain(w io.Writer) error {
	pairs := r.Pairs(Private)
	f := newFigure("Gain per person, together and private against alone")
	f.X.Label.Text = "records she learns from (log scale)"
	f.Y.Label.Text = "gain (% of her test error alone)"
	f.X.Scale, f.X.Tick.Marker = plot.LogScale{}, countTicks{}
	f.X.Min, f.X.Max = sizeRange(pairs)
	if err := f.addGains(pairs); err != nil {
		return fmt.Errorf("testnet: draw the gains: %w", err)
	}
	widen(&f.Y, 10)
	return f.writeSVG(w)
}

func (f *figure) addGains(pairs []Pair) error {
	zero, err := plotter.NewLine(plotter.XYs{{X: f.X.Min, Y: 0}, {X: f.X.Max, Y: 0}})
	if err != nil {
		return err
	}
	zero.Width, zero.Color = vg.Points(1.2), colourOf(Alone)
	var up, even, down plotter.XYs
	for _, pair := range pairs {
		at := plotter.XY{X: max(1, float64(pair.Train)), Y: 100 * pair.Gain()}
		switch {
		case at.Y > 0:
			up = append(up, at)
		case at.Y < 0:
			down = append(down, at)
		default:
			even = append(even, at)
		}
	}
	for _, side := range []struct {
		name   string
		points plotter.XYs
		colour color.Color
	}{
		{"better", up, color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}},
		{"the same", even, color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff}},
		{"worse", down, color.RGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}},
	} {
		dots, err := plotter.NewScatter(side.points)
		if err != nil && len(side.points) > 0 {
			return err
		}
		if len(side.points) == 0 {
			continue
		}
		dots.Color, dots.Shape, dots.Radius = side.colour, draw.RingGlyph{}, vg.Points(2)
		f.Add(dots)
		f.entry(fmt.Sprintf("%s (%s)", side.name, percent(float64(len(side.points))/float64(len(pairs)))), dots)
	}
	f.Add(zero)
	return f.addMedians(pairs)
}

// addMedians draws the median gain of each bin across its width.
func (f *figure) addMedians(pairs []Pair) error {
	named := false
	for _, bin := range Bins() {
		in := bin.In(pairs)
		if len(in) == 0 {
			continue
		}
		left, right := sizeRange(in)
		median := 100 * Summarise(in).Gain
		line, err := plotter.NewLine(plotter.XYs{{X: left, Y: median}, {X: right, Y: median}})
		if err != nil {
			return err
		}
		line.Width = vg.Points(2.6)
		f.Add(line)
		if !named {
			f.entry("median", line)
			named = true
		}
	}
	return nil
}

// sizeRange is the range of training-set sizes, never empty on a log axis.
func sizeRange(pairs []Pair) (low, high float64) {
	low, high = math.Inf(1), 1
	for _, p := range pairs {
		low = min(low, max(1, float64(p.Train)))
		high = max(high, float64(p.Train))
	}
	if !(low < high) {
		return high, high * 1.1
	}
	return low, high
}
