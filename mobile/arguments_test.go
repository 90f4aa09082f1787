package mobile

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Apps send errors to their makers, so they have nothing of what the user did.
func TestErrorsHaveNoValues(t *testing.T) {
	n := open(t, linearConfig(t), nil)
	const secret = "31337.25"
	vector := make([]float64, 20)
	bad := slices.Concat(vector, []float64{31337.25})
	csv := filepath.Join(t.TempDir(), "a.csv")
	header, row := "y", secret
	for i := range 20 {
		header, row = header+",x"+jsonNumber(i+1), row+",1"
	}
	check(t, os.WriteFile(csv, []byte(header+"\n"+row+"\n"), 0o600))
	_, predicted := n.PredictJSON(rowJSON(`"` + secret + `x"`))
	_, imported := n.ImportCSV(csv, false, false)
	for call, err := range map[string]error{
		"AddExample":     n.AddExample(encodeVector(vector), 31337.25),
		"AddExamples":    n.AddExamples(encodeVector(bad)),
		"AddExampleJSON": n.AddExampleJSON(strings.Replace(rowJSON("1"), "}", `,"y":`+secret+"}", 1)),
		"a broken row":   n.AddExampleJSON(`{"x1": ` + secret + "secret}"),
		"a list":         n.AddExampleJSON(`{"x1": [` + secret + "]}"),
		"PredictJSON":    predicted,
		"ImportCSV":      imported,
	} {
		if errorCode(err) != CodeInput || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "31337") {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// Every wrong argument is an error that says what is wrong, and changes nothing.
func TestWrongArguments(t *testing.T) {
	n := open(t, linearConfig(t), nil)
	infinite := make([]float64, 20)
	infinite[3] = math.Inf(1)
	good := encodeVector(make([]float64, 20))
	predict := func(b []byte) error { _, err := n.Predict(b); return err }
	predictJSON := func(row string) error { _, err := n.PredictJSON(row); return err }
	_, noFile := n.ImportCSV("/nowhere/a.csv", false, false)
	_, noRegularFile := n.ImportCSV(t.TempDir(), false, false)
	_, page0 := n.ExamplesJSON(1, 0)
	_, pageNegative := n.ExamplesJSON(-1, 10)
	_, pageFrom0 := n.ExamplesJSON(0, 10)
	_, pageLong := n.ExamplesJSON(1, longestPage+1)
	for says, err := range map[string]error{
		"0 numbers, want 20":          predict(nil),
		"7 bytes are no vector":       predict(make([]byte, 7)),
		`column "x4": a value is not`: predict(encodeVector(infinite)),
		"19 numbers, want 20":         n.AddExample(good[8:], 1),
		`column "y": a value is nei`:  n.AddExample(good, 2),
		`column "y": a value is not`:  n.AddExample(good, math.NaN()),
		"each takes 168":              n.AddExamples(good),
		`row 2: column "x4"`:          n.AddExamples(append(append(append(good, encodeVector([]float64{1})...), encodeVector(infinite)...), encodeVector([]float64{1})...)),
		"not a JSON object":           predictJSON("[1]"),
		"something follows":           predictJSON(rowJSON("1") + "{}"),
		`column "z" is none`:          predictJSON(`{"z":1}`),
		`column "x1" is missing`:      predictJSON(`{}`),
		`column "x1": neither text`:   predictJSON(`{"x1":[1]}`),
		"is not a finite number":      predictJSON(rowJSON(`"big"`)),
		`column "y" is missing`:       n.AddExampleJSON(rowJSON("1")),
		"no such file":                noFile,
		"a page has 1 to":             page0,
		"10 examples from number -1":  pageNegative,
		"10 examples from number 0":   pageFrom0,
		"1001 examples":               pageLong,
		"1001 bytes":                  n.Pause(strings.Repeat("x", 1001)),
		"not a JSON list":             n.DeleteExamples(`{"a":1}`),
		"no such record":              n.DeleteExamples(`[17]`),
		"number 3 is twice":           n.DeleteExamples(`[3,2,3]`),
		"is a directory; give":        noRegularFile,
		"null is no value":            n.DeleteExamples(`null`),
		`"x1" is there twice`:         n.AddExampleJSON(`{"x1":1,"x1":2,"y":1}`),
	} {
		if errorCode(err) != CodeInput || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want input: ... %s", err, says)
		}
	}
	if stored, queued := n.queue.lengths(); stored+queued != 0 {
		t.Errorf("%d stored, %d queued, want none", stored, queued)
	}
}
