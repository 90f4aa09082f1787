package learner

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// coordinatesOf are those of one cell, before the row is scaled.
func coordinatesOf(t *testing.T, f Feature, text string) ([]float64, Note) {
	t.Helper()
	x, note, err := f.kind().cell(&f, nil, text)
	if err != nil {
		t.Fatalf("%s %q: %v", f.Kind, text, err)
	}
	if len(x) != f.width() {
		t.Fatalf("%s %q: %d coordinates, want %d", f.Kind, text, len(x), f.width())
	}
	return x, note
}

func TestLogarithm(t *testing.T) {
	above := Feature{Name: "a", Kind: "number", Min: 0.01, Max: 100, Log: true}
	from0 := Feature{Name: "a", Kind: "number", Max: 1, Log: true}
	for _, c := range []struct {
		f    Feature
		text string
		want float64
		note Note
	}{
		{above, "0.01", -1, Taken}, {above, "1", 0, Taken}, {above, "10", 0.5, Taken}, {above, "100", 1, Taken},
		{above, "0", -1, Clamped}, {above, "-3", -1, Clamped}, {above, "1e9", 1, Clamped}, {above, "", 0, Empty},
		{from0, "0", -1, Taken}, {from0, "1", 1, Taken}, {from0, "0.41421356237309515", 0, Taken},
	} {
		x, note := coordinatesOf(t, c.f, c.text)
		if math.Abs(x[0]-c.want) > 1e-15 || note != c.note {
			t.Errorf("[%v, %v] %q: %v %v, want %v %v", c.f.Min, c.f.Max, c.text, x[0], note, c.want, c.note)
		}
	}
	for _, ends := range [][2]float64{{5e-324, math.MaxFloat64}, {0, math.MaxFloat64}, {1e-3, 1e-2}} {
		f := Feature{Kind: "number", Min: ends[0], Max: ends[1], Log: true}
		if low, high := f.unit(f.Min), f.unit(f.Max); low != -1 || high != 1 {
			t.Errorf("%v: the ends are %v and %v", ends, low, high)
		}
	}
}

