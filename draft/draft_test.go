package draft

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"p2pnode/csvfile"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// surveyed is the survey of a whole file.
func surveyed(t testing.TB, text, node, target string) *Survey {
	t.Helper()
	s, err := survey(text, node, target)
	require.NoError(t, err)
	return s
}

func survey(text, node, target string) (*Survey, error) {
	rows, err := csvfile.NewReader(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	s, err := NewSurvey(rows.Columns, rows.Comma, node, target)
	if err != nil {
		return nil, err
	}
	return s, rows.Each(func(line int, cells []string) error {
		s.Add(line, cells)
		return nil
	}, func(int, error) {})
}

// column is a survey's column x with these cells, with a target that they say nothing of.
func column(t *testing.T, name string, cells ...string) *Column {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ty\n", name)
	for i, cell := range cells {
		fmt.Fprintf(&b, "%s\t%d\n", cell, i*i%7)
	}
	return surveyed(t, b.String(), "", "").Columns[0]
}

// made are n cells.
func made(n int, cell func(i int) string) []string {
	cells := make([]string, n)
	for i := range cells {
		cells[i] = cell(i)
	}
	return cells
}

func TestKindOfAColumn(t *testing.T) {
	words := []string{"red", "green", "blue"}
	vector := "[" + strings.Repeat("0.5, ", 9) + "-1e-3]"
	for _, c := range []struct {
		name  string
		cells []string
		want  string
	}{
		{"temperature", made(40, func(i int) string { return fmt.Sprintf("%d.5", i*i%17-8) }), Number},
		{"decimal", made(40, func(i int) string { return fmt.Sprintf("%d,5", i*i%17) }), Number},
		{"rooms", made(40, func(i int) string { return fmt.Sprint(i * i % 5) }), Number},
		{"gaps", made(40, func(i int) string { return []string{"", "7", "?", "n/a", "8"}[i%5] }), Number},
		{"colour", made(40, func(i int) string { return words[i*i%3] }), Set},
		{"colours", made(40, func(i int) string { return words[i%3] + "|" + words[i*i%3] }), Set},
		{"city", made(400, func(i int) string { return fmt.Sprintf("city%d", i*7%150) }), Key},
		{"movieId", made(400, func(i int) string { return fmt.Sprint(i * i % 150) }), Key},
		{"post_code", made(400, func(i int) string { return fmt.Sprint(10000 + i*i%150) }), Key},
		{"review", made(40, func(i int) string { return fmt.Sprintf("the food was %s and very %d", words[i%3], i) }), Text},
		{"when", made(40, func(i int) string { return fmt.Sprintf("2024-03-%02dT08:30:00+01:00", 1+i%28) }), Time},
		{"day", made(40, func(i int) string { return fmt.Sprintf("2024-03-%02d", 1+i*3%28) }), Time},
		{"timestamp", made(40, func(i int) string { return fmt.Sprint(1700000000 + i*i*1000) }), Time},
		{"createdAt", made(40, func(i int) string { return fmt.Sprint(1700000000123 + int64(i*i)*1000) }), Time},
		{"population", made(40, func(i int) string { return fmt.Sprint(1700000000 + i*i*1000) }), Number},
		{"photo", made(40, func(i int) string { return vector }), LeftOut}, // always the same
		{"photo", made(40, func(i int) string { return strings.Replace(vector, "0.5", fmt.Sprint(i), 1) }), Vector},
		{"photo", made(40, func(i int) string { return fmt.Sprintf("[%s 1]", strings.Repeat("0 ", i%3)) }), Set}, // of different lengths
		{"photo", made(40, func(i int) string { return fmt.Sprintf("%c%s=", 'A'+i%26, strings.Repeat("A", 42)) }), Vector},
		{"share", made(400, func(i int) string { return fmt.Sprintf("%d%%", i*i%150) }), LeftOut}, // written otherwise, it is a number
		{"weight", made(40, func(i int) string { return fmt.Sprintf("%d kg", 5*(i*i%3)) }), Set},  // three of them may be names
		{"firmware", made(40, func(i int) string { return fmt.Sprintf("1.%d.2", i*i%3) }), Set},   // no date
		{"empty", made(40, func(int) string { return "" }), LeftOut},
		{"constant", made(40, func(int) string { return "7" }), LeftOut},
		{"line", made(40, func(i int) string { return fmt.Sprint(i + 3) }), LeftOut},
		{"order_id", made(40, func(i int) string { return fmt.Sprint(900 + 7*i) }), LeftOut},
		{"token", made(40, func(i int) string { return fmt.Sprintf("x%dz", i*31) }), LeftOut},
		{"target", made(40, func(i int) string { return fmt.Sprint(i * i % 7) }), LeftOut},                   // the same
		{"fahrenheit", made(40, func(i int) string { return fmt.Sprint(32 + 1.8*float64(i*i%7)) }), LeftOut}, // a line of it
		{"named", made(40, func(i int) string { return "is" + fmt.Sprint(i*i%7) }), Set},                     // goes with it, which may be right
	} {
		if got := column(t, c.name, c.cells...).judge(); got.kind != c.want {
			t.Errorf("%s, as %q: %+v, want %s", c.name, c.cells[1], got, c.want)
		}
	}
}

func TestDoubtfulNumbers(t *testing.T) {
	c := column(t, "size", made(40, func(i int) string {
		if i == 30 {
			return "big"
		}
		return fmt.Sprint(i * i % 17)
	})...)
	if j := c.judge(); j.kind != Number || !strings.Contains(j.doubt, "1 cell is no number, the first on line 32") {
		t.Errorf("%+v", j)
	}
}

// Numbers that may be names or dates are doubted, unless the owner says that they are numbers.
func TestNumbersThatMayBeNamesOrDates(t *testing.T) {
	postcodes := []string{"01067", "50667", "00999"}
	for _, c := range []struct {
		name string
		cell func(i int) string
		want string // "": nothing is said
	}{
		{"plz", func(i int) string { return postcodes[i*i%3] }, "some of its numbers begin with 0, as 01067 on line 2: if they are names, as postcodes are, take --kind plz=set"},
		{"plz", func(i int) string { return fmt.Sprintf("%05d", 500+i*7) }, "some of its numbers begin with 0, as 00500 on line 2: if they are names, as postcodes are, take --kind plz=text"},
		{"month", func(i int) string { return fmt.Sprintf("%02d", 1+i*i%12) }, ""},
		{"share", func(i int) string { return fmt.Sprintf("0.%03d", i*i%97) }, ""},
		{"size", func(i int) string { return fmt.Sprint(i * i % 97 * 1000) }, ""},
		{"day", func(i int) string { return fmt.Sprint(20240301 + i*i%30) }, "its numbers look like dates, the first on line 2: write 20240301 as 2024-03-01, and they are learned from as times"},
		{"day", func(i int) string { return fmt.Sprint(20240301 + i*i%97) }, ""}, // 20240335 is none
		{"made", func(i int) string { return fmt.Sprint(1700000000000 + i*i%97*3600000) }, "its numbers may be seconds or milliseconds since 1970: if they are times, take --kind made=time"},
	} {
		file := c.name + ",y\n" + strings.Join(made(90, func(i int) string { return fmt.Sprintf("%s,%d", c.cell(i), i*i%7) }), "\n")
		said := func(w Wishes) bool {
			p, err := NewPlan(surveyed(t, file, "", ""), w)
			require.NoError(t, err)
			all := strings.Join(p.Doubts(), "\n")
			return strings.Contains(all, "look like dates") || strings.Contains(all, "begin with 0") || strings.Contains(all, "since 1970")
		}
		if got := column(t, c.name, made(90, c.cell)...).judge(); got.kind != Number || got.doubt != c.want {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
		if said(Wishes{Public: true, Ranges: map[string]Range{c.name: {0, 1e13}}}) != (c.want != "") || said(Wishes{Public: true, Kinds: map[string]string{c.name: Number}}) {
			t.Errorf("%s: %q is said otherwise of a wish", c.name, c.want)
		}
	}
}

// A column of which some cells are no numbers or times is doubted, with the first of them.
func TestDoubtfulCells(t *testing.T) {
	for _, c := range []struct {
		name, odd string
		every     int // so many cells are odd
		cell      func(i int) string
		kind      string // that is wished
		want      string // "": nothing is said of odd cells
	}{
		{"size", "n.a.", 2, func(i int) string { return fmt.Sprint(i * i % 97) }, "", `: of 60 cells 30 are numbers, and the first that is none is "n.a." on line 2, and so all are taken for texts`},
		{"size", "<LOD", 2, func(i int) string { return fmt.Sprint(i * i % 5) }, "", `: of 60 cells 30 are numbers`},
		{"size", "n.a.", 2, func(i int) string { return fmt.Sprint(i * i % 97) }, Set, ""},
		{"size", "n.a.", 2, func(i int) string { return fmt.Sprint("a", i*i%97) }, "", ""},
		{"zip code", "EC1A", 2, func(i int) string { return fmt.Sprint(i * i % 17) }, "", ""},
		{"day", "soon", 20, func(i int) string { return fmt.Sprintf("2024-03-%02d", 1+i*7%30) }, Time, `: 3 cells are no time, the first on line 2, "soon": mend them`},
		{"day", "1700000000", 20, func(i int) string { return fmt.Sprintf("2024-03-%02d", 1+i*7%30) }, Time, ""},
	} {
		text := c.name + ",y\n" + strings.Join(made(60, func(i int) string {
			if i%c.every == 0 {
				return fmt.Sprintf("%s,%d", c.odd, i*i%7)
			}
			return fmt.Sprintf("%s,%d", c.cell(i), i*i%7)
		}), "\n")
		w := Wishes{Public: true, Kinds: map[string]string{}}
		if c.kind != "" {
			w.Kinds[c.name] = c.kind
		}
		p, err := NewPlan(surveyed(t, text, "", ""), w)
		require.NoError(t, err)
		said := strings.Join(p.Doubts(), "\n")
		if odd := strings.Contains(said, "are numbers") || strings.Contains(said, "cells are no"); odd != (c.want != "") || !strings.Contains(said, c.want) {
			t.Errorf("%+v: %q", c, said)
		}
	}
}

// A cell is a vector if the task can read it as one, with numbers between commas or blanks and with
// finite ones in base64; the first that is none is said.
func TestCellsThatAreNoVectors(t *testing.T) {
	unknown := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, 36))
	for cell, want := range map[string]int{
		"[1, 2]": 2, "[1 2 3]": 3, "[1, 2 3]": 0, "[1, 2,]": 0, "[,1]": 0, "[1e400 2]": 0, "[1 2": 0, "[]": 0, "12": 0,
		strings.Repeat("AAAA", 12): 9, strings.Repeat("AAAA", 13): 0, unknown: 0, "AAAA": 0, "[1e308,1e308]": 2, "[1.7e308,1.7e308]": 0,
	} {
		if got := vectorLength(cell); got != want {
			t.Errorf("%s has %d numbers, want %d", cell, got, want)
		}
	}
	for _, broken := range []string{"[1, 2 3]", "[1, 2,]"} {
		text := "v;y\n" + strings.Join(made(60, func(i int) string { return fmt.Sprintf("[%d, 2, %d];%d", i, i*i%5, i*i%7) }), "\n") + "\n" + broken + ";3\n"
		p, err := NewPlan(surveyed(t, text, "", ""), Wishes{Public: true})
		require.NoError(t, err)
		if f := written(t, p).Features[0]; f.Kind != Text || p.BadLines() {
			t.Errorf("%+v, bad lines %v", f, p.BadLines())
		}
		if doubts, want := strings.Join(p.Doubts(), "\n"), fmt.Sprintf("of 61 cells 60 are vectors, and the first that is none is %q on line 62", broken); !strings.Contains(doubts, want) {
			t.Errorf("doubts %q, want %q", doubts, want)
		}
	}
}

