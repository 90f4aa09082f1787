package rowfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"p2pnode/csvfile"
)

// read reads a whole file: of each row its line and its cells with their columns.
func read(r io.Reader) (rows, bad []string, err error) {
	t, err := NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	err = t.Each(func(row Row) error {
		words := []string{fmt.Sprint(row.Line)}
		for _, name := range row.Columns() {
			text, found, err := row.Number(name)
			if !found {
				return errors.New("a column without a cell")
			}
			if err != nil {
				text = err.Error()
			}
			words = append(words, name+"="+text)
		}
		rows = append(rows, strings.Join(words, " "))
		return nil
	}, func(line int, reason error) { bad = append(bad, fmt.Sprintf("%d: %v", line, reason)) })
	return rows, bad, err
}

func TestRead(t *testing.T) {
	for text, want := range map[string][]string{
		"a;b\n1,5;x\n\n2;y\n": {"2 a=1.5 b=x", "4 a=2 b=y"},
		"\ufeffa,b\r\n1,x":    {"2 a=1 b=x"},
		"[a],b\n1,2\n":        {"2 [a]=1 b=2"},
		"\n {\"a\": 1.50, \"b\":\"x|y\"}\r\n\n{\"b\":null,\"c\":true}":   {"2 a=1.50 b=x|y", "4 b= c=true"},
		"\ufeff{\"a\":[\"x\",\"y\"],\"b\":[1, 2],\"c\":[],\"d\":[null]}": {"1 a=x|y b=[1, 2] c= d=[null]"},
		`{"a":{"b":1},"c":["x|y"],"d":"\u00e9\n"}`: {
			"1 a=column \"a\" holds an object; write its values as columns of their own c=column \"c\" holds a list of texts with a vertical bar in one, which stands between the values of a cell d=é\n",
		},
	} {
		for way, r := range map[string]io.Reader{
			"whole": strings.NewReader(text), "in bytes": iotest.OneByteReader(strings.NewReader(text)),
		} {
			if rows, bad, err := read(r); err != nil || bad != nil || !reflect.DeepEqual(rows, want) {
				t.Errorf("%q, %s: rows %q, bad %q, %v", text, way, rows, bad, err)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	got, err := Texts(map[string]json.RawMessage{"a": []byte(`"x"`), "b": []byte("1.50"), "c": []byte("null"), "d": nil})
	if want := map[string]string{"a": "x", "b": "1.50", "c": "", "d": ""}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Texts(map[string]json.RawMessage{"a": []byte("{}")}); err == nil || !strings.Contains(err.Error(), `column "a"`) {
		t.Errorf("an object: %v", err)
	}
}

func TestBadLines(t *testing.T) {
	text := strings.Join([]string{
		`{"a":1}`, `{"a":1`, `1`, `{"a":1}{"a":2}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{"a":1,}`, `{"a":01}`, `["a"]`, `{"a":NaN}`, `{"a":2}`,
	}, "\n")
	rows, bad, err := read(strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(rows, []string{"1 a=1", "11 a=2"}) || len(bad) != 9 {
		t.Fatalf("rows %q, %d bad, %v", rows, len(bad), err)
	}
	for i, want := range map[int]string{
		0: "2: is not one whole JSON object", 2: "4: is not one whole", 3: `5: names "a" twice`, 4: "6: is not text in UTF-8", 8: "10: is not one whole",
	} {
		if !strings.HasPrefix(bad[i], want) {
			t.Errorf("got %q, want %q", bad[i], want)
		}
	}
}

func TestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":               "no header line",
		" [\n{\"a\":1}]": "one JSON list",
		"\xff\xfe{\x00":  "UTF-16",
		"{\"a\":\"" + strings.Repeat("x", lineBytes) + "\"}": "line 1: is longer than 16 MB",
	} {
		if _, _, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
	_, _, err := read(io.MultiReader(strings.NewReader(`{"a":1}`+"\n"), strings.NewReader(strings.Repeat(" ", lineBytes+1))))
	if lost, ok := errors.AsType[*csvfile.LineError](err); !ok || lost.Line != 2 {
		t.Errorf("got %v", err)
	}
}

// A line of JSON that names too many columns is bad, and the next one is read.
func TestWideLines(t *testing.T) {
	var wide strings.Builder
	for i := range csvfile.MostColumns + 1 {
		fmt.Fprintf(&wide, `"%d":1,`, i)
	}
	rows, bad, err := read(strings.NewReader("{" + wide.String() + "\"a\":1}\n{\"a\":1}"))
	if err != nil || len(rows) != 1 || len(bad) != 1 || !strings.HasPrefix(bad[0], "1: names more than") {
		t.Errorf("%d rows, bad %q, %v", len(rows), bad, err)
	}
}

// The reader's error comes through, as does that of take.
func TestErrorsComeThrough(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"{\"a\":1}\n", "a\n1\n"} {
		if _, _, err := read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("%q: %v", text, err)
		}
		rows, err := NewReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Each(func(Row) error { return broken }, nil); !errors.Is(err, broken) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A row of a pipe is there as soon as its line is.
func TestPipe(t *testing.T) {
	for first, line := range map[string]string{"{\"a\":1}\n": "{\"a\":2}\n", "a\n": "1\n"} {
		file, pipe := io.Pipe()
		go func() {
			_, err := io.WriteString(pipe, first)
			for i := 0; err == nil && i < 3; i++ {
				_, err = io.WriteString(pipe, line) // returns once it was read
			}
			pipe.CloseWithError(err)
		}()
		rows, err := NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		enough := errors.New("enough")
		taken := 0
		err = rows.Each(func(Row) error {
			if taken++; taken == 2 {
				return enough
			}
			return nil
		}, nil)
		if !errors.Is(err, enough) {
			t.Errorf("%q: %d rows, %v", first, taken, err)
		}
		file.Close()
	}
}

// Whatever the bytes, nothing panics, lines ascend, and each is a row or bad.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "{\"a\":1,\"b\":[\"x\"]}\n{}\n", "[{", "[\n", "{\"a\":{}}\n\xff\n", "\ufeff {\"a\":\"\\u0000\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := NewReader(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		last := 0
		next := func(line int) {
			if line <= last {
				t.Fatalf("line %d after %d", line, last)
			}
			last = line
		}
		_ = rows.Each(func(r Row) error {
			next(r.Line)
			seen := make(map[string]bool)
			for _, name := range r.Columns() {
				if _, found, _ := r.Cell(name); !found || seen[name] {
					t.Fatalf("column %q: found %v, twice %v", name, found, seen[name])
				}
				seen[name] = true
			}
			return nil
		}, func(line int, reason error) {
			next(line)
			if reason == nil {
				t.Fatal("a bad line without a reason")
			}
		})
	})
}
