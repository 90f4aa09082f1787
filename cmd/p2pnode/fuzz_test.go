package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever comes through a pipe, its lines are those that are there: as text, or refused.
func FuzzPipe(f *testing.F) {
	f.Add([]byte("a,b\n1,2\r\n\n3,4"), uint8(1))
	f.Add([]byte("\xff\n{\"a\":1}\n"), uint8(3))
	f.Add(bytes.Repeat([]byte("x"), 100), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, pieces uint8) {
		r := bufio.NewReaderSize(in{bytes.NewReader(text), 1 + int(pieces)}, 16)
		want := bytes.Split(text, []byte("\n"))
		for i := 0; ; i++ {
			l := readPipeLine(r, true)
			if i >= len(want) || l.text != strings.TrimSuffix(string(want[i]), "\r") || (l.bad == nil) != utf8.Valid(want[i]) {
				t.Fatalf("line %d of %q is %q, %v", i, text, l.text, l.bad)
			}
			if l.err != nil {
				if !errors.Is(l.err, io.EOF) || i != len(want)-1 {
					t.Fatalf("%d lines of %q, %v", i+1, text, l.err)
				}
				return
			}
		}
	})
}

// in gives some bytes at a time.
type in struct {
	io.Reader
	most int
}

func (r in) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), r.most)]) }

// Numbers on a command line are a bounded set, all of them named; cells are the words.
func FuzzArguments(f *testing.F) {
	f.Add("3 7-20 5")
	f.Add("1-200001")
	f.Add("year=1994 genres=Comedy|Romance")
	f.Add("0 -1 9223372036854775807-4611686018427387903")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Fields(line)
		if list, err := parseNumbers(words); err == nil {
			for n := range list {
				if n == 0 || len(list) > mostNumbers {
					t.Fatalf("%q: number %d among %d", line, n, len(list))
				}
			}
		}
		if row, err := parseRow(words, words[:len(words)/2]); err == nil && len(row) != len(words) {
			t.Fatalf("%q: %v", line, row)
		}
		if end, err := parseEnd(line); err == nil && end.IsZero() != (line == "" || line == "never") {
			t.Fatalf("%q: %v", line, end)
		}
	})
}