// What would be a time or a number if it were written otherwise is said to be.
func TestCellsWrittenOtherwise(t *testing.T) {
	for cell, want := range map[string]string{
		"1.3.2024 8:30": Time, "03/01/24": Time, "8:30": Time, "2024/03/01": Time, "01-03-2024": Time,
		"1-Jan-24": Time, "5 March 2024 08:30": Time, "Sept. 5, 2024": Time, "Fri, 05 Jan 2024 10:00:00 GMT": Time, "1-2-24": "", "may 2024": "",
		"12 kg": Number, "5%": Number, "€ 5.20": Number, "1,234.50": Number, "1'234": Number, "21.5 °C": Number,
		"\u22120.5": Number, "3.25-": Number, "(1,234.50)": Number, "(4.20 €)": Number, "(a)": "", "-": "", "()": "", "A-": "",
		"B12": "", "red": "", "": "", "1-2": "", "kg": "", "10.0.0.1x": "",
		"1.0.2": "", "2.0.0": "", "3.14.159": "", "45/1/24": "",
	} {
		if got := almost(cell, ','); got != want {
			t.Errorf("%q is almost %q, want %q", cell, got, want)
		}
	}
	for cell, want := range map[string]string{"1.955,77": Number, "-1.234.567": Number, "1.955,77 €": Number, "1.95,77": "", "1.955,7,7": "", "0.955,7": ""} {
		if got := almost(cell, ';'); got != want {
			t.Errorf("%q with semicolons is almost %q, want %q", cell, got, want)
		}
	}
	c := column(t, "when", made(40, func(i int) string { return fmt.Sprintf("%d.%d.2024 8:%02d", 1+i%28, 1+i%12, i) })...)
	if j := c.judge(); j.kind != LeftOut || !strings.Contains(j.why, "write them as 2024-03-01") {
		t.Errorf("%+v", j)
	}
	c = column(t, "weight", made(80, func(i int) string { return fmt.Sprintf("%d kg", 1+i*i%17) })...)
	if j := c.judge(); !strings.Contains(j.doubt, "write plain numbers") {
		t.Errorf("%+v", j)
	}
}

// A column whose values go with the target is kept, and doubted.
func TestTellingColumn(t *testing.T) {
	for cell, want := range map[string]bool{"is%d": true, "has": false} {
		c := column(t, "x", made(40, func(i int) string {
			return strings.Replace(cell, "%d", fmt.Sprint(i*i%7), 1) + strings.Repeat("s", i%2)
		})...)
		if j := c.judge(); j.kind != Set || strings.Contains(j.doubt, "goes with") != want {
			t.Errorf("%s: %+v", cell, j)
		}
	}
}

func TestSkewedNumbers(t *testing.T) {
	for want, cell := range map[bool]func(i int) string{
		true:  func(i int) string { return fmt.Sprintf("%.2f", math.Exp(float64(i%100)/10)) },
		false: func(i int) string { return fmt.Sprint(i * i % 100) },
	} {
		if j := column(t, "price", made(1000, cell)...).judge(); j.kind != Number || j.log != want {
			t.Errorf("%+v, want log %v", j, want)
		}
	}
}

// A number is counted exactly up to a thousand, and to within 16 % beyond: five times the
// deviation of the estimate, so the seedless hash would miss it for one column in a
// million.
func TestSketch(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 20_000, 300_000} {
		var s sketch
		for i := range 2 * n {
			s.add(fmt.Sprint("cell ", i%n))
		}
		if got := s.count(); n <= 1000 && got != n || math.Abs(float64(got-n)) > 0.16*float64(n) {
			t.Errorf("%d different texts are counted as %d", n, got)
		}
	}
}

// However long the file, what is kept of a column has its bounds.
func TestColumnTakesBoundedMemory(t *testing.T) {
	s, err := NewSurvey([]string{"text", "number", "owner", "y"}, ',', "owner", "")
	require.NoError(t, err)
	for i := range 20_000 {
		s.Add(i, []string{fmt.Sprintf("%s %d", strings.Repeat("long ", i%20), i), fmt.Sprint(i * i), fmt.Sprint("owner ", i), fmt.Sprint(i % 100)})
	}
	for _, c := range s.Columns {
		if len(s.rows.kept) > sampled || len(s.owned) > mostOwned || len(c.values) > mostValues || len(c.distinct.least) > hashes || len(c.typical.kept) > samples || len(c.told.meant) > mostValues+1 {
			t.Errorf("%s keeps %d values, %d hashes, %d numbers and %d pairs", c.Name, len(c.values), len(c.distinct.least), len(c.typical.kept), len(c.told.meant))
		}
	}
}

