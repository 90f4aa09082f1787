package learner

import (
	"slices"
	"strings"
)

// setKind describes sets. A set is one coordinate for each of Values: 1 where the cell
// names it, else 0.
func setKind() featureKind {
	count := func(f *Feature) int { return len(f.Values) }
	return featureKind{
		name:  "set",
		width: count, inputs: count,
		square: constantly(1.), // of a cell with one value
		names: func(f *Feature) []string {
			names := make([]string, len(f.Values))
			for i, v := range f.Values {
				names[i] = f.Name + "=" + v
			}
			return names
		},
		cell:   (*Feature).encodeSet,
		vector: (*Feature).encodeMembers,
		text:   (*Feature).listed,
		coded:  func(f *Feature) CodedTable { return CodedTable{"values": f.Values} },
		made: func(f *Feature) []string {
			first, last := f.Values[0], f.Values[len(f.Values)-1]
			return []string{first, last, " " + first + " | " + last + " ", "no such value", "no such value|" + last}
		},
		check: func(c *checker, key string, f *Feature) {
			c.values(key+".values", f.Values)
		},
	}
}

// encodeSet reads the values of a cell, which are separated by vertical bars.
func (f *Feature) encodeSet(x []float64, text string) ([]float64, Note, error) {
	at, note := len(x), Empty
	x = unknown(x, len(f.Values))
	if Blank(text) && !slices.Contains(f.Values, text) {
		return x, note, nil
	}
	for name := range strings.SplitSeq(text, "|") {
		name = strings.TrimSpace(name)
		if i := slices.Index(f.Values, name); i >= 0 {
			x[at+i] = 1
			if note == Empty {
				note = Taken
			}
		} else if name != "" {
			note = Unknown
		}
	}
	return x, note, nil
}

// encodeMembers is encodeSet for a vector that has a 1 or a 0 for each of the values.
func (f *Feature) encodeMembers(x, raw []float64) ([]float64, Note, error) {
	note := Empty
	for i, v := range raw {
		if v != 0 && v != 1 {
			return nil, Taken, badNumber(f.Name, v, "for %q is neither 1 nor 0", f.Values[i])
		}
		if v == 1 {
			note = Taken
		}
	}
	return append(x, raw...), note, nil
}

// listed is the text of a set's cell for these numbers; see [Task.EncodeVector].
func (f *Feature) listed(raw []float64) string {
	var names []string
	for i, v := range raw {
		if v == 1 {
			names = append(names, f.Values[i])
		}
	}
	return strings.Join(names, "|")
}
