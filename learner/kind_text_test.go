package learner

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// What testdata/kinds.py, which has no line of ours, makes of cells, we make of them.
func TestKindsAreThoseOfPython(t *testing.T) {
	file, err := os.ReadFile("testdata/kinds.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Feature struct {
			Kind           string
			Buckets        int
			Words, Letters []int
			Seed           uint32
			Min, Max       float64
			Bends          []float64
			Log            bool
			Parts          []string
			Offset         string `json:"utc_offset"`
			Length         int
			Scale          float64
		}
		Cell string
		X    []float64
	}
	if err := json.Unmarshal(file, &cases); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, c := range cases {
		g := c.Feature
		f := Feature{Name: "a", Kind: g.Kind, Buckets: g.Buckets, Words: g.Words, Letters: g.Letters, Seed: g.Seed,
			Min: g.Min, Max: g.Max, Bends: g.Bends, Log: g.Log, Parts: g.Parts, UTCOffset: g.Offset, Length: g.Length, Scale: g.Scale}
		x, _ := coordinatesOf(t, f, c.Cell)
		wantClose(t, c.Cell, x, c.X, 1e-12)
		if g.Kind == "text" && !slices.Equal(x, c.X) {
			t.Errorf("%q differs in the last bits", c.Cell)
		}
		seen[g.Kind]++
	}
	if seen["text"] < 10 || seen["time"] < 5 || seen["vector"] < 5 || seen["number"] < 4 {
		t.Errorf("compared only %v", seen)
	}
}

func TestWordsOfAText(t *testing.T) {
	for text, want := range map[string]string{
		"Don't stop": "don t stop", "ÉTÉ été e\u0301te\u0301": "été été été", "c++ a_b 1,5": "c + + a b 1 5", "🙂ok👍🏽": "🙂 ok 👍 🏽",
		"ﬁne ＡＢ x²": "fine ab x2", "İ ΣΑΣ": "i\u0307 σασ", " \t\n.": "", "\xff\x00a": "\ufffd a",
	} {
		var words []string
		for _, word := range textOf(text) {
			words = append(words, string(word))
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTextThatSaysNothing(t *testing.T) {
	for text, want := range map[string]Note{"": Empty, "n/a": Empty, "?": Empty, "...": Unknown, "- \u200b -": Unknown, "none of it": Taken, "🙂": Taken} {
		f := Feature{Name: "a", Kind: "text", Buckets: 64}
		x, note := coordinatesOf(t, f, text)
		if norm := floats.Norm(x, 2); note != want || math.Abs(norm-1) > 1e-15 && want == Taken || norm != 0 && want != Taken {
			t.Errorf("%q: %v, norm %v, want %v", text, note, norm, want)
		}
	}
	pairs := Feature{Name: "a", Kind: "text", Words: []int{2, 2}}
	if _, note := coordinatesOf(t, pairs, "alone"); note != Unknown {
		t.Errorf("a text without a pair of words is %v", note)
	}
}

// Texts that share words are alike, others are not, and another seed has other buckets.
func TestTextsThatAreAlike(t *testing.T) {
	f := Feature{Name: "a", Kind: "text"}
	one, _ := coordinatesOf(t, f, "The heating is too cold in the morning")
	two, _ := coordinatesOf(t, f, "heating cold this morning!")
	other, _ := coordinatesOf(t, f, "Please send me an invoice")
	if near, far := floats.Dot(one, two), floats.Dot(one, other); near < 0.4 || math.Abs(far) > 0.15 {
		t.Errorf("products %v and %v", near, far)
	}
	f.Seed = 1
	if seeded, _ := coordinatesOf(t, f, "heating cold this morning!"); math.Abs(floats.Dot(one, seeded)) > 0.15 {
		t.Errorf("another seed has the same buckets")
	}
}

func TestTextOfATask(t *testing.T) {
	for want, change := range map[string]func(f []Feature){
		"": func([]Feature) {},
		"buckets: must say into how many coordinates": func(f []Feature) { f[1].Buckets = 1 },
		"buckets: belongs to the kind key or text":    func(f []Feature) { f[0].Buckets = 8 },
		"words: belongs to the kind text":             func(f []Feature) { f[0].Words = []int{1, 2} },
		"letters: belongs to the kind text":           func(f []Feature) { f[0].Letters = []int{1, 2} },
		"seed: belongs to the kind text":              func(f []Feature) { f[0].Seed = 1 },
		"words: must be the lengths of the shortest":  func(f []Feature) { f[1].Words = []int{2} },
		"words: must be the lengths":                  func(f []Feature) { f[1].Words = []int{2, 1} },
		"each 1 to 4":                                 func(f []Feature) { f[1].Words = []int{1, 5} },
		"each 1 to 8":                                 func(f []Feature) { f[1].Letters = []int{0, 3} },
		"letters: must be the lengths":                func(f []Feature) { f[1].Letters = []int{} },
	} {
		task := Linear()
		task.Features = []Feature{{Name: "a", Kind: "number", Max: 2}, {Name: "b", Kind: "text"}, {Name: "c", Kind: "text", Buckets: 2, Words: []int{1, 4}, Letters: []int{8, 8}, Seed: 3}}
		change(task.Features)
		err := task.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Numbers cannot say a text.
func TestTextInAVector(t *testing.T) {
	task := plainTask("squared", 2)
	task.Features = append(task.Features, Feature{Name: "note", Kind: "text", Buckets: 8})
	raw := make([]float64, task.VectorLength())
	_, err := task.EncodeVector(raw)
	_, err2 := task.EncodeExample(raw, 0)
	for _, err := range []error{err, err2} {
		if err == nil || !strings.Contains(err.Error(), `column "note" is a text`) {
			t.Errorf("%v", err)
		}
	}
}

// Whatever a text is, its coordinates are finite, of norm 1 or 0, and the same again.
func FuzzText(f *testing.F) {
	f.Add("The cat, the CAT", uint32(0), 16, 1, 2, 3, 4)
	f.Add("很高兴 \xff\u0301\u0301 İ🙂", uint32(9), 2, 4, 4, 8, 8)
	f.Add(strings.Repeat("\u0301", 100), uint32(1), 5, 0, 0, 1, 1)
	f.Fuzz(func(t *testing.T, text string, seed uint32, buckets, w0, w1, l0, l1 int) {
		task := Linear()
		feature := Feature{Name: "b", Kind: "text", Buckets: buckets, Seed: seed}
		if w0 > 0 {
			feature.Words = []int{w0, w1}
		}
		if l0 > 0 {
			feature.Letters = []int{l0, l1}
		}
		task.Features = []Feature{feature}
		if task.Validate() != nil {
			return
		}
		x, note := coordinatesOf(t, feature, text)
		norm := floats.Norm(x, 2)
		if norm != 0 && math.Abs(norm-1) > 1e-14 || (norm == 0) == (note == Taken) {
			t.Errorf("%q: %v, %v", text, note, x)
		}
		if again, _ := coordinatesOf(t, feature, text); !slices.Equal(x, again) {
			t.Errorf("%q: %v, and again %v", text, x, again)
		}
	})
}

func BenchmarkEncodeText(b *testing.B) {
	task := plainTask("squared", 0)
	task.Features = []Feature{{Name: "note", Kind: "text"}}
	cell := row("note", "the heating is too cold in the morning and nobody answers the telephone")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := task.EncodeFeatures(cell); err != nil {
			b.Fatal(err)
		}
	}
}
