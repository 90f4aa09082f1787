package learner

import (
	"math"
	"slices"
)

// numberKind describes numbers. A number is one coordinate: [Min, Max] is taken to [-1,
// 1], except that [0, 1] stays as it is, so that a column of yes and no is like a value
// of a set. With Log, the same is done to its logarithm: log v if Min is above 0, and
// log(1 + v) if Min is 0.
//
// With Bends, a number is a coordinate for each of Min, the bends and Max, its knots: 1 at
// the knot, and falling in a straight line to 0 at the next knots on both sides (linear
// B-splines). What a model makes of it then is straight between two knots.
func numberKind() featureKind {
	return featureKind{
		name:    "number",
		numeric: true,
		width: func(f *Feature) int {
			if len(f.Bends) == 0 {
				return 1
			}
			return len(f.Bends) + 2
		},
		square: func(f *Feature) float64 {
			if len(f.Bends) == 0 {
				return 1. / 3 // the mean square of a uniform number in [-1, 1]
			}
			return 2. / 3 // and of its two coordinates between two knots
		},
		names: func(f *Feature) []string {
			if len(f.Bends) == 0 {
				return []string{f.Name}
			}
			var names []string
			for _, knot := range f.knots() {
				names = append(names, f.Name+"~"+numberText(knot))
			}
			return names
		},
		straight: (*Feature).line,
		coded:    (*Feature).codedNumber,
		made: func(f *Feature) []string {
			made := numberTexts(0.7*f.Min+0.3*f.Max, f.Min, f.Max, 2*f.Max-f.Min, 2*f.Min-f.Max, 0.25*f.Min+0.75*f.Max)
			return append(made, numberTexts(f.Bends...)...)
		},
		check: func(c *checker, key string, f *Feature) {
			c.interval(key+".min", f.Min, f.Max)
			if f.Log {
				c.logarithm(key, f.Min, f.Max)
			}
			c.bends(key+".bends", f)
		},
	}.ofNumber((*Feature).parseNumber, func(f *Feature, x []float64, v float64) ([]float64, Note, error) {
		inside, note := clamp(v, f.Min, f.Max)
		if len(f.Bends) > 0 {
			return f.between(x, inside), note, nil
		}
		return append(x, f.unit(inside)), note, nil
	})
}

// line is a number without its bends; its coordinates at the knots are the weights, see [straightFeature].
func (f *Feature) line() (straight Feature, weights [][]float64, level []float64) {
	straight = *f
	if len(f.Bends) == 0 {
		return straight, nil, nil
	}
	straight.Bends = nil
	units := f.knots()
	level = make([]float64, len(units))
	for i, knot := range units {
		units[i], level[i] = f.unit(knot), 1
	}
	return straight, [][]float64{units}, level
}

// knots are where the straight pieces of a number with bends begin and end.
func (f *Feature) knots() []float64 {
	return slices.Concat([]float64{f.Min}, f.Bends, []float64{f.Max})
}

// between appends the coordinates of a number with bends.
func (f *Feature) between(x []float64, v float64) []float64 {
	knots, at := f.knots(), len(x)
	x = unknown(x, len(knots))
	i, found := slices.BinarySearch(knots, v)
	if found {
		x[at+i] = 1
		return x
	}
	low, high := f.half(knots[i-1]), f.half(knots[i])
	share := (f.half(v) - low) / (high - low)
	x[at+i-1], x[at+i] = 1-share, share
	return x
}

// half is half of the number or of its logarithm: the width of a very wide range overflows,
// and half of it does not.
func (f *Feature) half(v float64) float64 {
	if f.Log {
		return f.logarithm(v) / 2
	}
	return v / 2
}

func (f *Feature) parseNumber(text string) (float64, error) { return parseNumber(f.Name, text) }

// unit takes [Min, Max] to [-1, 1], and leaves [0, 1] unchanged.
func (f *Feature) unit(v float64) float64 {
	low, high := f.Min, f.Max
	switch {
	case f.Log:
		v, low, high = f.logarithm(v), f.logarithm(low), f.logarithm(high)
	case f.plain():
		return v
	case high-low > math.MaxFloat64: // the width of the range overflows, half of it does not
		return (v/2-low/2)/(high/2-low/2)*2 - 1
	}
	return 2*((v-low)/(high-low)) - 1
}

func (f *Feature) logarithm(v float64) float64 { return logarithm(v, f.Min) }

// plain reports whether a number in the range is its own coordinate.
func (f *Feature) plain() bool { return !f.Log && f.Max == 1 && (f.Min == 0 || f.Min == -1) }

// ranged reports whether the feature is one coordinate that its range alone scales: a plain
// number is scaled already, or a yes or no.
func (f *Feature) ranged() bool { return f.Kind == "number" && len(f.Bends) == 0 && !f.plain() }

func clamp(v, low, high float64) (float64, Note) {
	switch {
	case v < low:
		return low, Clamped
	case v > high:
		return high, Clamped
	}
	return v, Taken
}

// codedNumber describes the coordinate: it is from + (g(v)/2 - half) times, with v in
// [min, max] and g the function that log names: "log", "log1p" or none. Halves are used
// because the width of a very wide range overflows. The coordinates of a number with bends
// are those of g(v)/2 between the knots.
func (f *Feature) codedNumber() CodedTable {
	low, high, from, name := f.Min, f.Max, -1., ""
	switch {
	case f.Log:
		name = logName(f.Min)
	case f.plain():
		from = f.Min
	}
	if len(f.Bends) > 0 {
		knots := f.knots()
		for i, knot := range knots {
			knots[i] = f.half(knot)
		}
		return CodedTable{"min": f.Min, "max": f.Max, "log": name, "knots": knots}
	}
	if f.Log {
		low, high = f.logarithm(low), f.logarithm(high)
	}
	return CodedTable{"min": f.Min, "max": f.Max, "log": name, "from": from, "half": low / 2, "times": (1 - from) / (high/2 - low/2)}
}

// numberTexts returns the texts of the finite ones among the numbers.
func numberTexts(numbers ...float64) (texts []string) {
	for _, v := range numbers {
		if !math.IsInf(v, 0) {
			texts = append(texts, numberText(v))
		}
	}
	return texts
}
