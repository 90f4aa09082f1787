package testnet

import (
	"fmt"
	"io"
	"math"

	"p2pnode/testnet/page"
)

func colourOf(m Method) page.Colour {
	switch m {
	case Alone:
		return page.Grey
	case Together, Open:
		return page.Orange
	case Broadcast:
		return page.Ink
	}
	return page.Blue
}

// writeCurve draws the learning curve as SVG: mean test error against mean
// releases per node, for the first seed; the lone models and sums are horizontal lines.
func (r *Result) writeCurve(w io.Writer) error { return r.curve().WriteSVG(w) }

func (r *Result) curve() *page.Chart {
	c := &page.Chart{
		Title: "Error while learning together",
		Alt:   "The mean test error of a person against the releases her node has made; alone, and with a private sum, it is a level.",
		X:     page.Axis{Label: "releases per node (mean)"},
		Y:     page.Axis{Label: "test error per person (mean " + string(r.Measure) + ")", Least: 0.02},
	}
	if len(r.Rounds) == 0 {
		return c
	}
	round := &r.Rounds[0]
	alone := round.trial(Alone)
	if alone == nil {
		return c
	}
	start := mean(alone.Errors)
	for _, m := range []Method{Open, Broadcast, Private, Together} {
		t := round.trial(m)
		if t == nil {
			continue
		}
		if m == Private || m == Together {
			c.Series = append(c.Series, page.Series{Name: methodLabel(m), Style: page.Level, Colour: colourOf(m), Y: []float64{mean(t.Errors)}})
			continue
		}
		if len(t.Curve) == 0 {
			continue
		}
		s := page.Series{Name: methodLabel(m), Colour: colourOf(m), X: []float64{0}, Y: []float64{start}}
		for _, point := range t.Curve {
			s.X, s.Y = append(s.X, point.Releases), append(s.Y, point.Error)
		}
		c.Series = append(c.Series, s)
	}
	c.Series = append(c.Series, page.Series{Name: methodLabel(Alone), Style: page.Level, Colour: colourOf(Alone), Y: []float64{start}})
	return c
}

// writeGain draws each person's gain as SVG against the number of records the person
// learns from, with the medians of the bins of the table. Every person of every seed is
// a dot, including those who lose.
func (r *Result) writeGain(w io.Writer) error { return r.gain().WriteSVG(w) }

func (r *Result) gain() *page.Chart {
	m := r.best()
	pairs := r.Pairs(m)
	c := &page.Chart{
		Title: "Gain per person by " + methodLabel(m),
		Alt:   "A dot for each person: the share of her test error alone that she saves, against the number of her records.",
		X:     page.Axis{Label: "records she learns from (log scale)", Log: true},
		Y:     page.Axis{Label: "gain (% of her test error alone)", Least: 10},
	}
	up := page.Series{Name: "better", Style: page.Crowd, Colour: page.Blue}
	even := page.Series{Name: "the same", Style: page.Crowd, Colour: page.Grey}
	down := page.Series{Name: "worse", Style: page.Crowd, Colour: page.Red}
	for _, pair := range pairs {
		side, gain := &even, 100*pair.gain()
		switch {
		case gain > 0:
			side = &up
		case gain < 0:
			side = &down
		}
		side.X, side.Y = append(side.X, max(1, float64(pair.Train))), append(side.Y, gain)
	}
	for _, side := range []page.Series{up, even, down} {
		if n := len(side.X); n > 0 {
			side.Name += fmt.Sprintf(" (%s)", percent(float64(n)/float64(len(pairs))))
			c.Series = append(c.Series, side)
		}
	}
	c.Series = append(c.Series, page.Series{Style: page.Level, Y: []float64{0}})
	if len(pairs) > 0 {
		c.Series = append(c.Series, medians(pairs))
	}
	return c
}

// medians is the median gain of each bin across its width.
func medians(pairs []Pair) page.Series {
	s := page.Series{Name: "median", Style: page.Stroke, Colour: page.Ink}
	for _, bin := range Bins() {
		in := bin.In(pairs)
		if len(in) == 0 {
			continue
		}
		left, right := sizeRange(in)
		median := 100 * Summarise(in).Gain
		s.X = append(s.X, left, right, right)
		s.Y = append(s.Y, median, median, math.NaN())
	}
	return s
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
