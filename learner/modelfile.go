package learner

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
)

// The name and the version of the format of a [ModelFile], which docs/model-format.md
// describes. A reader of one version does not read another.
const (
	modelFormat        = "p2pnode personal model"
	modelFormatVersion = 1
)

// ModelFile is a personal model with the coder of its task: a program in any language
// needs nothing else to predict. It belongs to the owner alone, because the weights
// tell about the owner's records; it contains no records. docs/readers has programs
// that read it.
type ModelFile struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Task    string `json:"task"`

	Texts    TextRules    `json:"texts"`
	Features []CodedTable `json:"features"` // in order, without a key; together they make x
	// UsualNorm divides x. After that x is scaled to l2 norm 1: always, or only if it
	// is longer.
	UsualNorm float64 `json:"usual_norm"`
	Normalise bool    `json:"normalise"`
	// Map describes the map that is appended then; null: none.
	Map *CodedMap `json:"map"`
	// Keys has two coordinates for the thing that a row is about, appended after
	// scaling; null if no private sum says anything about the things.
	Keys *CodedKeys `json:"keys"`
	// Constant is one more coordinate, appended last; 0: none.
	Constant float64     `json:"constant"`
	Target   CodedTarget `json:"target"`
	Weights  [][]float64 `json:"weights"` // one row for each score
}

// CodedTable is a feature with its constants, which depend on its kind. All have name,
// kind and width, the number of coordinates.
type CodedTable map[string]any

// TextRules say how to read texts.
type TextRules struct {
	Spaces string   `json:"spaces"` // the signs that are cut from both ends
	Blanks []string `json:"blanks"` // in small letters; these say that there is no value
	Number string   `json:"number"` // a regular expression that numbers match
	// Time is a regular expression for the times that are not numbers. Its groups are
	// date, hour, minute, second, offset from UTC, and the sign, hours and minutes of
	// that offset.
	Time string `json:"time"`
}

// CodedMap is a public map of x. Let a be the product of x and a row of Rows, times
// Scale: the map appends Size cos a and Size sin a for each row, and x itself is
// multiplied by Keep. Unless x is always scaled to norm 1, the products are taken
// before x is scaled down.
type CodedMap struct {
	Keep  float64     `json:"keep"`
	Size  float64     `json:"size"`
	Scale float64     `json:"scale"`
	Rows  [][]float64 `json:"rows"`
}

// CodedKeys is what private sums say about keys.
type CodedKeys struct {
	Column string `json:"column"`
	// Entries are indexed by the first eight bytes of the SHA-256 of a key, in hex. If
	// keys are hashed into buckets, the index is the number that these bytes say,
	// little-endian, modulo Buckets. A key without an entry has 0 and 0.
	Entries map[string][2]float64 `json:"entries"`
	Buckets int                   `json:"buckets"` // 0: none
}

// CodedTarget says what the scores mean.
type CodedTarget struct {
	Name string `json:"name"`
	// Link is "identity": a number, the score plus Center, in [Min, Max]; "log" or "log1p":
	// the same of the logarithm of a number v in [Min, Max], log v or log(1 + v), with
	// Center such a logarithm; "logistic":
	// the probability of 1, or of the second class; "sign": 1, -1 or 0; "softmax":
	// probabilities of the classes, proportional to exp(score).
	Link    string   `json:"link"`
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
	Center  float64  `json:"center"`
	Classes []string `json:"classes"` // null: they have no names
}

// ModelFile describes a personal model of the task, for records as k extends them; k
// may be nil.
func (t *Task) ModelFile(theta []float64, k *Known) ModelFile {
	m := ModelFile{
		Format: modelFormat, Version: modelFormatVersion, Task: t.Name,
		Texts:     textRules,
		UsualNorm: t.usualNorm(), Normalise: t.Normalise, Map: t.codedMap(),
		Constant: t.Constant,
		Target: CodedTarget{
			Name: t.Target.Name, Link: t.link(),
			Min: t.Target.Min, Max: t.Target.Max, Center: t.Target.Coded(t.Target.Center), Classes: t.Target.Classes,
		},
	}
	for i := range t.Features {
		if f := &t.Features[i]; f.Kind != "key" {
			m.Features = append(m.Features, f.coded())
		}
	}
	width := t.Width()
	if k != nil && k.items != nil {
		m.Keys = k.codedKeys(t.key().Name)
		width += len([2]float64{})
	}
	for at := 0; at < len(theta); at += width {
		m.Weights = append(m.Weights, theta[at:at+width])
	}
	return m
}

// textRules are the coder's rules; see [Blank] and the kinds.
var textRules = TextRules{
	// The characters that [strings.TrimSpace] cuts off.
	Spaces: "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
	Blanks: []string{"", "?", "na", "n/a", "nan", "null", "none"},
	Number: `^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`,
	Time:   `^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9](?:[.,][0-9]+)?)(Z|([+-])([0-9]{2}):([0-9]{2}))?)?)?$`,
}

// link is the word for the meaning of the scores; see [CodedTarget].
func (t *Task) link() string {
	switch k := t.lossKind(); {
	case k.target == classTarget:
		return "softmax"
	case k.target == signTarget && k.odds:
		return "logistic"
	case k.target == signTarget:
		return "sign"
	}
	if t.Target.Log {
		return logName(t.Target.Min)
	}
	return "identity"
}

// coded describes the feature with its constants.
func (f *Feature) coded() CodedTable {
	table := f.kind().coded(f)
	table["name"], table["kind"], table["width"] = f.Name, f.Kind, f.width()
	return table
}

// codedMap writes out the random numbers of the task's map, so that a reader need not
// draw them; nil: there is no map.
func (t *Task) codedMap() *CodedMap {
	m := &t.Map
	if m.Kind == "" {
		return nil
	}
	const whole = 4 // the numbers are multiples of a quarter
	coded := &CodedMap{Keep: math.Sqrt(3) / 2, Size: math.Sqrt(2/float64(m.Features)) / 2, Scale: 1 / (whole * m.Width), Rows: make([][]float64, m.Features/2)}
	n := t.coordinates()
	for j := range coded.Rows {
		coded.Rows[j] = make([]float64, n)
		for k := range n {
			coded.Rows[j][k] = whole * m.weight(j*n+k)
		}
	}
	return coded
}

// codedKeys is what the population thinks of each key of the column.
func (k *Known) codedKeys(column string) *CodedKeys {
	keys := &CodedKeys{Column: column, Entries: make(map[string][2]float64, k.catalogue.keys)}
	if k.catalogue.at == nil {
		keys.Buckets = k.catalogue.keys
		for at := range k.catalogue.keys {
			keys.Entries[strconv.Itoa(at)] = k.thought(at)
		}
	}
	for key, at := range k.catalogue.at {
		keys.Entries[hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, key))] = k.thought(at)
	}
	return keys
}

// thought returns the coordinates of a key in a record that is in no sum.
func (k *Known) thought(at int) [2]float64 { return pulled(k.items.Of(at)) }
