package csvfile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// row is what Each gave.
type row struct {
	line  int
	cells []string
}

// read reads a whole file.
func read(r io.Reader) (columns []string, rows []row, bad []string, err error) {
	t, err := NewReader(r)
	if err != nil {
		return nil, nil, nil, err
	}
	err = t.Each(func(line int, cells []string) error {
		rows = append(rows, row{line, slices.Clone(cells)})
		return nil
	}, func(line int, reason error) { bad = append(bad, fmt.Sprintf("%d: %v", line, reason)) })
	return t.Columns, rows, bad, err
}

func TestRead(t *testing.T) {
	want := []row{{2, []string{"1", "2", "3"}}, {4, []string{"4", "5,6", "7"}}}
	for name, text := range map[string]string{
		"commas":           "a,b b,ç\n1,2,3\n\n4,\"5,6\",7\n",
		"semicolons":       "\ufeffa;b b;ç\r\n1;2;3\r\n\r\n4;5,6;7\r\n",
		"tabs, no end":     "a\tb b\tç\n1\t2\t3\n\n4\t5,6\t7",
		"quoted header":    "\" a\";\"b b\";ç\n1;2;3\n\n4;\"5,6\";7\n",
		"space in headers": "a , b b,ç \n1,2,3\n\n4,\"5,6\",7\n",
	} {
		for way, r := range map[string]io.Reader{
			"whole": strings.NewReader(text), "in bytes": iotest.OneByteReader(strings.NewReader(text)),
		} {
			columns, rows, bad, err := read(r)
			if err != nil || bad != nil || !slices.Equal(columns, []string{"a", "b b", "ç"}) || !reflect.DeepEqual(rows, want) {
				t.Errorf("%s, %s: columns %q, rows %v, bad %q, %v", name, way, columns, rows, bad, err)
			}
		}
	}
}

// A name that holds what separates others does not decide.
func TestSeparatorsInNames(t *testing.T) {
	const text = "\"e\n,,,f\";\"a,b,c,d\"\n1;2\n"
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
		columns, rows, _, err := read(r)
		if err != nil || len(columns) != 2 || len(rows) != 1 || rows[0].line != 3 {
			t.Errorf("columns %q, rows %v, %v", columns, rows, err)
		}
	}
}