func TestRound(t *testing.T) {
	for in, want := range map[Range]Range{
		{-4.3, 24.3}:          {-5, 25},
		{0.77, 7.73}:          {0, 8},
		{100, 798}:            {100, 800},
		{0.012, 0.047}:        {0.01, 0.05},
		{-0.3, -0.1}:          {-0.3, -0.1},
		{1234567, 7654321}:    {1000000, 8000000},
		{3, 3}:                {3, 3.5},
		{0, 0}:                {0, 0.2},
		{-math.MaxFloat64, 1}: {-math.MaxFloat64, 1},
	} {
		if got := round(in.Low, in.High); got != want {
			t.Errorf("round %v: %v, want %v", in, got, want)
		}
	}
}

func FuzzRound(f *testing.F) {
	for _, v := range []float64{0, 1, -4.3, 1e-320, math.MaxFloat64, 0.1} {
		f.Add(v, 24.3)
	}
	f.Fuzz(func(t *testing.T, low, high float64) {
		if !(low <= high) || math.IsInf(low, 0) || math.IsInf(high, 0) {
			t.Skip("no range")
		}
		r := round(low, high)
		if !(r.Low <= low && high <= r.High) || low < high && !(r.Low < r.High) || math.IsInf(r.Low, 0) || math.IsInf(r.High, 0) {
			t.Errorf("round %v..%v: %v", low, high, r)
		}
	})
}

func TestSuggestionsAreWider(t *testing.T) {
	for _, c := range []struct{ cells, want string }{
		{"-4.3 24.3 8 9 10 11 12 13 14 15 16 17 18 19", "-20..40"},
		{"0.2 0.93 .1 .11 .12 .13 .14 .15 .16 .17 .18 .19 .21", "0..1"},
		{"-0.2 0.93 .1 .11 .12 .13 .14 .15 .16 .17 .18 .19 .21", "-1..1"},
		{"0.0002 0.0011 .0003 .0004 .0005 .0006 .0007 .0008 .0009 .00021 .00022 .00023 .00024", "0..0.0014"},
		{"-4e-8 5.6e-7 1e-8 2e-8 3e-8 4e-8 5e-8 6e-8 7e-8 8e-8 9e-8 1.1e-8 1.2e-8", "-2e-07..8e-07"},
		{"3 87 4 5 6 7 8 9 10 11 12 13 14 15", "0..100"},
		{"1 2 3 4 5 5 4 1 2 3 1 2 3 4 5", "1..5"},
		{"3 9000 4 5 6 7 8 9 10 11 12 13 14 15", "0..12000"},
	} {
		if got := column(t, "x", strings.Fields(c.cells)...).question(Number, false).Suggested; got != c.want {
			t.Errorf("%s: %s, want %s", c.cells, got, c.want)
		}
	}
}

