package learner

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
)

// keyOf is the key that a cell names: the first eight bytes of the SHA-256 of its text,
// without blanks around it, read as a little-endian number; or 0 and [Empty] for a cell
// that is [Blank]. The coder needs no catalogue for this, so records are the same
// before and after the catalogue arrives.
func keyOf(text string) (uint64, Note) {
	text = strings.TrimSpace(text)
	if Blank(text) {
		return 0, Empty
	}
	sum := sha256.Sum256([]byte(text))
	return max(1, binary.LittleEndian.Uint64(sum[:])), Taken
}

// numberKey is the key that a number names when the data has numbers instead of texts.
func (f *Feature) numberKey(v float64) (uint64, Note, error) {
	if math.IsInf(v, 0) {
		return 0, Taken, badNumber(f.Name, v, "is not a finite number")
	}
	key, note := keyOf(keyText(v))
	return key, note, nil
}

// keyText is the text of a number that is a key, and "" for NaN. A whole number has all its
// digits, as in a CSV file or a catalogue, as far as float64 tells it from its neighbours.
func keyText(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return numberText(v)
}

// maxKeys bounds the keys of a sum over keys, which takes twice as many numbers.
const maxKeys = 1 << 20

// keyKind describes keys. A key has no coordinate: it names the one thing that the
// record is about.
func keyKind() featureKind {
	return featureKind{
		name:  "key",
		width: constantly(0),
		text:  func(_ *Feature, raw []float64) string { return keyText(raw[0]) },
		check: func(c *checker, key string, f *Feature) {
			c.check((f.Catalogue == "") != (f.Buckets == 0), key, "must have a catalogue, the SHA-256 of the public file that lists its keys, or buckets, into how many they are hashed without such a file, and not both")
			hash, err := hex.DecodeString(f.Catalogue)
			c.check(f.Catalogue == "" || err == nil && len(hash) == sha256.Size && f.Catalogue == strings.ToLower(f.Catalogue),
				key+".catalogue", "must be the SHA-256 of a file: %d digits 0 to 9 and a to f", 2*sha256.Size)
			c.check(f.Buckets == 0 || f.Buckets >= 2 && f.Buckets <= maxKeys, key+".buckets", "must be between 2 and %d", maxKeys)
		},
	}
}

// oneKey checks that at most one feature has the kind "key".
func (c *checker) oneKey(features []Feature) {
	at := ""
	for i := range features {
		if key := fmt.Sprintf("features[%d]", i); features[i].Kind == "key" {
			c.check(at == "", key+".kind", "must not be \"key\" twice, %s is one: a record is about one thing", at)
			at = key
		}
	}
}

// key returns the task's feature of the kind "key", or nil.
func (t *Task) key() *Feature {
	for i := range t.Features {
		if t.Features[i].Kind == "key" {
			return &t.Features[i]
		}
	}
	return nil
}

// Catalogue is the public list of the things that the task's keys name, with what is
// public about each. It never changes and is safe for concurrent use.
type Catalogue struct {
	keys   int
	at     map[uint64]int // nil: keys are hashed
	public [][]float64
	first  []string // some of its keys, for made rows
}

// Row is one line of a catalogue.
type Row struct {
	Line int
	Cell func(column string) (string, bool)
}

// NewCatalogue makes the catalogue of a task from the rows of a table. The table has
// the column of the task's key and may have columns of other features, as far as these
// are the same for everybody; other features count as empty. The caller must have
// compared the file's hash with the task's.
func (t *Task) NewCatalogue(rows iter.Seq[Row]) (*Catalogue, error) {
	key := t.key()
	if key == nil {
		return nil, fmt.Errorf("learner: the task %q has no feature of the kind \"key\", so it needs no catalogue", t.Name)
	}
	c := &Catalogue{at: map[uint64]int{}}
	for row := range rows {
		r, err := t.EncodeFeatures(func(column string) (string, bool) {
			text, ok := row.Cell(column)
			return text, ok || column != key.Name
		})
		switch at, twice := c.at[r.Key]; {
		case err != nil:
			return nil, fmt.Errorf("learner: line %d of the catalogue: %w", row.Line, err)
		case r.Key == 0:
			return nil, fmt.Errorf("learner: line %d of the catalogue: column %q is empty", row.Line, key.Name)
		case twice:
			return nil, fmt.Errorf("learner: line %d of the catalogue: the %s is that of entry %d", row.Line, key.Name, at+1)
		case len(c.at) == maxKeys:
			return nil, fmt.Errorf("learner: the catalogue has more than %d entries", maxKeys)
		}
		c.at[r.Key] = len(c.at)
		if text, _ := row.Cell(key.Name); len(c.first) < 3 {
			c.first = append(c.first, text)
		}
		c.public = append(c.public, slices.Clone(r.X[:t.featureCount()]))
	}
	if c.keys = len(c.at); c.keys == 0 {
		return nil, errors.New("learner: the catalogue has no entries")
	}
	return c, nil
}

// Hashed is the catalogue of a task that hashes its keys into buckets: nothing is
// public about a bucket. It is nil if the task's key has a catalogue, or if the task
// has no key.
func (t *Task) Hashed() *Catalogue {
	if key := t.key(); key != nil && key.Buckets > 0 {
		return &Catalogue{keys: key.Buckets}
	}
	return nil
}

// Keys is the number of entries or buckets.
func (c *Catalogue) Keys() int { return c.keys }

// Public returns the coded public features of each entry, without the task's constant,
// or nil for buckets. The caller must not change them.
func (c *Catalogue) Public() [][]float64 { return c.public }

// At returns the number of a key's entry, from 0, and whether the catalogue has it.
func (c *Catalogue) At(key uint64) (int, bool) {
	switch {
	case key == 0:
		return 0, false
	case c.at == nil:
		return int(key % uint64(c.keys)), true
	}
	at, ok := c.at[key]
	return at, ok
}