// A row of a pipe is there as soon as its line is.
func TestPipe(t *testing.T) {
	file, pipe := io.Pipe()
	go func() {
		_, err := io.WriteString(pipe, "a,b\n")
		for i := 0; err == nil && i < 3; i++ {
			_, err = io.WriteString(pipe, "1,2\n") // returns once it was read
		}
		pipe.CloseWithError(err)
	}()
	rows, err := NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	enough, taken := errors.New("enough"), 0
	err = rows.Each(func(int, []string) error {
		if taken++; taken == 2 {
			return enough // the third was not waited for
		}
		return nil
	}, nil)
	if !errors.Is(err, enough) {
		t.Errorf("%d rows, %v", taken, err)
	}
	file.Close()
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "first line must name the columns",
		"\n\n":                       "first line must name the columns",
		"a,b,a\n1,2,3\n":             `columns 1 and 3 are both named "a"`,
		"Report of May,,\na,b,c\n":   "columns 2 and 3 have no name: the first line must name the columns",
		"3.25,3.25,a\n4,5,b\n":       "columns 1 and 2 have one name, which looks like a value",
		"{\"a\": 1, \"b\": 2}\n":     "the file is JSON: write it as CSV",
		"\ufeff[\n  {\n\"a\": 1}]\n": "the file is JSON",
		"[ {\"a\": 1}]":              "the file is JSON",
		"a,gr\xf6\xdfe\n1,2\n":       "column 2 is not text in UTF-8",
		"\x1f\x8b\x08\x08 a,b":       "gunzip",
		"PK\x03\x04\x14\x00 a,b":     "a spreadsheet's workbook",
		"\xff\xfea\x00,\x00b":        "UTF-16",
		"\xfe\xff\x00a\x00,":         "UTF-16",
		"a\x00,\x00b\x00\n\x00":      "UTF-16",
		"abc\x00,d\ne":               "not text",
		"\ufeffsep=,\na,b\n1,2\n":    "take that line out",
		"# by a tool\na,b\n1,2\n":    "the first line is a comment",
		"\"SEP=;\"\na;b\n1;2\n":      "take that line out",
		"a,b\r1,2\r3,4\r":            "CR alone",
		"a,\"b\n1,2\n":               "line 1: a quotation mark is not closed",
		"a,b\"c\n1,2\n":              "line 1: a quotation mark within a cell, at byte 4",
	} {
		if _, _, _, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// A byte of 0 below the header spoils its line, and no other.
func TestBytesOfZero(t *testing.T) {
	text := "a,b\n1,2\n1,x\x00\n3,4\n\x00\x00\n\"\x005\",6\n7,8\n\x00"
	_, rows, bad, err := read(strings.NewReader(text))
	if len(rows) != 3 || len(bad) != 4 || err != nil {
		t.Fatalf("rows %v, bad %q, %v", rows, bad, err)
	}
	for i, line := range []int{3, 5, 6, 8} {
		if want := fmt.Sprintf("%d: %v", line, errZero); bad[i] != want {
			t.Errorf("%q, want %q", bad[i], want)
		}
	}
	r, err := NewReader(strings.NewReader("a,b\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Line("1,\x00"); err != errZero {
		t.Errorf("a line of a pipe: %v", err)
	}
}

// Lines that are no rows are named, with the column where that can be said, and the
// rest is read; where nobody can say what follows, reading ends.
func TestBadLines(t *testing.T) {
	for text, want := range map[string]struct {
		rows int
		bad  []string
		err  string
	}{
		"a;b;c\n1;2;3\n1;2\n1;2;3;4\n1;2;3\n": {2, []string{
			`3: 2 of 3 cells: column "c" is the first without one`,
			"4: 4 cells, but the header names 3 columns; quote cells that hold a semicolon"}, ""},
		"a;b;c\n1,2,3\n1;2;3\n":         {1, []string{"2: cells are separated by a comma here, and names in the header by a semicolon; take the same sign for both"}, ""},
		"a,b\n1,2,\n1,2\n":              {1, []string{"2: 3 cells, the last one empty, but the header names 2 columns; take out the comma at the end of the line"}, ""},
		"a;b\n1,5\n1;2\n":               {1, []string{`2: 1 of 2 cells: column "b" is the first without one`}, ""}, // it may be a decimal comma
		"a,b\n\"x\ny\",2\n1,2\"\n1,2\n": {2, []string{"4: a quotation mark within a cell, at byte 4; quote the cell and double the mark"}, ""},
		"a,b\n1,2\n\"1,2\n1,2\n":        {1, nil, "line 3: a quotation mark is not closed"},
		"a,b\n1,2\n\"1\"x,2\n1,2\n":     {1, nil, "line 3: a quotation mark is not closed or out of place"},
	} {
		_, rows, bad, err := read(strings.NewReader(text))
		if len(rows) != want.rows || !slices.Equal(bad, want.bad) || (err == nil) != (want.err == "") {
			t.Errorf("%q: %d rows, bad %q, %v", text, len(rows), bad, err)
		}
		var at *LineError
		if want.err != "" && (!errors.As(err, &at) || !strings.HasPrefix(err.Error(), want.err)) {
			t.Errorf("%q: %v; want %s", text, err, want.err)
		}
	}
}

// endless is a file that repeats its end for ever.
type endless struct{ start, more string }

func (e *endless) Read(p []byte) (n int, err error) {
	if e.start == "" {
		e.start = e.more
	}
	n = copy(p, e.start)
	e.start = e.start[n:]
	return n, nil
}

// A quotation mark that nobody closes, and a row without an end, take no more memory
// than a row may.
func TestRowsAreBounded(t *testing.T) {
	for _, start := range []string{"a,b\n1,2\n\"", "a,b\n1,2\n"} {
		_, rows, _, err := read(&endless{start: start, more: strings.Repeat("x", 100)})
		var at *LineError
		if !errors.As(err, &at) || at.Line != 3 || at.Err != errLong || len(rows) != 1 {
			t.Errorf("%q: %d rows, %v", start, len(rows), err)
		}
	}
	if _, err := NewReader(&endless{start: "a", more: "b"}); err != errLong {
		t.Errorf("a header without end: %v", err)
	}
}

// Memory does not grow with the file.
func TestMemoryIsBounded(t *testing.T) {
	const line = "12345,\"67\"\n"
	in := io.LimitReader(&endless{start: "a,b\n", more: strings.Repeat(line, 100)}, 4+6_000_000*int64(len(line)))
	r, err := NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	var most uint64
	rows := 0
	err = r.Each(func(int, []string) error {
		if rows++; rows%1_000_000 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
		return nil
	}, func(line int, reason error) { t.Fatal(line, reason) })
	if err != nil || rows != 6_000_000 || most > 8<<20 {
		t.Errorf("%d rows in %d bytes of heap, %v", rows, most, err)
	}
}

// What the underlying reader, or the taker, fails with comes back as it is.
func TestErrorsComeThrough(t *testing.T) {
	broken := errors.New("broken")
	if _, err := NewReader(iotest.ErrReader(broken)); err != broken {
		t.Errorf("the header: %v", err)
	}
	in := io.MultiReader(strings.NewReader("a,b\n"+strings.Repeat("1,2\n", headerBytes)), iotest.ErrReader(broken))
	if _, _, _, err := read(in); err != broken {
		t.Errorf("a row: %v", err)
	}
	r, err := NewReader(strings.NewReader("a\n1\n2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Each(func(int, []string) error { return broken }, nil); err != broken {
		t.Errorf("the taker: %v", err)
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		comma      rune
		cell, want string
	}{{',', "1,5", "1,5"}, {';', "1,5", "1.5"}, {'\t', "-1,5e3", "-1.5e3"}, {';', "1.5", "1.5"}, {';', "1,234.5", "1,234.5"}, {';', "", ""}} {
		if got := Number(c.comma, c.cell); got != c.want {
			t.Errorf("%q after %q: %q, want %q", c.cell, c.comma, got, c.want)
		}
	}
}

// A mark that may stand between thousands is refused where another one of its column shows which
// is decimal.
func TestNumberBetweenThousands(t *testing.T) {
	for _, c := range []struct {
		cells string // one a line, from line 1
		bad   []int  // the lines that are refused
		says  string
	}{
		{"1,5 2.101 301,5", []int{2}, "has a point before three digits, and line 1 has a decimal comma"},
		{"1,5 2.101 12,500 13,250 2.200", []int{2, 5}, "has a point before three digits, and line 1 has a decimal comma"},
		{"2.101 3.250 301,5 2,5", []int{3}, "has a decimal comma, and line 1 has a point before three digits"},
		{"1.5 12,500", []int{2}, "has a comma before three digits, and line 1 has a decimal point"},
		{"2.101 3.250 0.125", nil, ""},
		{"2,101 3,250 -1,5", nil, ""},
		{"1.234 5,678", nil, ""},        // nobody knows which
		{"1,5 0.125 2,5 1.25", nil, ""}, // two programs may have written the column
		{"1,5 1.234,5 x", nil, ""},      // refused as no number
	} {
		r := &Reader{Comma: ';', Columns: []string{"a", "b"}}
		for i, cell := range strings.Fields(c.cells) {
			got, err := r.Number(i+1, 1, cell)
			if (err != nil) != slices.Contains(c.bad, i+1) || err != nil && !strings.Contains(err.Error(), c.says) || err == nil && got != Number(';', cell) {
				t.Errorf("%s: line %d: %q, %v", c.cells, i+1, got, err)
			}
			if _, err := r.Number(i+1, 0, "48.137"); err != nil {
				t.Errorf("%s: another column: %v", c.cells, err)
			}
		}
	}
	r := &Reader{Comma: ',', Columns: []string{"a"}}
	for i, cell := range []string{"1.5", "12,500", "2.101"} {
		if got, err := r.Number(i+1, 0, cell); got != cell || err != nil {
			t.Errorf("%q between commas: %q, %v", cell, got, err)
		}
	}
}

func TestColumn(t *testing.T) {
	r, err := NewReader(strings.NewReader("a,b\n"))
	if err != nil {
		t.Fatal(err)
	}
	at, found := r.Column("b")
	_, other := r.Column("c")
	if at != 1 || !found || other {
		t.Errorf("column b at %d, %v; c %v", at, found, other)
	}
}

// Whatever a file holds, its rows have a cell for each column and lines in order, and
// it does not matter in which pieces it arrives.
func FuzzReader(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "\ufeffa;b\r\n\"1\";\n\n2;3\r\n", "a\tb\n\"x\ny\"\t\"\"\"\"\n", "a,b\n1\n1,2,3\n1,\"2\n", "a,b\r1,2", "\xff\xfea", "\n\x00", "a,b\n1,\x00\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		columns, rows, bad, err := read(strings.NewReader(string(text)))
		last := 1
		for _, r := range rows {
			if r.line <= last || len(r.cells) != len(columns) {
				t.Fatalf("row %q of line %d after line %d, %d columns", r.cells, r.line, last, len(columns))
			}
			last = r.line
		}
		if last > strings.Count(string(text), "\n")+1 {
			t.Fatalf("line %d of a file of fewer", last)
		}
		columns2, rows2, bad2, err2 := read(iotest.OneByteReader(strings.NewReader(string(text))))
		if !slices.Equal(columns, columns2) || !reflect.DeepEqual(rows, rows2) || !slices.Equal(bad, bad2) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("in pieces: %q %v %q %v, whole: %q %v %q %v", columns2, rows2, bad2, err2, columns, rows, bad, err)
		}
	})
}

