package learner

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// vectorKind describes vectors. A vector is Length coordinates that the owner's own
// program computed, for example an encoder of photos. Without Scale it is scaled to l2
// norm 1; with Scale it is divided by Scale, and scaled down to norm 1 if it is then
// longer. A vector of zeros is unchanged.
func vectorKind() featureKind {
	length := func(f *Feature) int { return f.Length }
	return featureKind{
		name:  "vector",
		width: length, inputs: length,
		square: constantly(1.),
		names: func(f *Feature) []string {
			names := make([]string, f.Length)
			for i := range names {
				names[i] = fmt.Sprintf("%s[%d]", f.Name, i)
			}
			return names
		},
		cell:   (*Feature).encodeVectorCell,
		vector: (*Feature).encodeVector,
		text:   (*Feature).vectorText,
		coded:  func(f *Feature) CodedTable { return CodedTable{"length": f.Length, "scale": f.Scale} },
		made:   (*Feature).madeVectors,
		check: func(c *checker, key string, f *Feature) {
			c.check(f.Length >= 1 && f.Length <= MaxDimension, key+".length", "must say how many numbers a vector has, 1 to %d", MaxDimension)
			c.check(f.Scale == 0 || f.Scale > 0 && !math.IsInf(f.Scale, 0), key+".scale", "must be a positive number, the length of a usual vector, or left out: each is then divided by its own length")
		},
	}
}

// VectorLength is how many numbers a cell has that a task can read as a vector; 0 for other
// cells.
func VectorLength(text string) int {
	var f Feature // with a vector of any length
	x, _, err := f.encodeVectorCell(nil, text)
	if err != nil {
		return 0
	}
	return len(x)
}

func (f *Feature) encodeVectorCell(x []float64, text string) ([]float64, Note, error) {
	if Blank(text) {
		return unknown(x, f.Length), Empty, nil
	}
	raw, err := f.parseVector(text)
	if err != nil {
		return nil, Taken, err
	}
	return f.encodeVector(x, raw)
}

// encodeVector appends the coordinates of a vector. A vector whose numbers are all NaN
// is unknown.
func (f *Feature) encodeVector(x, raw []float64) ([]float64, Note, error) {
	blank := 0
	for i, v := range raw {
		if math.IsNaN(v) {
			blank++
		} else if math.IsInf(v, 0) {
			return nil, Taken, badNumber(f.Name, v, "at place %d, counted from 0, is not a finite number", i)
		}
	}
	switch {
	case blank == len(raw):
		return unknown(x, f.Length), Empty, nil
	case blank > 0:
		return nil, Taken, badNumber(f.Name, math.NaN(), "is %d of its %d numbers; a vector that is not known is NaN throughout", blank, len(raw))
	}
	by, note := l2(raw), Taken
	switch {
	case math.IsInf(by, 0):
		return nil, Taken, badVector(f.Name, "is too long for a computer's numbers")
	case f.Scale > 0 && by > f.Scale:
		note = Clamped
	case f.Scale > 0:
		by = f.Scale
	case by == 0:
		by = 1
	}
	for _, v := range raw {
		x = append(x, v/by)
	}
	return x, note, nil
}

// parseVector reads a cell: numbers in brackets, separated by commas or blanks, or the
// base64 of little-endian float32 numbers. Without a Length there may be any number of them.
func (f *Feature) parseVector(text string) ([]float64, error) {
	inside, listed := strings.CutPrefix(text, "[")
	if !listed {
		return f.parseBase64(text)
	}
	inside, closed := strings.CutSuffix(inside, "]")
	if !closed {
		return nil, badVector(f.Name, "begins with [ and has no ] at its end")
	}
	numbers := strings.Fields(inside)
	if strings.Contains(inside, ",") {
		numbers = strings.Split(inside, ",")
	}
	if f.Length > 0 && len(numbers) != f.Length {
		return nil, f.wrongLength(len(numbers))
	}
	raw := make([]float64, len(numbers))
	for i, number := range numbers {
		number = strings.TrimSpace(number)
		v, ok := ParseNumber(number)
		if !ok {
			return nil, noNumber(fmt.Sprintf("%s[%d]", f.Name, i), number)
		}
		raw[i] = v
	}
	return raw, nil
}

