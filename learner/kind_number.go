package learner

import "math"

// numberKind describes numbers. A number is one coordinate: [Min, Max] is taken to [-1,
// 1], except that [0, 1] stays as it is, so that a column of yes and no is like a value
// of a set. With Log, the same is done to its logarithm: log v if Min is above 0, and
// log(1 + v) if Min is 0.
func numberKind() featureKind {
	return featureKind{
		name:    "number",
		numeric: true,
		square:  constantly(1. / 3), // the mean square of a uniform number in [-1, 1]
		coded:   (*Feature).codedNumber,
		made: func(f *Feature) []string {
			return numberTexts(0.7*f.Min+0.3*f.Max, f.Min, f.Max, 2*f.Max-f.Min, 2*f.Min-f.Max, 0.25*f.Min+0.75*f.Max)
		},
		check: func(c *checker, key string, f *Feature) {
			c.interval(key+".min", f.Min, f.Max)
			if f.Log {
				c.check(f.Min >= 0, key+".log", "needs a min of 0 or more: there is no logarithm of what lies below")
				c.check(f.logarithm(f.Min) < f.logarithm(f.Max), key+".max", "is so close to min that their logarithms are one number; leave log out")
			}
		},
	}.ofNumber((*Feature).parseNumber, func(f *Feature, x []float64, v float64) ([]float64, Note, error) {
		inside, note := clamp(v, f.Min, f.Max)
		return append(x, f.unit(inside)), note, nil
	})
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

func (f *Feature) logarithm(v float64) float64 {
	if f.Min > 0 {
		return math.Log(v)
	}
	return math.Log1p(v)
}

// plain reports whether a number in the range is its own coordinate.
func (f *Feature) plain() bool { return !f.Log && f.Max == 1 && (f.Min == 0 || f.Min == -1) }

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
// because the width of a very wide range overflows.
func (f *Feature) codedNumber() CodedTable {
	low, high, from, name := f.Min, f.Max, -1., ""
	switch {
	case f.Log && f.Min > 0:
		name = "log"
	case f.Log:
		name = "log1p"
	case f.plain():
		from = f.Min
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
