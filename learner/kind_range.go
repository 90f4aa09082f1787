package learner

import "slices"

// rangeKind describes ranges. A range is one coordinate for each interval between
// Edges: 1 for the interval that holds the number, else 0.
func rangeKind() featureKind {
	return featureKind{
		name:    "range",
		numeric: true,
		width:   func(f *Feature) int { return len(f.Edges) + 1 },
		square:  constantly(1.),
		names: func(f *Feature) []string {
			names := []string{f.Name + "<" + numberText(f.Edges[0])}
			for _, edge := range f.Edges {
				names = append(names, f.Name+">="+numberText(edge)) // and below the next edge
			}
			return names
		},
		coded: func(f *Feature) CodedTable { return CodedTable{"edges": f.Edges} },
		made: func(f *Feature) []string {
			first, last := f.Edges[0], f.Edges[len(f.Edges)-1]
			return numberTexts(first/2+last/2, first-1, first, last, last+1)
		},
		check: func(c *checker, key string, f *Feature) {
			c.edges(key+".edges", f.Edges)
		},
	}.ofNumber((*Feature).parseNumber, func(f *Feature, x []float64, v float64) ([]float64, Note, error) {
		at := len(x)
		x = unknown(x, len(f.Edges)+1)
		x[at+f.interval(v)] = 1
		return x, Taken, nil
	})
}

// interval is the number of the interval between the edges that holds v, from 0.
func (f *Feature) interval(v float64) int {
	i, found := slices.BinarySearch(f.Edges, v)
	if found {
		i++
	}
	return i
}
