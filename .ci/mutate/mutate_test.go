package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const source = `package p

import "errors"

// Sum adds what is not negative.
func Sum(x []int) (sum int, err error) {
	for _, v := range x {
		if v < 0 {
			return 0, errors.New("negative")
		}
		sum += v
	}
	return sum, nil
}

func unused() int { return 7 }
`

const test = `package p

import "testing"

func TestSum(t *testing.T) {
	if s, err := Sum([]int{0, 1, 2}); s != 3 || err != nil {
		t.Error(s, err)
	}
	if _, err := Sum([]int{-1}); err == nil {
		t.Error("no error")
	}
}
`

func TestMutantsChangeOneLine(t *testing.T) {
	found, err := mutants("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range found {
		out := m.apply([]byte(source))
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", out, 0); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
		was, is := strings.Split(source, "\n"), strings.Split(string(out), "\n")
		for i := range was {
			if (was[i] != is[i]) != (i+1 == m.line) {
				t.Errorf("%+v: line %d is %q", m, i+1, is[i])
			}
		}
		lines = append(lines, m.lineOf(out))
	}
	want := []string{
		"if true || v < 0 {", "if false && v < 0 {", "if v <= 0 {", "if v > 0 {", "if v < (0 + 1) {",
		"sum -= v", "sum = v", "", "func unused() int { return (7 + 1) }",
	}
	if fmt.Sprintf("%q", lines) != fmt.Sprintf("%q", want) {
		t.Errorf("got %q\nwant %q", lines, want)
	}
}

// All changes of the package are tried: the tests notice some, and the report has the others.
func TestSurvivorsAreReported(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"go.mod": "module p\n", "p.go": source, "p_test.go": test} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := options{count: 9, seed: 1, timeout: time.Minute, packages: []string{"."}}
	var said bytes.Buffer
	if err := run(t.Context(), o, &said); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"noticed 8 of 9 changes", "p.go:16\n\t- func unused() int { return 7 }\n\t+ func unused() int { return (7 + 1) }\n"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, &said)
		}
	}
	if text, err := os.ReadFile("p.go"); err != nil || string(text) != source {
		t.Errorf("the file has changed: %v", err)
	}
	o.least = 0.9
	if err := run(t.Context(), o, &said); err == nil || !strings.Contains(err.Error(), "want at least 0.9") {
		t.Errorf("got %v, want an error: too little was noticed", err)
	}
	if err := os.WriteFile("p_test.go", []byte(strings.Replace(test, "s != 3", "s != 4", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o, &said); err == nil || !strings.Contains(err.Error(), "before anything is changed") {
		t.Errorf("got %v, want an error: the tests fail anyway", err)
	}
}
