package learner

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// keyed is a task of places with the name of each as a key.
func keyed() *Task {
	t := plainTask("squared", 1)
	t.Features = append(t.Features, Feature{Name: "kind", Kind: "set", Values: []string{"park", "shop"}},
		Feature{Name: "place", Kind: "key", Buckets: 16})
	return t
}

func TestKeyIsNoCoordinate(t *testing.T) {
	task := keyed()
	row := map[string]string{"x0": "0.5", "kind": "park", "place": " Nordpark ", "y": "1"}
	for name := range row {
		if !slices.Contains(task.Columns(), name) {
			delete(row, name)
		}
	}
	for _, c := range task.Columns() {
		if _, ok := row[c]; !ok {
			row[c] = "0"
		}
	}
	cell := func(name string) (string, bool) { v, ok := row[name]; return v, ok }
	r, err := task.Encode(cell)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte("Nordpark"))
	if want := binary.LittleEndian.Uint64(hash[:]); r.Key != want || len(r.X) != task.Width() {
		t.Errorf("key %x, want %x; %d coordinates, want %d", r.Key, want, len(r.X), task.Width())
	}
	with := slices.Clone(r.X)
	delete(row, "place")
	if r, err = task.Encode(cell); err != nil || r.Key != 0 || !slices.Equal(r.X, with) {
		t.Errorf("without the column: %+v, %v", r, err)
	}
	row["place"] = "n/a"
	if r, err = task.Encode(cell); err != nil || r.Key != 0 {
		t.Errorf("an empty cell: %+v, %v", r, err)
	}
	var noted Tally
	noted.Add(r.Cells)
	if got := task.Tally(noted); len(got) != 1 || got[0] != (ColumnTally{Column: "place", Empty: 1}) {
		t.Errorf("noted %+v", got)
	}
	if got := task.Coordinates(); len(got) != task.Width() {
		t.Errorf("coordinates %q", got)
	}
}

// A key that is a number is the same in a vector as in a cell.
func TestKeyInAVector(t *testing.T) {
	task := keyed()
	raw := make([]float64, task.VectorLength())
	last := len(raw) - 1
	raw[last] = 318
	coded, err := task.EncodeVector(raw)
	example, err2 := task.EncodeExample(raw, 0)
	want, _ := keyOf("318")
	if err != nil || err2 != nil || coded.Key != want || example.Key != want {
		t.Errorf("keys %x and %x, want %x; %v, %v", coded.Key, example.Key, want, err, err2)
	}
	for v, text := range map[float64]string{
		-7: "-7", 0.5: "0.5", 999999: "999999", 1e6: "1000000", 1234567: "1234567", -1234567: "-1234567", 1e12: "1000000000000",
		4006381333931: "4006381333931", 1<<53 - 1: "9007199254740991", 1 << 53: "9.007199254740992e+15", 1e300: "1e+300", 1234567.5: "1.2345675e+06", 1e-7: "1e-07",
	} {
		raw[last] = v
		coded, err := task.EncodeVector(raw)
		example, err2 := task.EncodeExample(raw, 0)
		if want, _ := keyOf(text); err != nil || err2 != nil || coded.Key != want || example.Key != want {
			t.Errorf("%v: keys %x and %x, want that of %s; %v, %v", v, coded.Key, example.Key, text, err, err2)
		}
		if cell := cellsOf(example.Cells)[len(task.Features)-1]; cell.Text != text {
			t.Errorf("%v: the cell is %q, want %q", v, cell.Text, text)
		}
	}
	raw[last] = math.NaN()
	if coded, err = task.EncodeVector(raw); err != nil || coded.Key != 0 {
		t.Errorf("no key: %+v, %v", coded, err)
	}
	raw[last] = math.Inf(1)
	if _, err = task.EncodeVector(raw); err == nil || !strings.Contains(err.Error(), `column "place"`) {
		t.Errorf("infinite: %v", err)
	}
}

func catalogueRows(names ...string) func(yield func(Row) bool) {
	return func(yield func(Row) bool) {
		for i, name := range names {
			cell := func(column string) (string, bool) {
				switch column {
				case "place":
					return name, true
				case "kind":
					return "shop", true
				}
				return "", false
			}
			if !yield(Row{Line: i + 2, Cell: cell}) {
				return
			}
		}
	}
}

