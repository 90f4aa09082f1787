package testnet

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestReadSheet(t *testing.T) {
	for name, text := range map[string]string{
		"commas":     "a,b b,ç\n1,2,3\n\n4,\"5,6\",7\n",
		"semicolons": "\ufeffa;b b;ç\r\n1;2;3\r\n\r\n4;5,6;7\r\n",
		"tabs":       "a\tb b\tç\n1\t2\t3\n\n4\t5,6\t7",
	} {
		s, err := ReadSheet(strings.NewReader(text), "f", nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(s.Columns, []string{"a", "b b", "ç"}) || len(s.Rows) != 2 || s.Rows[1][1] != "5,6" || !slices.Equal(s.Lines, []int{2, 4}) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestReadSheetRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "no header",
		"a,a\n1,2\n":           "are both named",
		"a,b\n1,2\n1\n":        "line 3: 1 of 2 cells",
		"a,b\n1,\"2\n3,4\n":    "line",
		"a,gr\xf6\xdfe\n1,2\n": "column 2 is not text in UTF-8",
		"\xff\xfea\x00,\x00":   "UTF-8",
	} {
		if _, err := ReadSheet(strings.NewReader(text), "f", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	var bad *BadLines
	if _, err := ReadSheet(strings.NewReader("a,b\n1\n2\n"), "f", nil); !errors.As(err, &bad) || bad.Count != 2 {
		t.Errorf("two short lines: %v", err)
	}
	s, _ := ReadSheet(strings.NewReader("a,b\n"), "f", nil)
	if _, err := s.Column("c"); err == nil || !strings.Contains(err.Error(), `"a" "b"`) {
		t.Errorf("no such column: %v", err)
	}
}