func TestParseRange(t *testing.T) {
	for text, want := range map[string]Range{"-30..50": {-30, 50}, " 0 .. 1e3 ": {0, 1000}, "-.5...5": {-.5, .5}} {
		got, err := ParseRange(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if again, err := ParseRange(got.String()); err != nil || again != got {
			t.Errorf("%v is written as %q and read as %v, %v", got, got.String(), again, err)
		}
	}
	for _, text := range []string{"", "5", "5..", "..5", "50..-30", "1..1", "a..b", "0..inf", "nan..1", "0-5"} {
		if r, err := ParseRange(text); err == nil {
			t.Errorf("%q is read as %v", text, r)
		}
	}
}

func TestParseValues(t *testing.T) {
	for text, want := range map[string][]string{
		"a,b":                {"a", "b"},
		` one , "two, too" `: {"one", "two, too"},
		"x":                  {"x"},
	} {
		got, err := ParseValues(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if again, err := ParseValues(valuesText(got)); err != nil || !slices.Equal(again, got) {
			t.Errorf("%q is written as %q and read as %q, %v", got, valuesText(got), again, err)
		}
	}
	for _, text := range []string{"", "a,,b", "a,a", `"a`, "a,b\nc"} {
		if list, err := ParseValues(text); err == nil {
			t.Errorf("%q is read as %q", text, list)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("-30..50")
	f.Add(`one, "two, too"`)
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseRange(text); err == nil {
			if again, err := ParseRange(r.String()); err != nil || again != r {
				t.Errorf("%v is read as %v, %v", r, again, err)
			}
		}
		if list, err := ParseValues(text); err == nil {
			if again, err := ParseValues(valuesText(list)); err != nil || !slices.Equal(again, list) {
				t.Errorf("%q is read as %q, %v", list, again, err)
			}
		}
	})
}

func TestSurveyErrors(t *testing.T) {
	for _, c := range []struct{ text, node, target, want string }{
		{"a,b\n", "", "c", `no column "c"; there are a, b`},
		{"a,b\n", "c", "", `no column "c"`},
		{"Sorte;Ertrag kg\n", "", "Ertrag", `no column "Ertrag"; there are Sorte, Ertrag kg; do you mean "Ertrag kg"?`},
		{"Sorte;Ertrag kg\n", "sort", "", `do you mean "Sorte"?`},
		{"a|b\n1|2\n", "", "", "and one at least to predict it from; commas, semicolons or tabs separate the cells"},
		{"a,b\n", "b", "b", "says whose record a line is"},
		{"a\n1\n", "", "", "too few columns"},
		{"\"a,b,y\"\n\"1,2,3\"\n", "", "", "take the marks around whole lines out"},
		{"node,b\n", "", "", "too few columns"},
		{"a,,b\n", "", "", "column 2 has no name"},
		{"a,b,\n1,2,\n", "", "", "column 3, the last, has no name: if the sign between cells stands at the end of each line too"},
		{"H1,,2024-03-01\n", "", "", "the first line seems to have values already"},
		{"H1,2.5\n", "house", "", "the first line seems to have values already"},
	} {
		if _, err := survey(c.text, c.node, c.target); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestPlanErrors(t *testing.T) {
	rows := "a,b,y\n" + strings.Repeat("1,x,2\n2,y,3\n3,x,4\n", 9)
	for _, c := range []struct {
		text, target string
		wishes       Wishes
		want         string
	}{
		{"a,y\n", "", Wishes{}, "no records"},
		{"a,city,y\n1,Bonn,3\n2,K\xf6ln,4\n3,K\xf6ln,4\n", "", Wishes{}, `column "city": 2 cells are not text in UTF-8, the first on line 3: save the file as CSV in UTF-8`},
		{"a,city\n1,Bonn\n2,K\xf6ln\n", "", Wishes{}, `column "city": 1 cell is not text`},
		{"a,y\n1,\n2,?\n", "", Wishes{}, `"y" cannot be predicted: it is empty; name the column to predict with --target`},
		{"a,y\n1,7\n2,7\n", "", Wishes{}, "all its cells are the same"},
		{"a,y\n" + strings.Join(made(100, func(i int) string { return fmt.Sprintf("%d,word%d", i%3, i) }), "\n"), "", Wishes{}, "100 different texts"},
		{"a;y\n" + strings.Join(made(100, func(i int) string { return fmt.Sprintf("%d;1.%03d,50", i%3, i) }), "\n"), "", Wishes{}, "marks between thousands, a decimal comma or another minus sign: write plain numbers, as 1234.5"},
		{rows, "", Wishes{Ranges: map[string]Range{"c": {0, 1}}}, `no column "c"; there are a, b, y`},
		{rows, "", Wishes{Ranges: map[string]Range{"A": {0, 1}}}, `do you mean "a"?`},
		{rows, "", Wishes{Kinds: map[string]string{"a": "colour"}}, "choose one of number, set"},
		{rows, "", Wishes{Kinds: map[string]string{"y": "time"}}, "not time"},
		{rows, "", Wishes{Kinds: map[string]string{"b": "time"}}, `column "b" cannot be of the kind "time": none of its cells is one, and the first that is none is "x" on line 2; write times as`},
		{"a,y\n5/12/2024,1\n2024-05-12,3\n5/13/2024,2\n", "", Wishes{Kinds: map[string]string{"a": "time"}}, `of its 3 cells only 1 may be one, and the first that is none is "5/12/2024" on line 2`},
		{"a,y\n1,Inf\n2,3\n4,8\n", "", Wishes{}, `"y" cannot be predicted: of 3 cells 2 are numbers, and the first that is none is "Inf" on line 2: mend or empty the others, or leave their lines out with --kind y=number, or take its 3 different values for classes with --kind y=set`},
		{"a,y\n" + strings.Join(made(200, func(i int) string {
			return fmt.Sprintf("%d,%d%s", i%3, i, []string{"", "? " + strings.Repeat("many", 9)}[i%2])
		}), "\n"), "", Wishes{}, `of 200 cells 100 are numbers, and the first that is none is "1? manymanymanymanymanymanyman..." on line 3: mend or empty the others, or leave their lines out with --kind y=number; name`},
		{"a,y\n1,2024-05-12\n2,2024-05-13\n4,2024-06-12\n", "", Wishes{}, "its cells are times, and what is predicted is a number or a class"},
		{rows, "", Wishes{Epsilon: -3}, "epsilon -3: must be a number above 0"},
		{rows, "", Wishes{Epsilon: math.NaN()}, "epsilon NaN: must be a number above 0"},
		{rows, "", Wishes{Nodes: -1}, "-1 nodes with 0 records: must be at least 1 each"},
		{rows, "", Wishes{Ranges: map[string]Range{"a": {math.NaN(), 1}}}, `column "a": "NaN..1" is no range: both ends must be finite`},
		{rows, "", Wishes{Ranges: map[string]Range{"y": {0, math.Inf(1)}}}, `column "y": "0..+Inf" is no range: both ends must be finite`},
		{rows, "", Wishes{Ranges: map[string]Range{"a": {5, 1}}}, `column "a": "5..1" is no range: the first number must be below the second`},
		{rows, "", Wishes{Values: map[string][]string{"b": {}}}, `column "b": "" is no list of values`},
		{rows, "", Wishes{Values: map[string][]string{"b": {"x", ""}}}, `column "b": "x," is no list of values: one of them is empty`},
		{rows, "", Wishes{Values: map[string][]string{"b": {"x", "y", "x"}}}, `column "b": "x" is there twice`},
		{rows, "", Wishes{Kinds: map[string]string{"a": LeftOut, "b": LeftOut}}, "no column is left to predict \"y\" from:\n  a: you left it out\n  b: you left it out"},
	} {
		if _, err := NewPlan(surveyed(t, c.text, "", c.target), c.wishes); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
		}
	}
	p, err := NewPlan(surveyed(t, rows, "", ""), Wishes{})
	require.NoError(t, err)
	if _, err := p.TOML(); err == nil || !strings.Contains(err.Error(), `column "b": nobody has said --values`) {
		t.Errorf("a task without answers: %v", err)
	}
}

// A wish that no task can have is named when the task is written at the latest.
func TestTasksAreValid(t *testing.T) {
	rows := "a,b,y\n" + strings.Repeat("1,x,2\n2,y,3\n3,x,4\n", 9)
	for name, c := range map[string]struct {
		wishes Wishes
		want   string
	}{
		"a committee of one":    {Wishes{Committee: []string{"one"}}, "the task's sums.committee must name at least 3t+1"},
		"a committee of nobody": {Wishes{Committee: []string{}}, "the task's sums.committee must name at least 3t+1"},
		"a member twice":        {Wishes{Committee: []string{"a", "b", "c", "a"}}, `the task's sums.committee[3] must be unique, "a" is there twice`},
		"a long name":           {Wishes{Name: strings.Repeat("x", 300)}, "the task's name must have 1 to 256 characters"},
		"a large budget":        {Wishes{Epsilon: 1e300}, ""},
	} {
		p, err := NewPlan(surveyed(t, rows, "", ""), c.wishes)
		require.NoError(t, err)
		text, err := answered(t, p).TOML()
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if c.want == "" {
			require.NoError(t, err)
			_, err = datadir.ParseTask(text)
			require.NoError(t, err)
		}
	}
}

// wish has answers for all questions.
func answered(t testing.TB, p *Plan) *Plan {
	t.Helper()
	for _, q := range p.Questions() {
		require.NoError(t, p.Answer(q, q.Suggested))
	}
	return p
}

// written is the task that a plan writes, read back: it is the one that the plan has.
func written(t testing.TB, p *Plan) *learner.Task {
	t.Helper()
	text, err := p.TOML()
	require.NoError(t, err)
	read, err := datadir.ParseTask(text)
	if err != nil {
		t.Fatalf("%v, in\n%s", err, text)
	}
	whole, err := p.task()
	require.NoError(t, err)
	a, errA := datadir.FormatTask(read)
	b, errB := datadir.FormatTask(whole)
	require.NoError(t, errA, errB)
	if !bytes.Equal(a, b) {
		t.Errorf("the file\n%s\nis read as\n%s\nand the task is\n%s", text, a, b)
	}
	return read
}

// What is written is a task of its own, whatever the owner has said about the network.
func TestWrittenTasks(t *testing.T) {
	members := []string{
		"12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", "12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X",
		"12D3KooWH3uVF6wv47WnArKHk5p6cvgCJEb74UTmxztmQDc298L3", "12D3KooWQYhTNQdmr3ArTeUHRYzFg94BKyTkoWBDWez9kSCVe2Xo",
	}
	readings := "time,outside,wind,day,power\n" + strings.Join(made(60, func(i int) string {
		return fmt.Sprintf("2024-03-%02d 08:30,%d.5,%.2f,%s,%d", 1+i%28, i*i%17-8, math.Exp(float64(i%50)/5), []string{"work", "weekend"}[i*i%3%2], i*i%11)
	}), "\n")
	ratings := "book_id,pages,liked\n" + strings.Join(made(90, func(i int) string {
		return fmt.Sprintf("%d,%d,%s", i*i%40, i*i%300, []string{"no", "yes", "rather"}[i%3])
	}), "\n")
	for _, c := range []struct {
		text, target string
		wishes       Wishes
		loss, first  string
	}{
		{readings, "", Wishes{}, "squared", Time},
		{readings, "", Wishes{Public: true}, "squared", Time},
		{readings, "", Wishes{Nodes: 500, Records: 30, Epsilon: 0.5, Name: "a \"name\"\tof its own \\"}, "squared", Time},
		{readings, "day", Wishes{Kinds: map[string]string{"time": LeftOut}}, "logistic", Number},
		{readings, "", Wishes{Committee: members, Nodes: 500, Records: 3000}, "squared", Time},
		{readings, "day", Wishes{Committee: members, Nodes: 30, Records: 5}, "logistic", Time},
		{readings, "day", Wishes{Committee: members, Nodes: 900, Records: 50}, "logistic", Time},
		{ratings, "pages", Wishes{Committee: members}, "squared", Key},
		{ratings, "", Wishes{Public: true, Kinds: map[string]string{"book_id": LeftOut}}, "multinomial", Number},
		{ratings, "", Wishes{Values: map[string][]string{"book_id": {"1", "4", "9"}}}, "multinomial", Set},
	} {
		p, err := NewPlan(surveyed(t, c.text, "", c.target), c.wishes)
		require.NoError(t, err)
		if c.wishes.Public && len(p.Questions()) > 0 {
			t.Errorf("of a public file there are questions: %+v", p.Questions())
		}
		task := written(t, answered(t, p))
		if task.Loss != c.loss || task.Features[0].Kind != c.first {
			t.Errorf("%+v: loss %s, first feature %+v; want %s and %s", c.wishes, task.Loss, task.Features[0], c.loss, c.first)
		}
	}
}

// Of two files whose owners answer alike the tasks are the same to the last byte: nothing
// else of a private file enters its task.
func TestNothingOfAPrivateFileIsInItsTask(t *testing.T) {
	file := func(scale int, words ...string) string {
		return "when,size,colour,y\n" + strings.Join(made(70+scale, func(i int) string {
			return fmt.Sprintf("20%02d-03-04 08:%02d,%d,%s,%.1f", 10+scale, i%60, scale*(i*i%13)+1, words[i*i%3], float64(i*i%(scale+5)))
		}), "\n")
	}
	var tasks [][]byte
	for _, text := range []string{file(3, "red", "green", "blue"), file(7, "black", "white", "pink")} {
		p, err := NewPlan(surveyed(t, text, "", ""), Wishes{
			Ranges: map[string]Range{"size": {0, 500}, "y": {0, 20}}, Values: map[string][]string{"colour": {"red", "green"}},
		})
		require.NoError(t, err)
		written, err := p.TOML()
		require.NoError(t, err)
		tasks = append(tasks, written)
	}
	if !bytes.Equal(tasks[0], tasks[1]) {
		t.Errorf("two private files give\n%s\nand\n%s", tasks[0], tasks[1])
	}
}

// One cell decides whether the logarithm of a number is taken. The task says so, unless the file is public.
func TestATaskSaysWhatTheRecordsDecided(t *testing.T) {
	file := func(last string) string {
		return "x,y\n" + strings.Join(made(40, func(i int) string {
			x := []string{"1", "100"}[i%2]
			if i == 21 {
				x = last
			}
			return fmt.Sprintf("%s,%d", x, i*i%7)
		}), "\n")
	}
	for _, public := range []bool{false, true} {
		var logs []bool
		for _, last := range []string{"1", "100"} {
			p, err := NewPlan(surveyed(t, file(last), "", ""), Wishes{Public: public, Ranges: map[string]Range{"x": {0, 1000}, "y": {0, 6}}})
			require.NoError(t, err)
			logs = append(logs, written(t, p).Features[0].Log)
			text, err := p.TOML()
			require.NoError(t, err)
			head, _, _ := strings.Cut(string(text), "\n\n")
			if said := strings.Contains(head, "decided, without noise") && strings.Contains(head, "its kind and log"); said == public {
				t.Errorf("a task of a file, public %v, begins with\n%s", public, head)
			}
			if strings.Contains(head, "nothing of anybody's records") {
				t.Errorf("a task says what is not so:\n%s", head)
			}
		}
		if logs[0] == logs[1] {
			t.Errorf("one cell changes nothing: %v", logs)
		}
	}
}

// Columns e0 to e383 are one vector, and a key that no sum can use becomes a text.
func TestCountedColumns(t *testing.T) {
	header, row := "", ""
	for i := range 40 {
		header += fmt.Sprintf("e_%d,", i)
		row += fmt.Sprintf("0.%d,", i)
	}
	text := header + "size,y\n" + strings.Join(made(30, func(i int) string { return row + fmt.Sprintf("%d,%d", i*i%17, i*3%23) }), "\n")
	p, err := NewPlan(surveyed(t, text, "", ""), Wishes{})
	require.NoError(t, err)
	task := written(t, answered(t, p))
	if f := task.Features; len(f) != 2 || f[0].Name != "e" || f[0].Kind != Vector || f[0].Length != 40 {
		t.Errorf("features %+v", f)
	}
	if doubts := p.Doubts(); len(doubts) == 0 || !strings.Contains(doubts[0], "e_0 to e_39") {
		t.Errorf("doubts %q", doubts)
	}
}

// Columns e1 to e40 are no vector beside an e0 or e_0 that is left out, or says whose record a
// line is: the vector would be taken to begin there.
func TestCountedColumnsBesideOneLeftOut(t *testing.T) {
	for _, c := range []struct {
		first, node string
		kinds       map[string]string
		want        int
	}{
		{"e0", "", map[string]string{"e0": LeftOut}, 40},
		{"e_0", "", map[string]string{"e_0": LeftOut}, 40},
		{"e0", "e0", nil, 40},
		{"e0", "", nil, 1}, // vector
	} {
		text := c.first + "," + strings.Join(made(40, func(i int) string { return fmt.Sprint("e", i+1) }), ",") + ",y\n" + strings.Join(made(30, func(i int) string {
			return strings.Join(made(41, func(k int) string { return fmt.Sprint((i + k) * (i + k) % 17) }), ",") + fmt.Sprint(",", i*3%23)
		}), "\n")
		p, err := NewPlan(surveyed(t, text, c.node, ""), Wishes{Public: true, Kinds: c.kinds})
		require.NoError(t, err)
		if features := written(t, p).Features; len(features) != c.want || features[0].Name == c.first {
			t.Errorf("%+v: %d features, %+v", c, len(features), features[0])
		}
	}
}

// A class is a whole cell of the target, with a vertical bar in it or not.
func TestClassesWithBars(t *testing.T) {
	text := "x,y\n" + strings.Join(made(60, func(i int) string { return fmt.Sprintf("%d,%s", i*i%17, []string{"yes|no", "no", "maybe"}[i*i%7%3]) }), "\n")
	p, err := NewPlan(surveyed(t, text, "", ""), Wishes{Public: true})
	require.NoError(t, err)
	if classes, want := written(t, p).Target.Classes, []string{"maybe", "no", "yes|no"}; !slices.Equal(classes, want) || p.BadLines() {
		t.Errorf("classes %q, want %q, bad lines %v", classes, want, p.BadLines())
	}
	p, err = NewPlan(surveyed(t, text, "", ""), Wishes{Public: true, Values: map[string][]string{"y": {"maybe", "no", "yes"}}})
	require.NoError(t, err)
	if doubts := strings.Join(p.Doubts(), "\n"); !p.BadLines() || !strings.Contains(doubts+"\n", "their lines cannot be imported: yes|no\n") {
		t.Errorf("bad lines %v, doubts %q", p.BadLines(), doubts)
	}
}

// Columns _0 to _39 have no name in common that a vector could have, so each is a number.
func TestCountedColumnsWithoutAName(t *testing.T) {
	text := strings.Join(made(40, func(i int) string { return fmt.Sprintf("_%d", i) }), ",") + ",y\n" + strings.Join(made(30, func(i int) string {
		return strings.Join(made(40, func(k int) string { return fmt.Sprint((i + k) * (i + k) % 17) }), ",") + fmt.Sprint(",", i*3%23)
	}), "\n")
	p, err := NewPlan(surveyed(t, text, "", ""), Wishes{Public: true})
	require.NoError(t, err)
	if features := written(t, p).Features; len(features) != 40 || features[39].Name != "_39" || features[39].Kind != Number {
		t.Errorf("features %+v", features)
	}
}

// Any file that can be surveyed becomes a task, or an error that says why not.
func FuzzDraft(f *testing.F) {
	f.Add("a;b;y\n1,5;x;2\n2;y;3\n", false)
	f.Add("node\ttime\ty\nn\t2024-01-01\tyes\nn\t1700000000\tno\n", true)
	f.Add("\ufeffp,q\n\"[1, 2]\",a|b\n", true)
	f.Fuzz(func(t *testing.T, text string, public bool) {
		s, err := survey(text, "", "")
		if err != nil {
			t.Skip("no file that can be surveyed:", err)
		}
		p, err := NewPlan(s, Wishes{Public: public})
		if err != nil {
			return
		}
		for _, q := range p.Questions() {
			if p.Answer(q, q.Suggested) != nil {
				return // no values at all, or more than one line
			}
		}
		made, err := p.TOML()
		if err != nil {
			return
		}
		if _, err := datadir.ParseTask(made); err != nil && strings.Contains(err.Error(), "line ") {
			t.Errorf("%q gives a file that is no TOML: %v\n%s", text, err, made)
		}
	})
}

// What is predicted has two values at least, and the owner learns which lines of her file
// cannot be learned from.
func TestAnswersThatTheFileContradicts(t *testing.T) {
	text := "colour,topic\n" + strings.Repeat("red,tea\nblue,coffee\nred,\n", 9)
	p, err := NewPlan(surveyed(t, text, "", ""), Wishes{})
	require.NoError(t, err)
	colour, topic := p.Questions()[0], p.Questions()[1]
	if err := p.Answer(topic, "tea"); err == nil || !strings.Contains(err.Error(), "has two at least") {
		t.Errorf("one class: %v", err)
	}
	if len(p.Questions()) != 2 {
		t.Error("a refused answer is taken")
	}
	require.NoError(t, p.Answer(colour, "green"))
	require.NoError(t, p.Answer(topic, "tea,milk"))
	want := []string{
		"colour: the file has other values than you name, and they count as unknown: blue, red",
		"topic: 9 cells are empty. A line without what is predicted cannot be imported: take it out, or leave it out with data import --skip-bad",
		"topic: the file has other values than you name, and their lines cannot be imported: coffee",
	}
	if got := p.Doubts(); !slices.Equal(got, want) {
		t.Errorf("doubts %q, want %q", got, want)
	}
	require.NoError(t, p.Answer(colour, colour.Suggested))
	require.NoError(t, p.Answer(topic, topic.Suggested))
	if got := p.Doubts(); !slices.Equal(got, want[1:2]) {
		t.Errorf("doubts %q, want %q", got, want[1:2])
	}
}

// A header of numbers only is perhaps none, nor is one with a time or a fraction.
func TestNameless(t *testing.T) {
	for text, want := range map[string]bool{
		"1;2.5;3\n3;4;5\n": true, "a;2\n3;4\n": false, "a;b;2,5\n3;4;5\n": true, "a;2024-03-01 08:30\n3;4\n": true, "a;1.3.2024\n3;4\n": true, "a;v1.2\n3;4\n": false,
	} {
		if got := surveyed(t, text, "", "").Nameless(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// What a spreadsheet shows for an error is no value, and is told with its line.
func TestSpreadsheetErrors(t *testing.T) {
	var text strings.Builder
	text.WriteString("size,colour,note,y\n")
	for i := range 60 {
		size, colour, note, y := fmt.Sprint(i*i%17), []string{"red", "blue"}[i%2], fmt.Sprintf("word%d of a sentence", i*i%59), fmt.Sprint(i*i%7)
		switch {
		case i < 20:
			size, colour = "#N/A", "#REF!"
		case i == 30:
			note, y = "#VALUE!", "#DIV/0!"
		}
		fmt.Fprintf(&text, "%s,%s,%s,%s\n", size, colour, note, y)
	}
	p, err := NewPlan(surveyed(t, text.String(), "", "y"), Wishes{Public: true})
	require.NoError(t, err)
	const shown = "what a spreadsheet shows for an error, as #N/A, the first on line"
	want := []string{
		"size: 20 cells are " + shown + " 2: mend them or empty them, or their lines cannot be imported",
		"colour: 20 cells are " + shown + " 2: mend them or empty them",
		"note: 1 cell is " + shown + " 32: mend them or empty them, or they are learned from as texts",
		"y: 1 cell is " + shown + " 32: mend them or empty them, or their lines cannot be imported",
	}
	got := slices.DeleteFunc(p.Doubts(), func(line string) bool { return !strings.Contains(line, shown) })
	if !slices.Equal(got, want) {
		t.Errorf("doubts %q, want %q", got, want)
	}
	if v := p.wishes.Values["colour"]; !slices.Equal(v, []string{"blue", "red"}) {
		t.Errorf("colours %q", v)
	}
}

// Half of the values at one end of a range are far from its middle, which is the center.
// A point between thousands is read as a decimal one where the comma separates no cells, which
// is said, unless the column has other points.
func TestPointsBetweenThousands(t *testing.T) {
	for text, want := range map[string]string{
		"rooms;rent\n" + strings.Repeat("1;850\n2;1.200\n3;999,50\n", 9):      "rent: 9 cells are refused: that on line 4 has a decimal comma, and line 3 has a point before three digits: leave out what stands between thousands, or such lines cannot be imported",
		"rooms;rent\n" + strings.Repeat("1;850\n2;1,200\n3;999.5\n", 9):       "that on line 4 has a decimal point, and line 3 has a comma before three digits",
		"rooms;rent\n" + strings.Repeat("1;850\n2;1.200\n3;999\n", 9):         "rent: a point is read as a decimal one, first in 1.200 on line 3: if it means 1200, take such points out",
		"rent;rooms\n" + strings.Repeat("850;1\n1.200;2\n1.234;3\n", 9):       "if it means 1200",
		"rooms;rent\n" + strings.Repeat("1;850\n2;1.200\n3;1.5\n", 9):         "",
		"rooms;density\n" + strings.Repeat("1;1.025\n2;1.234\n3;2.001\n", 9):  "",
		"rooms,rent\n" + strings.Repeat("1,850\n2,1.200\n3,999.50\n4,7\n", 9): "",
		"rooms;length\n" + strings.Repeat("1;850\n2;0.200\n3;999,50\n", 9):    "",
	} {
		p, err := NewPlan(surveyed(t, text, "", ""), Wishes{})
		require.NoError(t, err)
		got := slices.DeleteFunc(p.Doubts(), func(doubt string) bool {
			return !strings.Contains(doubt, "point is read") && !strings.Contains(doubt, "thousands")
		})
		if len(got) > 1 || !strings.Contains(strings.Join(got, ""), want) || want == "" && len(got) > 0 {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
}

func TestSkewedTarget(t *testing.T) {
	var text strings.Builder
	text.WriteString("x,y\n")
	for i := range 100 {
		fmt.Fprintf(&text, "%d,%.1f\n", i*i%13, 0.5+float64(i%5)/10)
	}
	for bounds, want := range map[Range]string{
		{0, 16}:      "y: half of its numbers are below 0.7, and center = 8, ",
		{-9, 1}:      "y: half of its numbers are above 0.7, and center = -4, ",
		{0, 2}:       "",
		{-0.5, 1.25}: "",
	} {
		p, err := NewPlan(surveyed(t, text.String(), "", ""), Wishes{Ranges: map[string]Range{"x": {0, 13}, "y": bounds}})
		require.NoError(t, err)
		if got := strings.Join(p.Doubts(), ""); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%v: doubts %q, want %q", bounds, got, want)
		}
	}
}

// The survey counts owners and their records, and finds the line of a total.
func TestOwnersAndTotal(t *testing.T) {
	text := "house,x,z,y\n" + strings.Repeat("a,1,2,3\nb,1,2,3\nb,1,2,\nb,2,1,5\n", 10)
	s := surveyed(t, text+"Total,,,120\n", "house", "")
	if owners, records := s.Owners(); owners != 3 || records != 10 || s.Total != 42 {
		t.Errorf("%d owners with %d records, a total on line %d", owners, records, s.Total)
	}
	many := "house,x,y\n" + strings.Join(made(4000, func(i int) string { return fmt.Sprintf("h%d,1,%s", i/2, []string{"2", "none", "3", "2"}[i%4]) }), "\n")
	if owners, records := surveyed(t, many+"\nsilent,1,\n", "house", "").Owners(); owners != 2000 || records != 1 {
		t.Errorf("%d owners with %d records", owners, records)
	}
	s, err := NewSurvey([]string{"house", "x", "y"}, ',', "house", "")
	require.NoError(t, err)
	s.Classes = []string{"none", "some"}
	for i := range 40 {
		s.Add(i+2, []string{fmt.Sprint(i % 2), "1", []string{"none", "some", "none", ""}[i%4]})
	}
	if owners, records := s.Owners(); owners != 2 || records != 15 {
		t.Errorf("of a class none: %d owners with %d records", owners, records)
	}
	s = surveyed(t, text, "", "")
	if owners, records := s.Owners(); owners != 0 || records != 0 || s.Total != 0 {
		t.Errorf("%d owners with %d records, a total on line %d", owners, records, s.Total)
	}
}

// Who has fewer records than one of which is held out is measured by nobody.
func TestMeasurable(t *testing.T) {
	rows := func(owner string, n int) string { return strings.Repeat(owner+",1,2\n", n) }
	for _, c := range []struct {
		text string
		want int
	}{
		{"node,x,y\n" + rows("a", 5) + rows("b", 4) + rows("c", 6) + rows("", 9), 2},
		{"node,x,y\n" + rows("a", 50) + rows("b", 4) + "b,1,\n", 0},
		{"node,x,y\n" + rows("a", 50) + rows("b", 50) + rows("c", 50) + rows("d", 50), 3},
		{"node,x,y\n" + strings.Join(made(mostOwned, func(i int) string { return fmt.Sprintf("p%d,1,2\n", i) }), "") + rows("a", 50) + rows("b", 50), 2},
		{"z,x,y\n" + rows("a", 14), 2},
		{"z,x,y\n" + rows("a", 9) + "a,1,\n", 0},
		{"z,x,y\n" + rows("a", 100), 3},
	} {
		if got := surveyed(t, c.text, "", "").Measurable(3); got != c.want {
			t.Errorf("%.30q: %d people, want %d", c.text, got, c.want)
		}
	}
}

// A command for the file leaves out what cannot be read.
func TestBadLines(t *testing.T) {
	const head = "node,when,size,y\n"
	rows := strings.Join(made(40, func(i int) string { return fmt.Sprintf("%c,2024-03-%02d,%d,%d\n", 'a'+i%3, 1+i%28, i*i%17, i*i%5) }), "")
	classes := strings.ReplaceAll(rows, ",4\n", ",no\n")
	for _, c := range []struct {
		text   string
		wishes Wishes
		want   bool
	}{
		{head + rows, Wishes{}, false},
		{head + rows + "a,,,3\nn/a,2024-03-01,1,2\n", Wishes{}, false},
		{head + rows + "a,2024-03-01,1,\n", Wishes{}, true},
		{head + rows + "a,2024-03-01,1,#N/A\n", Wishes{}, true},
		{head + rows + "a,2024-03-01,1,much\n", Wishes{}, true},
		{head + rows + "a,2024-03-01,big,1\n", Wishes{}, true},
		{head + rows + "a,2024-03-01,big,1\n", Wishes{Kinds: map[string]string{"size": LeftOut}}, false},
		{head + rows + "a,soon,2,1\n", Wishes{Kinds: map[string]string{"when": Time}}, true},
		{head + rows + "  ,2024-03-01,1,2\n", Wishes{}, true},
		{"size;y\n" + strings.Repeat("850;1\n1.200;2\n999,5;3\n", 9), Wishes{}, true},
		{"v,y\n" + strings.Repeat("[0.5 1.1],2\n[1 2],3\n", 20), Wishes{}, false},
		{"v,y\n" + strings.Repeat("[0.5 1.1],2\n[1 2],3\n", 20) + "broken,2\n", Wishes{Kinds: map[string]string{"v": Vector}}, true},
		{head + classes, Wishes{Kinds: map[string]string{"y": Set}}, false},
		{head + classes, Wishes{Values: map[string][]string{"y": {"0", "1"}}}, true},
	} {
		c.wishes.Public = true
		p, err := NewPlan(surveyed(t, c.text, "", ""), c.wishes)
		require.NoError(t, err)
		if p.BadLines() != c.want {
			t.Errorf("%.30q of %q: bad lines %v", c.text[len(c.text)-30:], p.Doubts(), !c.want)
		}
	}
}

// Values that differ in capitals only are named, of classes and of a feature.
func TestCapitals(t *testing.T) {
	const alike = "values that differ in capitals only count as different ones: "
	for _, c := range []struct {
		values []string
		want   string
	}{
		{[]string{"TRUE", "False", "True", "true"}, alike + "TRUE and True and true; write them alike"},
		{[]string{"Nein", "JA, sehr", "nein", "ja, sehr"}, alike + `"JA, sehr" and "ja, sehr", Nein and nein; write`},
		{[]string{"ja", "Jan", "nein"}, ""},
	} {
		for _, target := range []string{"colour", "size"} {
			text := "size;colour\n" + strings.Join(made(90, func(i int) string { return fmt.Sprintf("%d;%s", i*i*i%11, c.values[i%len(c.values)]) }), "\n")
			p, err := NewPlan(surveyed(t, text, "", target), Wishes{Public: true})
			require.NoError(t, err)
			if got := strings.Join(p.Doubts(), "\n"); c.want == "" && strings.Contains(got, alike) || !strings.Contains(got, c.want) {
				t.Errorf("%q to predict %s: %q", c.values, target, got)
			}
		}
	}
}

// A list of values can be read where one has a comma in it.
func TestListsAreQuoted(t *testing.T) {
	text := "kind;y\n" + strings.Repeat("tea, black;1\ncoffee;3\ntea, green;7\n", 9)
	p, err := NewPlan(surveyed(t, text, "", ""), Wishes{Ranges: map[string]Range{"y": {0, 10}}})
	require.NoError(t, err)
	if seen := p.Questions()[0].Seen; seen != `3 values: coffee, "tea, black", "tea, green"` {
		t.Errorf("seen: %s", seen)
	}
	require.NoError(t, p.Answer(p.Questions()[0], "coffee"))
	if doubts := strings.Join(p.Doubts(), "\n"); !strings.HasSuffix(doubts, `they count as unknown: "tea, black", "tea, green"`) {
		t.Errorf("doubts %q", doubts)
	}
	if got := firstOf([]string{"a", "b,c", "d", "e"}, 2); got != `a, "b,c" and 2 more` {
		t.Errorf("the first two are %s", got)
	}
}

// told are the doubts about a column of what these cells say and of its targets.
func told(t *testing.T, w Wishes, random *rand.Rand, cell, target func(x float64) string) string {
	t.Helper()
	s, err := NewSurvey([]string{"x", "y"}, ',', "", "")
	require.NoError(t, err)
	for i := range 400 {
		x := 24 * random.Float64()
		s.Add(i+2, []string{cell(x), target(x)})
	}
	p, err := NewPlan(s, w)
	require.NoError(t, err)
	return strings.Join(p.Doubts(), "\n")
}

// Where the target goes up and down along a number, the owner is told where a model may bend;
// not where it goes straight on, and not where it has nothing to do with the number. Of a
// thousand such numbers about one is told of, and so of 400 more than three with a chance of
// .0005; the seeds are fixed.
func TestBends(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	doubts := func(target func(x float64) string) string {
		w := Wishes{Public: true, Ranges: map[string]Range{"x": {0, 24}}}
		return told(t, w, random, func(x float64) string { return fmt.Sprint(x) }, target)
	}
	const want = "bends = [6, 12, 18] below its max"
	peak := func(x float64) float64 { return max(0, 6-math.Abs(x-12)) }
	if got := doubts(func(x float64) string { return fmt.Sprint(peak(x) + 3*random.NormFloat64()) }); !strings.Contains(got, want) {
		t.Errorf("a peak: %q", got)
	}
	if got := doubts(func(x float64) string { return map[bool]string{true: "yes", false: "no"}[8*random.Float64() < peak(x)] }); !strings.Contains(got, want) {
		t.Errorf("classes with a peak: %q", got)
	}
	wrong := 0
	for range 200 {
		for _, straight := range []func(x float64) string{
			func(x float64) string { return fmt.Sprint(x + 3*random.NormFloat64()) },
			func(float64) string { return fmt.Sprint(random.NormFloat64()) },
		} {
			if strings.Contains(doubts(straight), "bends") {
				wrong++
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%d of 400 straight lines and columns of noise are said to bend", wrong)
	}
}

// The same of the hour in a column of times, where what is straight is a circle.
func TestHours(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 8))
	doubts := func(target func(hour float64) string) string {
		return told(t, Wishes{Public: true}, random, func(hour float64) string {
			return time.Date(2026, 3, 1+random.IntN(300), 0, 0, int(3600*hour), 0, time.UTC).Format(time.DateTime)
		}, target)
	}
	const want = `write "hours" in place of "day" in its parts`
	evening := func(hour float64) float64 { return math.Exp(-(hour - 19) * (hour - 19) / 4) }
	if got := doubts(func(hour float64) string { return fmt.Sprint(4*evening(hour) + random.NormFloat64()) }); !strings.Contains(got, want) {
		t.Errorf("an evening: %q", got)
	}
	wrong := 0
	for range 200 {
		for _, circle := range []func(hour float64) string{
			func(hour float64) string { return fmt.Sprint(math.Cos((hour-19)*math.Pi/12) + random.NormFloat64()) },
			func(float64) string { return fmt.Sprint(random.NormFloat64()) },
		} {
			if strings.Contains(doubts(circle), "hours") {
				wrong++
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%d of 400 circles and columns of noise are said to bend", wrong)
	}
}

// Where others change the target by a share, its logarithm is learned, which the owner is told, and
// that of a column that goes with it is taken; where they change it by an amount, neither,
// even if it is skewed, and where they have nothing to do with it. None of 300 files of these gets
// one, of seeds that are fixed.
func TestLogarithm(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 8))
	noise := func(std float64) float64 { return math.Exp(std * random.NormFloat64()) }
	// drafted is whether the logarithm of the target is taken, and that of the area.
	drafted := func(spread float64, price func(area float64, place int) float64) (target, area bool) {
		s, err := NewSurvey([]string{"area", "place", "price"}, ',', "", "")
		require.NoError(t, err)
		for i := range 400 {
			area, place := 90*noise(spread), random.IntN(4)
			s.Add(i+2, []string{fmt.Sprint(area), "abcd"[place : place+1], fmt.Sprint(max(0, price(area, place)))})
		}
		p, err := NewPlan(s, Wishes{Public: true})
		require.NoError(t, err)
		task, err := p.task()
		require.NoError(t, err)
		doubts := strings.Join(p.Doubts(), "\n")
		if task.Target.Log != strings.Contains(doubts, "price: its logarithm is learned") || task.Target.Log && strings.Contains(doubts, "center = ") {
			t.Errorf("a logarithm of the target %v, and it is said: %q", task.Target.Log, doubts)
		}
		for _, f := range task.Doubts(learner.Expected{}) {
			if task.Target.Log && f.Key == "target.center" {
				t.Errorf("the center %v is doubted: %v", task.Target.Center, f)
			}
		}
		return task.Target.Log, task.Features[0].Log
	}
	shares := func(area float64, place int) float64 { return 3000 * area * math.Pow(1.3, float64(place)) * noise(0.2) }
	if target, area := drafted(0.5, shares); !target || !area {
		t.Errorf("shares: a logarithm of the target %v, of the area %v", target, area)
	}
	wrong := 0
	for range 100 {
		for _, amounts := range []func(area float64, place int) float64{
			func(area float64, place int) float64 { return 100 + area + 30*float64(place) + 10*random.NormFloat64() },
			func(area float64, place int) float64 { return 50 + 20*float64(place) + 40*noise(0.8) },
			func(float64, int) float64 { return 1000 * noise(0.6) },
		} {
			if target, area := drafted(0.5, amounts); target || area {
				wrong++
			}
		}
	}
	if wrong > 0 {
		t.Errorf("of 300 files of amounts %d get a logarithm", wrong)
	}
	amounts := func(area float64, place int) float64 { return area + 30*float64(place) + 20*random.NormFloat64() }
	if _, area := drafted(1.4, amounts); area {
		t.Error("a skewed area of which the price is a straight line gets a logarithm")
	}
}

// A word that counts as an empty cell may be a value: that is said where it is not named among them.
func TestWordsForEmptyCellsAreTold(t *testing.T) {
	rows := "size,plan,churn\n" + strings.Join(made(60, func(i int) string {
		return fmt.Sprintf("%d,%s,%s", i*i%17, []string{"plus", "none", "basic"}[i%3], []string{"None", "minor", "major"}[i*i%7%3])
	}), "\n") + "\n"
	s := surveyed(t, rows, "", "")
	named := map[string]Range{"size": {0, 20}}
	for _, c := range []struct {
		plan, churn []string
		want        []string
	}{
		{[]string{"basic", "plus"}, []string{"major", "minor"}, []string{
			`plan: 20 cells are empty or a word for that, as "none" on line 3: name that word too with --values if it is a value`,
			`churn: 9 cells are empty or a word for that, as "None" on line 2: name that word too with --values if it is a value. A line without what is predicted cannot be imported: take it out, or leave it out with data import --skip-bad`,
		}},
		{[]string{"basic", "plus", "none"}, []string{"major", "minor", "None"}, nil},
	} {
		p, err := NewPlan(s, Wishes{Ranges: named, Values: map[string][]string{"plan": c.plan, "churn": c.churn}})
		require.NoError(t, err)
		if got := p.Doubts(); !slices.Equal(got, c.want) || p.BadLines() != (c.want != nil) {
			t.Errorf("%q, bad lines %v, want %q", got, p.BadLines(), c.want)
		}
	}
}

// Of many columns with empty cells, or with numbers that may be codes, a line each is enough.
func TestGapsAndCodesAreTold(t *testing.T) {
	rows := "size,plan,sort,grade,flag,y\n" + strings.Join(made(60, func(i int) string {
		return fmt.Sprintf("%s,%s,%d,%d,%d,%d", []string{fmt.Sprint(float64(i*i%17) / 2), ""}[i%5/4], []string{"plus", "", "basic"}[i%3], i*i%7%3, i*7%5, i%2, i*i*i%37)
	}), "\n") + "\n"
	gaps, codes := "cells are empty, and count as unknown: size 12, plan 20", "these have few different whole numbers, which are taken for amounts: sort, grade; of one whose numbers are codes, --kind COLUMN=set learns from each by itself"
	for _, c := range []struct {
		wishes Wishes
		want   []string
	}{
		{Wishes{Public: true}, []string{gaps, codes}},
		{Wishes{Public: true, Kinds: map[string]string{"sort": Number, "grade": Set, "size": LeftOut, "plan": LeftOut}}, nil},
		{Wishes{Public: true, Ranges: map[string]Range{"sort": {0, 2}}, Kinds: map[string]string{"size": LeftOut, "grade": LeftOut}}, []string{"cells are empty, and count as unknown: plan 20"}},
	} {
		p, err := NewPlan(surveyed(t, rows, "", ""), c.wishes)
		require.NoError(t, err)
		got := slices.DeleteFunc(p.Doubts(), func(line string) bool {
			return !strings.Contains(line, "unknown") && !strings.Contains(line, "amounts")
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.wishes, got, c.want)
		}
	}
}

// The first column may have no name, as that of an index that a program wrote.
func TestIndexWithoutName(t *testing.T) {
	rows := ",a,y\n" + strings.Join(made(60, func(i int) string { return fmt.Sprintf("r%d,%d,%d", i%9, i*i%17, i*i*i%37) }), "\n")
	p, err := NewPlan(surveyed(t, rows, "", ""), Wishes{Public: true})
	require.NoError(t, err)
	left := p.LeftOut()
	if task := written(t, p); len(task.Features) != 1 || task.Features[0].Name != "a" || len(left) != 1 || !strings.HasPrefix(left[0], "column 1: it has no name") {
		t.Errorf("%+v, left out %q", task.Features, left)
	}
}

// Counted columns with cells missing here and there are numbers of their own: no vector can lack one.
// And a column beside a vector that counts on is not left out, as imports refuse it then.
func TestCountedColumnsThatAreNoVector(t *testing.T) {
	const few, many = 50, 50 * sampled // rows; of many the sample has none that lacks a number
	file := func(n int, cell func(row, column int) string) string {
		rows := []string{strings.Join(made(leastColumns+1, func(i int) string { return fmt.Sprint("e", i) }), ",") + ",y"}
		for row := range n {
			rows = append(rows, strings.Join(made(leastColumns+1, func(i int) string { return cell(row, i) }), ",")+","+fmt.Sprint(row*row%23))
		}
		return strings.Join(rows, "\n") + "\n"
	}
	whole := func(row, column int) string { return fmt.Sprint((row*row + 7*column) % 29) }
	for name, c := range map[string]struct {
		cell   func(row, column int) string
		kinds  map[string]string
		vector bool
	}{
		"whole": {whole, nil, true},
		"rows without any": {func(row, column int) string {
			if row%5 == 0 {
				return ""
			}
			return whole(row, column)
		}, nil, true},
		"gaps in one column": {func(row, column int) string {
			if column == 3 && row == 9 {
				return "NA"
			}
			return whole(row, column)
		}, nil, false},
		"as many gaps in each": {func(row, column int) string {
			if row == column {
				return ""
			}
			return whole(row, column)
		}, nil, false},
		"as many gaps in each, in few of many rows": {func(row, column int) string {
			if row == many-1-column {
				return ""
			}
			return whole(row, column)
		}, nil, false},
		"the last left out": {whole, map[string]string{fmt.Sprint("e", leastColumns): LeftOut}, false},
	} {
		n := few
		if strings.Contains(name, "many rows") {
			n = many
		}
		p, err := NewPlan(surveyed(t, file(n, c.cell), "", ""), Wishes{Public: true, Kinds: c.kinds})
		require.NoError(t, err)
		if got := len(p.features()) == 1; got != c.vector || p.BadLines() {
			t.Errorf("%s: a vector %v, want %v, bad lines %v", name, got, c.vector, p.BadLines())
		}
	}
}

// A target of many numbers with their unit is none of classes; one of few may be.
func TestNumbersWithAUnitAreNoClasses(t *testing.T) {
	for n, refused := range map[int]bool{40: true, 5: false} {
		rows := "x,share\n" + strings.Join(made(80, func(i int) string { return fmt.Sprintf("%d,%d %%", i*i%37, i%n) }), "\n") + "\n"
		p, err := NewPlan(surveyed(t, rows, "", ""), Wishes{Public: true})
		const said = "look like numbers with a unit"
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), said) || !refused && !strings.Contains(strings.Join(p.Doubts(), "\n"), said) {
			t.Errorf("%d shares: %v", n, err)
		}
	}
}
