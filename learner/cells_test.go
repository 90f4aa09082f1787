package learner

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What is kept is what was written, with how it was taken.
func TestCellsAreWhatWasWritten(t *testing.T) {
	task := encodeTask()
	r, err := task.Encode(row("size", " 7.25 ", "tags", "red|moss|blue", "year", "", "y", "0.30000000000000004"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Cell{{"7.25", Clamped}, {"red|moss|blue", Unknown}, {"", Empty}, {"0.30000000000000004", Taken}}
	if got := cellsOf(r.Cells); !slices.Equal(got, want) {
		t.Errorf("cells %+v, want %+v", got, want)
	}
	var counted Tally
	counted.Add(r.Cells)
	r, err = task.Encode(row("size", "2", "tags", "", "year", "1990", "y", "11"))
	if err != nil {
		t.Fatal(err)
	}
	counted.Add(r.Cells)
	named := []ColumnTally{{Column: "size", Clamped: 1}, {Column: "tags", Unknown: 1, Empty: 1}, {Column: "year", Empty: 1}, {Column: "y", Clamped: 1}}
	if got := task.Tally(counted); !slices.Equal(got, named) {
		t.Errorf("counted %+v, want %+v", got, named)
	}
	if got := task.Tally(counted.Plus(counted[:2])); got[0].Clamped != 2 || got[2].Empty != 1 || counted[0].Clamped != 1 {
		t.Errorf("added up %+v", got)
	}
	beyond := counted.Plus(make(Tally, 40))
	beyond[39].Empty = 1
	if got := task.Tally(beyond); !slices.Equal(got, named) {
		t.Errorf("with cells that no column has: %+v", got)
	}
	if got := task.Tally(nil); got == nil || len(got) != 0 {
		t.Errorf("nothing counted is %+v", got)
	}
	if r, err = task.Encode(row("size", "2", "tags", "red", "year", "1990", "y", "1")); err != nil || slices.ContainsFunc(cellsOf(r.Cells), func(c Cell) bool { return c.Note != Taken }) {
		t.Errorf("%v: a row that was taken as it is has notes %+v", err, cellsOf(r.Cells))
	}
}

func cellsOf(c Cells) (list []Cell) {
	for i, cell := range c.All() {
		if i != len(list) {
			panic("cells are not counted from 0")
		}
		list = append(list, cell)
	}
	return list
}

// Texts come back byte for byte, and the long text of a number takes nine bytes.
func FuzzCells(f *testing.F) {
	for _, text := range []string{"", "3.5", "-0.12345678901234567", "1e+300", strings.Repeat("ä", 100), "0.1234567890"} {
		f.Add(text, "x", uint8(1))
	}
	f.Fuzz(func(t *testing.T, a, b string, note uint8) {
		w := newCellWriter(encodeTask())
		want := []Cell{{a, Note(note & 3)}, {b, Taken}}
		for _, c := range want {
			w.add(c.Text, c.Note)
		}
		if got := cellsOf(w.cells()); !slices.Equal(got, want) {
			t.Errorf("%+v became %+v", want, got)
		}
		for range cellsOf(Cells(a)) { // whatever the bytes, reading ends
		}
	})
}

func TestCellsOfNumbersAreShort(t *testing.T) {
	task := plainTask("squared", 561)
	raw := make([]float64, 561)
	for i := range raw {
		raw[i] = math.Sin(float64(i))
	}
	r, err := task.EncodeExample(raw, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Cells); n > 9*561+4 {
		t.Errorf("561 numbers of full precision take %d bytes", n)
	}
	if got := cellsOf(r.Cells); got[1].Text != "0.8414709848078965" || len(got) != 562 {
		t.Errorf("%d cells, the second is %+v", len(got), got[1])
	}
}

// Two classes by name are those of one and minus one.
func TestEncodeTwoNamedClasses(t *testing.T) {
	task := encodeTask()
	task.Loss, task.Target = "logistic", Target{Name: "y", Classes: []string{"none", "rain"}}
	for text, want := range map[string]float64{"none": -1, " rain": 1} {
		r, err := task.Encode(row("size", "2", "tags", "", "year", "", "y", text))
		if err != nil || r.Y != want || task.Class(r.Y) != strings.TrimSpace(text) {
			t.Errorf("%q: %v, %v, class %q", text, r.Y, err, task.Class(r.Y))
		}
	}
	for _, text := range []string{"1", "snow"} {
		if _, err := task.Encode(row("size", "2", "tags", "", "year", "", "y", text)); err == nil || !strings.Contains(err.Error(), "is none of none, rain") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNamesOfCoordinates(t *testing.T) {
	want := []string{"size", "tags=red", "tags=blue", "year<1990", "year>=1990", "year>=2000", "constant"}
	if got := encodeTask().Coordinates(); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The ends of every range are -1 and 1, whatever its size.
func TestEndsOfARange(t *testing.T) {
	for _, ends := range [][2]float64{{-20, 40}, {0, 8}, {0.1, 0.3}, {-1e308, 1.7e308}, {1e15, 1e15 + 1}, {5e-324, 1e-323}} {
		f := Feature{Name: "a", Kind: "number", Min: ends[0], Max: ends[1]}
		low, high := f.unit(f.Min), f.unit(f.Max)
		if low != -1 || high != 1 {
			t.Errorf("%v: the ends are %v and %v", ends, low, high)
		}
	}
	for _, f := range []Feature{{Min: 0, Max: 1}, {Min: -1, Max: 1}} {
		if f.unit(0.25) != 0.25 {
			t.Errorf("[%v, %v]: 0.25 became %v", f.Min, f.Max, f.unit(0.25))
		}
	}
}
