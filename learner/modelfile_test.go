package learner

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Every kind of feature says what a reader needs, and makes cells that the coder takes, some
// of them not as they are.
func TestKindsAreExported(t *testing.T) {
	examples := map[string]Feature{
		"number": {Min: -1, Max: 5},
		"set":    {Values: []string{"a", "b"}},
		"range":  {Edges: []float64{1, 2}},
		"time":   {},
		"vector": {Length: 3},
		"text":   {Buckets: 16},
	}
	for _, kind := range kinds {
		if kind.name == "key" {
			continue
		}
		f, ok := examples[kind.name]
		if !ok || kind.coded == nil || kind.made == nil {
			t.Errorf("%s: has coded %v, has made %v, is among the examples %v", kind.name, kind.coded != nil, kind.made != nil, ok)
			continue
		}
		f.Name, f.Kind = "f", kind.name
		if table := f.coded(); table["kind"] != kind.name || table["width"] != f.width() {
			t.Errorf("%s: %v", kind.name, table)
		}
		for _, text := range kind.made(&f) {
			if x, _, err := kind.cell(&f, nil, strings.TrimSpace(text)); err != nil || len(x) != f.width() {
				t.Errorf("%s: made %q: %v, %v", kind.name, text, x, err)
			}
		}
	}
}

// Made rows have all that a coder can meet in a cell, and nothing that is not in the task.
func TestMadeRows(t *testing.T) {
	task := Movies()
	var tally Tally
	keys := 0
	rows := task.madeRows([]string{"17"})
	for _, row := range rows {
		r, err := task.EncodeFeatures(func(name string) (string, bool) { v, ok := row[name]; return v, ok })
		if err != nil {
			t.Fatalf("%v: %v", row, err)
		}
		tally.Add(r.Cells)
		if row["movieId"] == "17" {
			keys++
		}
	}
	if keys == 0 || len(tally) != 3 || tally[0].Empty == 0 || tally[0].Unknown == 0 || tally[1].Empty == 0 || tally[2].Empty == 0 {
		t.Errorf("%d rows, %d of a known key: %+v", len(rows), keys, tally)
	}
}

// The rules of texts are those of the coder.
func TestTextRules(t *testing.T) {
	for r := rune(0); r < 0x20000; r++ {
		if s := string(r); (strings.TrimSpace(s) == "") != strings.ContainsRune(textRules.Spaces, r) {
			t.Errorf("%U: a space: %v", r, unicode.IsSpace(r))
		}
	}
	for _, text := range []string{"", "?", "NA", "n/A", "NaN", "null", "None", "nil", "-", "0", "nans"} {
		if Blank(text) != slices.Contains(textRules.Blanks, strings.ToLower(text)) {
			t.Errorf("%q", text)
		}
	}
	number := regexp.MustCompile(textRules.Number)
	for _, text := range []string{"1", "+1.", "-.5", "1e9", "1.5E-3", ".", "e5", "1 2", "0x10", "0X1p4", "1_000", "1_0", "inf", "NaN", "1,5", "１"} {
		if _, ok := ParseNumber(text); ok != number.MatchString(text) {
			t.Errorf("%q: a number: %v", text, ok)
		}
	}
	time, f := regexp.MustCompile(textRules.Time), Feature{Kind: "time"}
	for _, text := range []string{
		"2026-03-01", "2026-03-01 08:30", "2026-03-01T8:30", "2026-03-01T08:30:15", "2026-03-01 08:30:15.25", "2026-03-01T08:30:15Z", "2026-03-01 08:30:15,5-03:30",
		"2026-3-1", "2026-03-01T24:00", "2026-03-01 08:60", "2026-03-01T08:30Z", "2026-03-01T08", "01.03.2026", "2026-03-01 08:30 ",
	} {
		if _, err := f.parseTime(text); (err == nil) != time.MatchString(text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A model file says where each weight belongs: as many as a record has coordinates.
func TestModelFile(t *testing.T) {
	for _, task := range []*Task{Movies(), Linear(), Clusters()} {
		theta := make([]float64, task.Dimension())
		m := task.ModelFile(theta, nil)
		width := 0
		for _, f := range m.Features {
			width += f["width"].(int)
		}
		if task.Constant > 0 {
			width++
		}
		if len(m.Weights) != 1 || len(m.Weights[0]) != width || m.Keys != nil {
			t.Errorf("%s: %d rows of weights, %d coordinates", task.Name, len(m.Weights), width)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Error(err)
		}
	}
}
