package page

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// evenTicks labels multiples of 1, 2 or 5 times a power of ten, at most most of them.
// It uses multiples of 4 where only one label would be left.
type evenTicks struct{ most int }

// Ticks implements [plot.Ticker].
func (e evenTicks) Ticks(low, high float64) []plot.Tick {
	if !(low < high) || math.IsInf(high-low, 0) {
		return nil
	}
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/float64(e.most))))
	count := func(step float64) int { return int(math.Floor(high/step) - math.Ceil(low/step) + 1) }
	step := unit
	for _, m := range []float64{2, 5, 10} {
		if count(step) <= e.most {
			break
		}
		step = m * unit
	}
	if step == 5*unit && count(step) < 2 {
		step = 4 * unit
	}
	size := max(math.Abs(low), math.Abs(high))
	var ticks []plot.Tick
	for k := math.Ceil(low / step); k*step <= high; k++ {
		value := k*step + 0 // not -0
		ticks = append(ticks, plot.Tick{Value: value, Label: evenLabel(value, step, size)})
	}
	return ticks
}

// evenLabel writes a multiple of step in a range up to size: with as many digits as
// the step has, or with a power of ten where that would be long.
func evenLabel(value, step, size float64) string {
	last := int(math.Floor(math.Log10(step) + 1e-9)) // power of the last significant digit
	if size < 1e7 && size >= 1e-3 {
		return grouped(value, max(0, -last))
	}
	power := int(math.Floor(math.Log10(size)))
	if value == 0 {
		return "0"
	}
	return strconv.FormatFloat(value/math.Pow(10, float64(power)), 'f', max(0, power-last), 64) + "·10" + superscript(power)
}

// grouped writes a number with commas between thousands, from 10,000 up.
func grouped(value float64, digits int) string {
	text := strconv.FormatFloat(value, 'f', digits, 64)
	whole, rest, _ := strings.Cut(text, ".")
	if math.Abs(value) < 1e4 {
		return text
	}
	for at := len(whole) - 3; at > 0 && whole[at-1] != '-'; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}

// logTicks labels powers of ten on a log axis and, where there is room, two and five
// times these, with marks between them. Over less than one power it labels evenly.
type logTicks struct{ most int }

// Ticks implements [plot.Ticker].
func (l logTicks) Ticks(low, high float64) []plot.Tick {
	if !(0 < low && low < high) || math.IsInf(high, 0) {
		return nil
	}
	decades := math.Log10(high / low)
	if decades < 1 {
		return evenTicks(l).Ticks(low, high)
	}
	every := max(1, int(math.Ceil((decades+1)/float64(l.most))))
	fine := 3*decades+1 <= float64(l.most)
	var ticks []plot.Tick
	for power := int(math.Floor(math.Log10(low))); power <= int(math.Ceil(math.Log10(high))); power++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, float64(power))
			switch {
			case v < low*(1-1e-9) || v > high*(1+1e-9):
			case m == 1 && power%every == 0 || fine && (m == 2 || m == 5):
				ticks = append(ticks, plot.Tick{Value: v, Label: logLabel(v, power)})
			case every == 1 || m == 1:
				ticks = append(ticks, plot.Tick{Value: v})
			}
		}
	}
	return ticks
}

// logLabel writes numbers of ordinary size in full, others as powers of ten.
func logLabel(v float64, power int) string {
	if power >= -3 && power < 7 {
		return grouped(v, max(0, -power))
	}
	m := math.Round(v / math.Pow(10, float64(power)))
	if m == 1 {
		return "10" + superscript(power)
	}
	return strconv.FormatFloat(m, 'f', 0, 64) + "·10" + superscript(power)
}

func superscript(n int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").
		Replace(strconv.Itoa(n))
}
