package mobile

import (
	"math"
	"slices"
	"testing"

	"p2pnode/learner"
)

func TestParseRow(t *testing.T) {
	task := learner.Movies()
	for text, want := range map[string][]string{
		`{"genres": "Drama|War", "year": 1994.5, "rating": "4"}`: {"Drama|War", "1994.5", "-", "4"},
		` {"year": null, "rating": 1e400} `:                      {"-", "", "-", "1e400"}, // for Encode to refuse
		`{}`:                                                     {"-", "-", "-", "-"},
		`null`:                                                   {"-", "-", "-", "-"},
	} {
		cell, err := parseRow(task, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, name := range task.Columns() {
			v, ok := cell(name)
			if !ok {
				v = "-"
			}
			got = append(got, v)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "{", "[]", `{"year": true}`, `{"year": [1]}`, `{"year": {}}`, `{"Year": 1}`, `{} {}`, `{"year": 01}`} {
		if _, err := parseRow(task, text); errorCode(err) != CodeInput {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParseRowOfLists(t *testing.T) {
	task := learner.Linear()
	task.Features = append(task.Features[:1:1], learner.Feature{Name: "photo", Kind: "vector", Length: 2}, learner.Feature{Name: "at", Kind: "time"})
	for text, want := range map[string]string{`{"photo": [1, -2.50]}`: "[1,-2.50]", `{"photo": "AAAA"}`: "AAAA", `{"photo": null}`: "", `{"photo": []}`: "[]"} {
		cell, err := parseRow(task, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, ok := cell("photo"); !ok || got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{`{"x1": [1]}`, `{"photo": [1, "2"]}`, `{"photo": [[1, 2]]}`, `{"photo": [null, null]}`, `{"photo": {}}`, `{"photo_3": 1}`} {
		if _, err := parseRow(task, text); errorCode(err) != CodeInput {
			t.Errorf("%q: %v", text, err)
		}
	}
	cell, err := parseRow(task, `{"x1": 0.5, "at": 1772431200, "photo_0": 3, "photo_1": 4, "y": 1}`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := task.Encode(cell)
	if err != nil || r.X[1] == 0 || math.Abs(r.X[1]/r.X[2]-0.75) > 1e-15 {
		t.Errorf("%v, %v", r, err)
	}
}

// Whatever an app hands over, what is taken fits the task.
func FuzzExamples(f *testing.F) {
	f.Add(`{"genres":"Drama","year":1994,"rating":4}`, []byte{}, 1.0)
	f.Add(`{"genres":null,"year":"-0x1p9","rating":1e308}`, make([]byte, 168), -1e300)
	task := learner.Movies()
	f.Fuzz(func(t *testing.T, text string, vector []byte, label float64) {
		if cell, err := parseRow(task, text); err == nil {
			if r, err := task.Encode(cell); err == nil && task.Admit(&r) != nil {
				t.Errorf("%q became %v", text, r)
			}
		}
		raw, err := decodeVector(vector)
		if err != nil {
			return
		}
		if r, err := task.EncodeExample(raw, label); err == nil && task.Admit(&r) != nil {
			t.Errorf("%v, %v became %v", raw, label, r)
		}
	})
}