func TestTime(t *testing.T) {
	day := Feature{Name: "at", Kind: "time", Parts: []string{"day"}}
	week := Feature{Name: "at", Kind: "time", Parts: []string{"week"}}
	year := Feature{Name: "at", Kind: "time", Parts: []string{"year"}}
	ahead := Feature{Name: "at", Kind: "time", Parts: []string{"day"}, UTCOffset: "+05:30"}
	for _, c := range []struct {
		f      Feature
		text   string
		passed float64
	}{
		{day, "2026-03-02", 0}, {day, "2026-03-02 06:00", 0.25}, {day, "2026-03-02T12:00", 0.5}, {day, "2026-03-02 18:00:00", 0.75},
		{day, "2026-03-02T06:00:00Z", 0.25}, {day, "2026-03-02T06:00:00+03:00", 0.125}, {day, "2026-03-02 00:00:00.5Z", 0.5 / 86400},
		{day, "21600", 0.25}, {day, "-21600", 0.75}, {day, "1772431200", 0.25}, {day, "1772431200000", 0.25}, {day, "1772431200.5", (21600.5) / 86400},
		{week, "2026-03-02", 0}, {week, "2026-03-08 12:00", 6.5 / 7}, {week, "1970-01-01", 3. / 7},
		{year, "2026-01-01", 0}, {year, "2026-12-31 12:00", 364.5 / 365}, {year, "2024-12-31 12:00", 365.5 / 366},
		{year, "9999-12-31", 364. / 365}, {week, "9999-12-31", 4. / 7}, {day, "9999-12-31T06:00:00+00:00", 0.25}, {day, "253402236000", 0.89625},
		{ahead, "2026-03-02 06:00", 0.25}, {ahead, "2026-03-02T00:30:00Z", 0.25}, {ahead, "0", 5.5 / 24},
	} {
		x, note := coordinatesOf(t, c.f, c.text)
		wantClose(t, c.f.Parts[0]+" "+c.text, x, []float64{math.Sin(2 * math.Pi * c.passed), math.Cos(2 * math.Pi * c.passed)}, 1e-12)
		if note != Taken {
			t.Errorf("%s: %v", c.text, note)
		}
	}
	hours := Feature{Name: "at", Kind: "time", Parts: []string{"hours"}}
	for text, want := range map[string][]float64{
		"2026-03-02 01:30": {1, 0, 0, 0, 0, 0, 0, 0}, "2026-03-02 03:45": {0.25, 0.75, 0, 0, 0, 0, 0, 0}, "2026-03-02 22:30": {0, 0, 0, 0, 0, 0, 0, 1},
		"2026-03-02 00:45": {0.75, 0, 0, 0, 0, 0, 0, 0.25}, "2026-03-02": {0.5, 0, 0, 0, 0, 0, 0, 0.5}, "2026-03-02 23:15": {0.25, 0, 0, 0, 0, 0, 0, 0.75}, "?": make([]float64, 8),
	} {
		x, _ := coordinatesOf(t, hours, text)
		wantClose(t, text, x, want, 1e-12)
	}
	all := Feature{Name: "at", Kind: "time"}
	if x, note := coordinatesOf(t, all, " n/a"[1:]); note != Empty || !slices.Equal(x, make([]float64, 6)) {
		t.Errorf("no time is %v, %v", x, note)
	}
	for _, text := range []string{"yesterday", "2026-02-30", "2026-13-01", "25:00", "2026-03-02 24:00", "1e300", "-1e14", "Inf", "1e400", "02.03.2026"} {
		if _, _, err := all.kind().cell(&all, nil, text); err == nil || !strings.Contains(err.Error(), `column "at"`) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// base64Of is the cell that says float32 numbers.
func base64Of(numbers ...float32) string {
	var data []byte
	for _, v := range numbers {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(data)
}

func TestVector(t *testing.T) {
	own := Feature{Name: "v", Kind: "vector", Length: 2}
	public := Feature{Name: "v", Kind: "vector", Length: 2, Scale: 10}
	for _, c := range []struct {
		f    Feature
		text string
		x    []float64
		note Note
	}{
		{own, "[3,-4]", []float64{0.6, -0.8}, Taken}, {own, "[ 3e300 , 4e300 ]", []float64{0.6, 0.8}, Taken}, {own, "[3.  -4]", []float64{0.6, -0.8}, Taken},
		{own, "[0,0]", []float64{0, 0}, Taken}, {own, "", []float64{0, 0}, Empty}, {own, "null", []float64{0, 0}, Empty},
		{own, base64Of(3, -4), []float64{0.6, -0.8}, Taken}, {own, strings.TrimRight(base64Of(3, -4), "="), []float64{0.6, -0.8}, Taken},
		{public, "[3,-4]", []float64{0.3, -0.4}, Taken}, {public, "[30,-40]", []float64{0.6, -0.8}, Clamped}, {public, "[6,-8]", []float64{0.6, -0.8}, Taken},
	} {
		x, note := coordinatesOf(t, c.f, c.text)
		wantClose(t, c.text, x, c.x, 1e-15)
		if note != c.note {
			t.Errorf("%s: %v, want %v", c.text, note, c.note)
		}
	}
	for text, want := range map[string]string{
		"[1,2,3]": "has 3 numbers, and the task wants 2", "[]": "has 0 numbers", "[1,,2]": "has 3 numbers", "[1,]": `column "v[1]"`,
		"[1,NaN]": `column "v[1]": "NaN" is not a finite number`, "[1": "has no ]", "3": "neither numbers in brackets", "3,4": "neither numbers in brackets",
		base64Of(1): "has 1 numbers", base64Of(1, float32(math.Inf(1))): "at place 1", "AAAA": "base64 of 3 bytes", "[1e308,1e308]": "",
		"[1.7e308,1.7e308]": "too long",
	} {
		if _, _, err := own.kind().cell(&own, nil, text); (err == nil) != (want == "") || err != nil && !(strings.Contains(err.Error(), want) && strings.Contains(err.Error(), `column "v`)) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// kindsTask has a feature of each new kind.
func kindsTask() *Task {
	t := encodeTask()
	t.Features = append(t.Features,
		Feature{Name: "income", Kind: "number", Min: 1, Max: 1e6, Log: true},
		Feature{Name: "at", Kind: "time", UTCOffset: "+01:00"},
		Feature{Name: "photo", Kind: "vector", Length: 3},
	)
	return t
}

// A vector in columns of its own is that of one cell.
func TestVectorInColumns(t *testing.T) {
	task := kindsTask()
	rest := []string{"size", "2", "tags", "red", "year", "1990", "income", "100", "at", "2026-03-02", "y", "3"}
	want, err := task.Encode(row(append(rest, "photo", "[1,-2,0.5]")...))
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{"photo_0", "photo_1", "photo_2"}, {"photo_1", "photo_2", "photo_3"}, {"photo0", "photo1", "photo2"}, {"photo1", "photo2", "photo3"}} {
		cells := slices.Clone(rest)
		for i, v := range []string{"1", " -2", "0.5"} {
			cells = append(cells, names[i], v)
		}
		got, err := task.Encode(row(cells...))
		if err != nil || !slices.Equal(got.X, want.X) || got.Cells != want.Cells {
			t.Errorf("%v: %v, %v, want %v", names, got, err, want)
		}
		has := func(column string) bool { _, ok := row(cells...)(column); return ok }
		if column, lacks := task.Lacks(task.Columns(), has); lacks {
			t.Errorf("%v: %s is missing", names, column)
		}
		if column, lacks := task.Lacks(task.Columns(), func(column string) bool { return column != names[2] && has(column) }); !lacks || column != names[2] {
			t.Errorf("%v without the last: %q, %v", names, column, lacks)
		}
		for _, name := range names {
			if numeric := task.Numerics(); !task.Reads(name) || !task.Numeric(name) || !numeric(name) || !numeric(name) || numeric("none") {
				t.Errorf("%s is none of the task's", name)
			}
		}
	}
	if got, err := task.Encode(row(append(rest, "photo_0", "", "photo_1", "", "photo_2", "")...)); err != nil || cellsOf(got.Cells)[5].Note != Empty {
		t.Errorf("a vector that is not known: %v, %v", got, err)
	}
	for want, numbers := range map[string][]string{
		`column "photo"`:                     {},
		`column "photo_2" is missing`:        {"photo_0", "1", "photo_1", "2"},
		`column "photo_1": "x" is not a fin`: {"photo_0", "1", "photo_1", "x", "photo_2", "3"},
		`lacks 1 of its 3 numbers`:           {"photo_0", "1", "photo_1", "", "photo_2", "3"},
	} {
		if _, err := task.Encode(row(append(slices.Clone(rest), numbers...)...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", numbers, err, want)
		}
	}
	for _, name := range []string{"photo", "photo_", "photo_4", "photo-1", "phot_1", "photo_x", "size_1"} {
		if task.Reads(name) != (name == "photo") || task.Numeric(name) {
			t.Errorf("%q: read %v, a number %v", name, task.Reads(name), task.Numeric(name))
		}
	}
}

// A target that is named as one more number of a vector is none of them, and neither is a feature.
func TestVectorBesideColumnsOfItsName(t *testing.T) {
	task := kindsTask()
	task.Features = []Feature{{Name: "x", Kind: "vector", Length: 3}, {Name: "x_0", Kind: "set", Values: []string{"1,5"}}}
	task.Target.Name = "x0"
	cell := row("x_0", "1,5", "x0", "3", "x1", "1", "x2", "2", "x3", "-2")
	with, err := task.Encode(cell)
	if err != nil {
		t.Fatal(err)
	}
	without, err := task.EncodeFeatures(func(column string) (string, bool) {
		text, ok := cell(column)
		return text, ok && column != "x0"
	})
	if got := cellsOf(with.Cells)[0].Text; err != nil || got != "[1,2,-2]" || !slices.Equal(without.X, with.X) {
		t.Errorf("%s, and without the target %v, %v, want %v", got, without.X, err, with.X)
	}
	if column, lacks := task.Lacks(task.Columns(), func(column string) bool { return slices.Contains([]string{"x_0", "x0", "x1", "x2"}, column) }); !lacks || column != "x3" {
		t.Errorf("without x3: %q, %v", column, lacks)
	}
	if task.Numeric("x_0") || !task.Numeric("x1") {
		t.Errorf("numbers: x_0 %v, x1 %v", task.Numeric("x_0"), task.Numeric("x1"))
	}
}

// Columns that go on after the last number of a vector are those of a longer one.
func TestVectorWithColumnsTooMany(t *testing.T) {
	task := kindsTask()
	task.Features = []Feature{{Name: "x", Kind: "vector", Length: 2}}
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{[]string{"x0", "x1", "x2"}, `goes on in the column "x2" after the 2 numbers`},
		{[]string{"x_1", "x_2", "x_3"}, `goes on in the column "x_3" after the 2 numbers`},
		{[]string{"x1", "x2", "x4"}, ""},
	} {
		cells := []string{"y", "3"}
		for _, column := range c.columns {
			cells = append(cells, column, "1")
		}
		_, err := task.Encode(row(cells...))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.columns, err, c.want)
		}
	}
}

// Numbers and the text that says them make the same record, of these kinds too.
func TestKindsInAVector(t *testing.T) {
	task := kindsTask()
	raw := []float64{2, 1, 0, 1990, 250, 1772431200, 1, -2, 0.5}
	want, err := task.Encode(row("size", "2", "tags", "red", "year", "1990", "income", "250", "at", "1772431200", "photo", "[1,-2,0.5]", "y", "3"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := task.EncodeExample(raw, 3)
	if err != nil || !slices.Equal(got.X, want.X) || !slices.Equal(cellsOf(got.Cells), cellsOf(want.Cells)) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	nan := math.NaN()
	raw = []float64{2, 1, 0, 1990, nan, nan, nan, nan, nan}
	if got, err = task.EncodeExample(raw, 3); err != nil {
		t.Fatal(err)
	}
	var noted Tally
	noted.Add(got.Cells)
	if columns := task.Tally(noted); len(columns) != 3 || columns[2] != (ColumnTally{Column: "photo", Empty: 1}) {
		t.Errorf("noted %+v", columns)
	}
	for want, raw := range map[string][]float64{
		`NaN is 1 of its 3 numbers`:    {2, 1, 0, 1990, nan, nan, 1, nan, 2},
		`at place 2, counted from 0`:   {2, 1, 0, 1990, nan, nan, 1, 2, math.Inf(1)},
		`column "at": 1e+16 is no`:     {2, 1, 0, 1990, nan, 1e16, 1, 2, 3},
		`column "income": -Inf is`:     {2, 1, 0, 1990, math.Inf(-1), 0, 1, 2, 3},
		`8 numbers, want 9: the first`: {2, 1, 0, 1990, nan, nan, 1, 2},
	} {
		if _, err := task.EncodeVector(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", raw, err, want)
		}
	}
}

// The usual norm counts a vector and each circle as a value of a set, and a logarithm as a
// number.
func TestUsualNormOfKinds(t *testing.T) {
	task := kindsTask() // a number, a set, a range, a logarithm, three circles, a vector
	if got, want := task.usualNorm(), math.Sqrt(2+2./3+3+1); math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
	want := []string{"income", "at.day.sin", "at.day.cos", "at.week.sin", "at.week.cos", "at.year.sin", "at.year.cos", "photo[0]", "photo[1]", "photo[2]", "constant"}
	if got := task.Coordinates(); len(got) != task.Width() || !slices.Equal(got[6:], want) {
		t.Errorf("%q, want %q", got[6:], want)
	}
}

// A time with knots has the names, and the usual norm, of its knots.
func TestHoursOfATask(t *testing.T) {
	task := Linear()
	task.Features = []Feature{{Name: "at", Kind: "time", Parts: []string{"week", "hours"}}}
	want := []string{"at.week.sin", "at.week.cos", "at.hours[0]", "at.hours[1]", "at.hours[2]", "at.hours[3]", "at.hours[4]", "at.hours[5]", "at.hours[6]", "at.hours[7]"}
	if got := task.Coordinates(); len(got) != task.Width() || !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := task.usualNorm(); math.Abs(got-math.Sqrt(1+2./3)) > 1e-15 {
		t.Errorf("a usual norm of %v", got)
	}
}

func TestKindsOfATask(t *testing.T) {
	for want, change := range map[string]func(f []Feature){
		"":                                     func([]Feature) {},
		"log: belongs to the kind number":      func(f []Feature) { f[1].Log = true },
		"log: needs a min of 0":                func(f []Feature) { f[0].Log, f[0].Min = true, -1 },
		"max: is so close to min":              func(f []Feature) { f[0].Log, f[0].Min, f[0].Max = true, 1e15, 1e15+0.25 },
		"bends: belongs to the kind number":    func(f []Feature) { f[1].Bends = []float64{1} },
		"bends: must increase":                 func(f []Feature) { f[0].Bends = []float64{1, 0.5} },
		"from above min":                       func(f []Feature) { f[0].Bends = []float64{0, 1} },
		"to below max":                         func(f []Feature) { f[0].Bends = []float64{1, math.NaN()} },
		"parts: belongs to the kind time":      func(f []Feature) { f[0].Parts = []string{"day"} },
		"utc_offset: belongs to the kind time": func(f []Feature) { f[2].UTCOffset = "+01:00" },
		"length: belongs to the kind vector":   func(f []Feature) { f[1].Length = 3 },
		"scale: belongs to the kind vector":    func(f []Feature) { f[1].Scale = 3 },
		`parts: must be one of ["day" "week" "year" "hours"], not "hour"`: func(f []Feature) { f[1].Parts = []string{"hour"} },
		`parts: must be unique, "day" is`:                                 func(f []Feature) { f[1].Parts = []string{"day", "day"} },
		"utc_offset: must say how far":                                    func(f []Feature) { f[1].UTCOffset = "CET" },
		`as "+01:00" or "-03:30"`:                                         func(f []Feature) { f[1].UTCOffset = "+15:00" },
		"length: must say how many":                                       func(f []Feature) { f[2].Length = 0 },
		"1 to 65536":                                                      func(f []Feature) { f[2].Length = 65537 },
		"scale: must be a positive":                                       func(f []Feature) { f[2].Scale = -1 },
		"kind: must be one of":                                            func(f []Feature) { f[2].Kind = "image" },
	} {
		task := Linear()
		task.Features = []Feature{{Name: "a", Kind: "number", Max: 2}, {Name: "b", Kind: "time"}, {Name: "c", Kind: "vector", Length: 4}}
		change(task.Features)
		err := task.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Between two knots a number with bends is shared by their coordinates, beyond its ends it counts
// as the nearest, and unknown it is zeros.
func TestBends(t *testing.T) {
	f := Feature{Name: "a", Kind: "number", Min: -1, Max: 4, Bends: []float64{0, 2}}
	log := Feature{Name: "a", Kind: "number", Min: 1, Max: 10_000, Log: true, Bends: []float64{100}}
	huge := Feature{Name: "a", Kind: "number", Min: -math.MaxFloat64, Max: math.MaxFloat64, Bends: []float64{0}}
	for _, c := range []struct {
		f    Feature
		text string
		want []float64
		note Note
	}{
		{f, "-1", []float64{1, 0, 0, 0}, Taken}, {f, "-0.25", []float64{0.25, 0.75, 0, 0}, Taken}, {f, "0", []float64{0, 1, 0, 0}, Taken},
		{f, "1.5", []float64{0, 0.25, 0.75, 0}, Taken}, {f, "4", []float64{0, 0, 0, 1}, Taken}, {f, "5", []float64{0, 0, 0, 1}, Clamped},
		{f, "-7", []float64{1, 0, 0, 0}, Clamped}, {f, "?", []float64{0, 0, 0, 0}, Empty},
		{log, "10", []float64{0.5, 0.5, 0}, Taken}, {log, "0", []float64{1, 0, 0}, Clamped},
		{huge, "0", []float64{0, 1, 0}, Taken}, {huge, "8.98846567431158e307", []float64{0, 0.5, 0.5}, Taken},
	} {
		x, note := coordinatesOf(t, c.f, c.text)
		for i := range x {
			if math.Abs(x[i]-c.want[i]) > 1e-15 || note != c.note {
				t.Fatalf("%q: %v %v, want %v %v", c.text, x, note, c.want, c.note)
			}
		}
	}
	if names := f.kind().names(&f); !slices.Equal(names, []string{"a~-1", "a~0", "a~2", "a~4"}) {
		t.Errorf("%q", names)
	}
}

// Whatever a cell says, what is taken is finite, no longer than the task promises, and the
// same again.
func FuzzKinds(f *testing.F) {
	f.Add("100", "2026-03-02T08:00:00+01:00", "[1,2,3]", "1", 0.0)
	f.Add("-0", "1772431200000", base64Of(1, 2, 3), "1e308", 7.5)
	f.Add("?", "0000-01-01", "[5e-324,0,-5e-324]", "-1e-320", 1e-300)
	f.Fuzz(func(t *testing.T, income, at, photo, size string, scale float64) {
		task := kindsTask()
		if task.Features[5].Scale = math.Abs(scale); !(task.Features[5].Scale < math.MaxFloat64) {
			return
		}
		cells := row("size", size, "tags", "", "year", "", "income", income, "at", at, "photo", photo, "y", "3")
		r, err := task.Encode(cells)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "column ") {
				t.Errorf("%v", err)
			}
			return
		}
		if err := task.Admit(&r); err != nil {
			t.Errorf("%q %q %q: %v: %v", income, at, photo, r.X, err)
		}
		kept := cellsOf(r.Cells)
		again, err := task.Encode(func(name string) (string, bool) { return kept[slices.Index(task.Columns(), name)].Text, true })
		if err != nil || !slices.Equal(r.X, again.X) || again.Cells != r.Cells {
			t.Errorf("%v, and from what was kept %v, %v", r, again, err)
		}
	})
}