// What a program writes as CSV, with any separator, comes back cell by cell.
func FuzzRoundTrip(f *testing.F) {
	f.Add("1", "x,y;z\t", byte(0))
	f.Add("a\nb", "\"", byte(1))
	f.Add(" ", "\ufeff", byte(2))
	f.Fuzz(func(t *testing.T, first, second string, which byte) {
		if strings.Contains(first+second, "\r") || strings.Contains(first+second, "\x00") {
			t.Skip("CR LF within a cell becomes LF, and bytes of 0 are no text")
		}
		var text strings.Builder
		w := csv.NewWriter(&text)
		w.Comma = rune(",;\t"[which%3])
		if err := w.WriteAll([][]string{{"a", "b", "c"}, {first, "", second}}); err != nil {
			t.Fatal(err)
		}
		_, rows, bad, err := read(strings.NewReader(text.String()))
		if err != nil || bad != nil || len(rows) != 1 || !slices.Equal(rows[0].cells, []string{first, "", second}) {
			t.Fatalf("%q: rows %v, bad %q, %v", text.String(), rows, bad, err)
		}
	})
}

// BenchmarkReader reads a million rows of ten numbers.
func BenchmarkReader(b *testing.B) {
	const line = "0.123456,1.234567,-0.5,3.25,17,0.000123,42.5,-1.75,0.333333,1\n"
	text := "a,b,c,d,e,f,g,h,i,y\n" + strings.Repeat(line, 1_000_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader(strings.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Each(func(int, []string) error { return nil }, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// A line of a pipe is the row that a file with this line has, or neither takes it.
func FuzzLine(f *testing.F) {
	for _, line := range []string{"1,2", `"a,b",c`, `a"b,c`, `"a`, "a", "a,b,c", "\"a\"\"\",b", " a , b "} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\r\n\x00") || line == "" {
			return // not a line
		}
		head, err := NewReader(strings.NewReader("a,b\n"))
		if err != nil {
			t.Fatal(err)
		}
		got, failed := head.Line(line)
		file, err := NewReader(strings.NewReader("a,b\n" + line + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		_ = file.Each(func(_ int, cells []string) error { want = slices.Clone(cells); return nil }, func(int, error) {})
		if (failed == nil) != (want != nil) || failed == nil && !slices.Equal(got, want) {
			t.Fatalf("%q: %q, %v; a file has %q", line, got, failed, want)
		}
	})
}

// A row has so many cells at most, of a header, of a file and of a pipe. Rows with fewer come
// through however many there are.
func TestWideRows(t *testing.T) {
	wide := strings.Repeat(";", 2*MostColumns)
	if _, err := NewReader(strings.NewReader("a;b" + wide)); err != errWide {
		t.Errorf("a header: %v", err)
	}
	file, err := NewReader(strings.NewReader("a;b\n" + strings.Repeat("1;2\n", 2*MostColumns) + "1" + wide))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	err = file.Each(func(int, []string) error { rows++; return nil }, nil)
	if at, ok := errors.AsType[*LineError](err); !ok || at.Err != errWide || at.Line != 2*MostColumns+2 || rows != 2*MostColumns {
		t.Errorf("%v after %d rows", err, rows)
	}
	if _, err := file.Line(wide); err != errWide {
		t.Errorf("a line: %v", err)
	}
}
