package learner

import (
	"math"
	"slices"
	"strings"
)

// kinds lists the allowed values of a feature's key "kind". To add a kind, add a file
// that describes it and a line here. Nothing changes the list at run time.
var kinds = [...]featureKind{
	numberKind(),
	setKind(),
	rangeKind(),
	keyKind(),
	textKind(),
	timeKind(),
	vectorKind(),
}

// featureKind describes a kind of feature. A key has a row too, but no coordinates, so
// it has none of the functions that make them; see [keyOf].
type featureKind struct {
	name string // the value of the feature's key "kind"
	// numeric means that a cell is one number; a comma may stand for the point.
	numeric bool

	names  func(*Feature) []string // names of its coordinates, in order; nil: the feature's name
	width  func(*Feature) int      // number of its coordinates; nil: 1
	inputs func(*Feature) int      // how many numbers of a vector stand for it, see [Task.EncodeVector]; nil: 1
	square func(*Feature) float64  // of the usual norm of its coordinates

	// straight returns the feature without bends, and how its coordinates and the feature's go
	// together, see [straightFeature]; nil weights, or a kind without straight: the feature has no bends.
	straight func(f *Feature) (straight Feature, weights [][]float64, level []float64)

	// cell appends the coordinates of a cell, before all coordinates are scaled
	// together.
	cell func(f *Feature, x []float64, text string) ([]float64, Note, error)
	// vector is cell for numbers, as many as inputs says.
	vector func(f *Feature, x, raw []float64) ([]float64, Note, error)
	// text is the cell's text for these numbers; nil: the text of the number.
	text func(f *Feature, raw []float64) string

	// coded returns the constants that a reader of a [ModelFile] needs, and made cells
	// to test one with. Keys have none.
	coded func(*Feature) CodedTable
	made  func(*Feature) []string

	check func(c *checker, key string, f *Feature)
}

// kind returns the row of the feature's kind. For an unknown name it returns the first
// row, so that the check of a task can go on to the end.
func (f *Feature) kind() *featureKind {
	for i := range kinds {
		if kinds[i].name == f.Kind {
			return &kinds[i]
		}
	}
	return &kinds[0]
}

// width is how many coordinates of a record the feature takes.
func (f *Feature) width() int { return count(f.kind().width, f) }

// Inputs is how many numbers of a vector stand for the feature; see
// [Task.EncodeVector].
func (f *Feature) Inputs() int { return count(f.kind().inputs, f) }

// OfNumber returns the coordinates of one number of a kind whose cells are numbers, before all
// coordinates of a row are scaled together; NaN is an unknown one.
func (f *Feature) OfNumber(v float64) ([]float64, Note, error) {
	return f.kind().vector(f, nil, []float64{v})
}

// count returns the number that the kind gives, or 1 if it gives none.
func count(of func(*Feature) int, f *Feature) int {
	if of == nil {
		return 1
	}
	return of(f)
}

// constantly returns a function that gives v for every feature of a kind.
func constantly[T any](v T) func(*Feature) T { return func(*Feature) T { return v } }

// ofNumber completes a kind whose cell is one number: read makes the number from a
// text, and put appends the coordinates of a finite number. NaN stands for an unknown
// cell.
func (k featureKind) ofNumber(read func(f *Feature, text string) (float64, error),
	put func(f *Feature, x []float64, v float64) ([]float64, Note, error)) featureKind {
	k.vector = func(f *Feature, x, raw []float64) ([]float64, Note, error) {
		switch v := raw[0]; {
		case math.IsNaN(v):
			return unknown(x, count(k.width, f)), Empty, nil
		case math.IsInf(v, 0):
			return nil, Taken, badNumber(f.Name, v, "is not a finite number")
		default:
			return put(f, x, v)
		}
	}
	k.cell = func(f *Feature, x []float64, text string) ([]float64, Note, error) {
		if Blank(text) {
			return unknown(x, count(k.width, f)), Empty, nil
		}
		v, err := read(f, text)
		if err != nil {
			return nil, Taken, err
		}
		return put(f, x, v)
	}
	return k
}

// unknown appends n zeros, the coordinates of an unknown feature.
func unknown(x []float64, n int) []float64 { return append(x, make([]float64, n)...) }

// kind checks the feature's key "kind" and the keys that belong to that kind.
func (c *checker) kind(key string, f *Feature) {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	c.oneOf(key+".kind", f.Kind, names...)
	c.belongs(f, key, "catalogue", f.Catalogue != "", "key")
	c.belongs(f, key, "buckets", f.Buckets != 0, "key", "text")
	c.belongs(f, key, "words", f.Words != nil, "text")
	c.belongs(f, key, "letters", f.Letters != nil, "text")
	c.belongs(f, key, "seed", f.Seed != 0, "text")
	c.belongs(f, key, "bends", f.Bends != nil, "number")
	c.belongs(f, key, "log", f.Log, "number")
	c.belongs(f, key, "parts", f.Parts != nil, "time")
	c.belongs(f, key, "utc_offset", f.UTCOffset != "", "time")
	c.belongs(f, key, "length", f.Length != 0, "vector")
	c.belongs(f, key, "scale", f.Scale != 0, "vector")
	if k := f.kind(); k.name == f.Kind {
		k.check(c, key, f)
	}
}

// belongs checks that a key of some kinds is not set for a feature of another kind.
func (c *checker) belongs(f *Feature, key, name string, there bool, kinds ...string) {
	c.check(!there || slices.Contains(kinds, f.Kind), key+"."+name, "belongs to the kind %s; leave it out", strings.Join(kinds, " or "))
}