func TestCatalogue(t *testing.T) {
	task := keyed()
	c, err := task.NewCatalogue(catalogueRows("a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	key, _ := keyOf("b")
	if at, ok := c.At(key); at != 1 || !ok || c.Keys() != 3 {
		t.Errorf("b is entry %d, %v of %d", at, ok, c.Keys())
	}
	other, _ := keyOf("d")
	for _, key := range []uint64{0, other} {
		if at, ok := c.At(key); ok {
			t.Errorf("key %x is entry %d", key, at)
		}
	}
	public := c.Public()
	if len(public) != 3 || len(public[0]) != task.featureCount() || public[0][task.featureCount()-1] == 0 {
		t.Errorf("public features %v", public)
	}
	for want, names := range map[string][]string{
		`line 4 of the catalogue: the place is that of entry 1`: {"a", "b", " a"},
		`line 3 of the catalogue: column "place" is empty`:      {"a", ""},
		"no entries": nil,
	} {
		if _, err := task.NewCatalogue(catalogueRows(names...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", names, err, want)
		}
	}
	if _, err := plainTask("squared", 1).NewCatalogue(catalogueRows("a")); err == nil || !strings.Contains(err.Error(), "no feature of the kind \"key\"") {
		t.Error(err)
	}
}

// Without a catalogue every key is in a bucket.
func TestHashedKeys(t *testing.T) {
	c := keyed().Hashed()
	seen := map[int]bool{}
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		key, _ := keyOf(name)
		at, ok := c.At(key)
		if !ok || at < 0 || at >= 16 {
			t.Fatalf("%s is in bucket %d, %v", name, at, ok)
		}
		seen[at] = true
	}
	if len(seen) < 8 || c.Keys() != 16 || c.Public() != nil {
		t.Errorf("%d buckets of %d used", len(seen), c.Keys())
	}
	if plainTask("squared", 1).Hashed() != nil {
		t.Error("a task without a key has buckets")
	}
}

func TestKeysOfATask(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for want, change := range map[string]func(f *Feature, t *Task){
		"":                      func(*Feature, *Task) {},
		"must have a catalogue": func(f *Feature, _ *Task) { f.Buckets = 0 },
		"and not both":          func(f *Feature, _ *Task) { f.Catalogue = hash },
		"64 digits":             func(f *Feature, _ *Task) { f.Buckets, f.Catalogue = 0, hash[1:] },
		"must be between 2 and": func(f *Feature, _ *Task) { f.Buckets = 1 },
		"features[3].kind": func(f *Feature, t *Task) {
			t.Features = append(t.Features, Feature{Name: "z", Kind: "key", Buckets: 2})
		},
		"belongs to the kind key": func(_ *Feature, t *Task) { t.Features[0].Buckets = 3 },
	} {
		task := Movies()
		task.Features = append(slices.Clone(keyed().Features[1:]), Feature{Name: "w", Kind: "number", Max: 1})
		task.Features[0], task.Features[2] = task.Features[2], task.Features[0]
		f := slices.IndexFunc(task.Features, func(f Feature) bool { return f.Kind == "key" })
		change(&task.Features[f], task)
		err := task.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Records keep their keys in rows, whichever is the first to have one.
func TestRowsKeepKeys(t *testing.T) {
	var rows Rows
	for i := range 3 * pieceRows {
		r := Record{Seq: Seq(i + 1), X: []float64{1}}
		if i > 5 {
			r.Key = uint64(i)
		}
		if got := rows.Add(r); got.Key != r.Key {
			t.Fatalf("record %d has key %d", i, got.Key)
		}
	}
	i := 0
	for r := range rows.All() {
		if want := uint64(i); i > 5 && r.Key != want || i <= 5 && r.Key != 0 {
			t.Fatalf("record %d has key %d", i, r.Key)
		}
		i++
	}
	rows.Drop([]Seq{7, 2000})
	for r := range rows.All() {
		if r.Seq > 6 && r.Key != uint64(r.Seq-1) {
			t.Fatalf("record %d has key %d after a drop", r.Seq, r.Key)
		}
	}
}
