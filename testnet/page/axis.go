package page

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// span makes the axis a as long as d requires for these values; air is the share that
// is left free at both ends.
func (d *Axis) span(a *plot.Axis, values []float64, air float64) {
	switch {
	case len(d.Names) > 0:
		a.Min, a.Max = -0.5, float64(len(d.Names))-0.5
		return
	case d.Min != 0 || d.Max != 0:
		a.Min, a.Max = d.Min, d.Max
	default:
		a.Min, a.Max = d.extremes(values)
		d.widen(a, air)
	}
	a.Tick.Marker = evenTicks{mostTicks}
	if d.Log {
		a.Scale, a.Tick.Marker = plot.LogScale{}, logTicks{mostTicks}
	}
}

// mostTicks is the largest number of labels on an axis.
const mostTicks = 9

// thin removes labels of a horizontal axis until they do not touch in this room.
func (d *Axis) thin(a *plot.Axis, room vg.Length) {
	for most := mostTicks; most > 2; most-- {
		if d.Log {
			a.Tick.Marker = logTicks{most}
		} else {
			a.Tick.Marker = evenTicks{most}
		}
		var needed vg.Length
		for _, t := range a.Tick.Marker.Ticks(a.Min, a.Max) {
			if !t.IsMinor() {
				needed += a.Tick.Label.Width(t.Label) + 2*gap
			}
		}
		if needed <= room {
			return
		}
	}
}

// extremes is the range of the values that the axis can show.
func (d *Axis) extremes(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if d.shows(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	switch {
	case low <= high:
		return low, high
	case d.Log:
		return 1, 10
	}
	return 0, 1
}

// widen leaves air at both ends, and gives every axis some length.
func (d *Axis) widen(a *plot.Axis, air float64) {
	if d.Log {
		if a.Min == a.Max {
			a.Min, a.Max = a.Min/1.5, a.Max*1.5
		}
		more := math.Pow(a.Max/a.Min, air)
		a.Min, a.Max = a.Min/more, a.Max*more
		return
	}
	span := a.Max - a.Min
	more := max(air*span, (d.Least-span)/2)
	if span == 0 && more == 0 {
		more = max(math.Abs(a.Max)/10, 1e-12)
		if a.Max == 0 {
			more = 1
		}
	}
	a.Min, a.Max = a.Min-more, a.Max+more
}

// shows reports whether the axis has a place for v.
func (d *Axis) shows(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!d.Log || v > 0)
}

// names writes the names of categories, each within room along the axis; names that do
// not fit a horizontal axis are turned.
func (d *Axis) names(a *plot.Axis, room vg.Length, horizontal bool) {
	if len(d.Names) == 0 {
		return
	}
	fits := true
	var ticks plot.ConstantTicks
	for k, name := range d.Names {
		lines := wrap(a.Tick.Label, name, room)
		fits = fits && a.Tick.Label.Width(lines) <= room
		ticks = append(ticks, plot.Tick{Value: float64(k), Label: lines})
	}
	if horizontal && !fits {
		for k, name := range d.Names {
			ticks[k].Label = wrap(a.Tick.Label, name, turnedRoom)
		}
		a.Tick.Label.Rotation, a.Tick.Label.XAlign = math.Pi/2, -1
		a.Tick.Label.YAlign = -0.5
	}
	a.Tick.Marker = ticks
}

// turnedRoom is the length of turned names.
const turnedRoom = 90 * vg.Length(1)
