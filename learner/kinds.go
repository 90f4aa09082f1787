package learner

import (
	"math"
	"slices"
	"strings"
)

// kinds lists what a feature's key "kind" may say. A kind is added by a file that
// describes it and a line here. Nothing changes the list.
var kinds = [...]featureKind{
	numberKind(),
	setKind(),
	rangeKind(),
	keyKind(),
	textKind(),
	timeKind(),
	vectorKind(),
}

// featureKind is all that is known of a kind of feature. A key has a row, too, but no
// coordinates and none of the functions that make some; see [keyOf].
type featureKind struct {
	name string // as a feature's key "kind" says it
	// numeric: a cell is one number, in which a comma may stand for the point.
	numeric bool

	names  func(*Feature) []string // of its coordinates, in order; nil: the feature's
	width  func(*Feature) int      // how many coordinates; nil: 1
	inputs func(*Feature) int      // how many numbers of a vector say it, see [Task.EncodeVector]; nil: 1
	square func(*Feature) float64  // of the norm that its coordinates usually have

	// cell appends the coordinates of a cell before they are scaled together.
	cell func(f *Feature, x []float64, text string) ([]float64, Note, error)
	// vector is cell for inputs numbers.
	vector func(f *Feature, x, raw []float64) ([]float64, Note, error)
	// text is what the cell would say for these numbers; nil: the number.
	text func(f *Feature, raw []float64) string

	// coded has the constants that a reader of a [ModelFile] needs, and made cells to test one
	// with: not of a key.
	coded func(*Feature) CodedTable
	made  func(*Feature) []string

	check func(c *checker, key string, f *Feature)
}

// kind returns the row of the feature's kind; the first for a name that is none, so
// that a task can be checked to its end.
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

// Inputs is how many numbers of a vector say the feature, see [Task.EncodeVector].
func (f *Feature) Inputs() int { return count(f.kind().inputs, f) }

// count is how many the kind says, or 1.
func count(of func(*Feature) int, f *Feature) int {
	if of == nil {
		return 1
	}
	return of(f)
}

// constantly is the same of every feature of a kind.
func constantly[T any](v T) func(*Feature) T { return func(*Feature) T { return v } }

// ofNumber is how a kind whose cell says one number is coded: read makes the number of a
// text, and put appends the coordinates of a finite number. The cell of a kind of
// which nothing is known says NaN.
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

// unknown appends the coordinates, n of them, of a feature of which nothing is known.
func unknown(x []float64, n int) []float64 { return append(x, make([]float64, n)...) }

// kind checks the feature's key "kind" and those that belong to it.
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
	c.belongs(f, key, "log", f.Log, "number")
	c.belongs(f, key, "parts", f.Parts != nil, "time")
	c.belongs(f, key, "utc_offset", f.UTCOffset != "", "time")
	c.belongs(f, key, "length", f.Length != 0, "vector")
	c.belongs(f, key, "scale", f.Scale != 0, "vector")
	if k := f.kind(); k.name == f.Kind {
		k.check(c, key, f)
	}
}

// belongs checks that a key of one kind stands with no other.
func (c *checker) belongs(f *Feature, key, name string, there bool, kinds ...string) {
	c.check(!there || slices.Contains(kinds, f.Kind), key+"."+name, "belongs to the kind %s; leave it out", strings.Join(kinds, " or "))
}