func (f *Feature) parseBase64(text string) ([]float64, error) {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, badVector(f.Name, "is neither numbers in brackets, as [0.5, -1, 2], nor the base64 of float32 numbers, little-endian")
	}
	switch {
	case len(data)%4 != 0:
		return nil, badVector(f.Name, "is base64 of %d bytes, and %d numbers of float32 are %d bytes", len(data), f.Length, 4*f.Length)
	case f.Length > 0 && len(data) != 4*f.Length:
		return nil, f.wrongLength(len(data) / 4)
	}
	raw := make([]float64, len(data)/4)
	for i := range raw {
		raw[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
		if math.IsNaN(raw[i]) || math.IsInf(raw[i], 0) {
			return nil, badNumber(f.Name, raw[i], "at place %d, counted from 0, is not a finite number", i)
		}
	}
	return raw, nil
}

// vectorText is the cell's text for these numbers.
func (f *Feature) vectorText(raw []float64) string {
	if math.IsNaN(raw[0]) {
		return ""
	}
	text := []byte{'['}
	for i, v := range raw {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendFloat(text, v, 'g', -1, 64)
	}
	return string(append(text, ']'))
}

func (f *Feature) wrongLength(n int) error {
	return badVector(f.Name, "has %d numbers, and the task wants %d", n, f.Length)
}

// badVector is badText without the cell's text, which is long.
func badVector(column, format string, args ...any) error {
	return &ValueError{column, "the vector", fmt.Sprintf(format, args...)}
}

// spread makes one cell from a vector whose numbers are in columns of their own. ok is
// false if there is no column for the first number. A column that goes on counting after the last
// number is an error: the vector is a longer one, or counted from another number on.
func (f *Feature) spread(cell func(name string) (string, bool)) (text string, ok bool, err error) {
	name, ok := f.numbered(func(column string) bool { _, has := cell(column); return has })
	if !ok {
		return "", false, nil
	}
	if _, more := cell(name(f.Length)); more {
		return "", false, badVector(f.Name, "goes on in the column %q after the %d numbers that the task wants; rename that column if it is none of them", name(f.Length), f.Length)
	}
	numbers, blank := make([]string, f.Length), 0
	for i := range numbers {
		column := name(i)
		number, has := cell(column)
		if !has {
			return "", false, missing(column)
		}
		if numbers[i] = strings.TrimSpace(number); Blank(numbers[i]) {
			blank++
		} else if _, err := parseNumber(column, numbers[i]); err != nil {
			return "", false, err
		}
	}
	switch blank {
	case 0:
		return "[" + strings.Join(numbers, ",") + "]", true, nil
	case f.Length:
		return "", true, nil
	}
	return "", false, badVector(f.Name, "lacks %d of its %d numbers: empty cells; a vector that is not known is empty throughout", blank, f.Length)
}

// numbered finds the names of the columns that hold a vector's numbers: the feature's
// name and a number, from 0 or from 1 on, with or without an underscore between them.
func (f *Feature) numbered(has func(column string) bool) (name func(i int) string, ok bool) {
	for first := range 2 {
		for _, prefix := range []string{f.Name + "_", f.Name} {
			name := func(i int) string { return prefix + strconv.Itoa(first+i) }
			if has(name(0)) {
				return name, true
			}
		}
	}
	return nil, false
}

// lacks is [Task.Lacks] for a vector that is not in a column of its own.
func (f *Feature) lacks(has func(column string) bool) (column string, lacks bool) {
	name, ok := f.numbered(has)
	if !ok {
		return f.Name, true
	}
	for i := range f.Length {
		if !has(name(i)) {
			return name(i), true
		}
	}
	return "", false
}

// hasNumber reports whether a column has such a name; see numbered.
func (f *Feature) hasNumber(column string) bool {
	number, ok := strings.CutPrefix(column, f.Name)
	i, err := strconv.Atoi(strings.TrimPrefix(number, "_"))
	return ok && err == nil && i >= 0 && i <= f.Length
}

// madeVectors returns a short vector, a long one as numbers and as base64, and one of
// zeros.
func (f *Feature) madeVectors() []string {
	long, short, zero := make([]float64, f.Length), make([]float64, f.Length), make([]float64, f.Length)
	var float32s []byte
	for i := range long {
		long[i] = float64(i%7-2) * max(1, f.Scale)
		short[i] = long[i] / float64(1+10*f.Length)
		float32s = binary.LittleEndian.AppendUint32(float32s, math.Float32bits(float32(long[i])))
	}
	return []string{f.vectorText(short), f.vectorText(long), f.vectorText(zero), base64.StdEncoding.EncodeToString(float32s)}
}
