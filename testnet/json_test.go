package testnet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decodeOne reads the one JSON object that the text must be.
func decodeOne(t *testing.T, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("something follows the object: %v", err)
	}
	return object
}

// schema lists the keys programs rely on and the kind of each value; "null"
// after a kind allows null.
type schema map[string]string

func (s schema) check(t *testing.T, object map[string]any) {
	t.Helper()
	for key, kind := range s {
		value, there := object[key]
		if !there {
			t.Errorf("no key %q among %v", key, slices.Sorted(maps.Keys(object)))
			continue
		}
		if got := kindOf(value); got != kind && kind != got+" or null" && !(got == "null" && strings.HasSuffix(kind, " or null")) {
			t.Errorf("key %q is a %s, want %s", key, got, kind)
		}
	}
	for key := range object {
		if s[key] == "" {
			t.Errorf("unexpected key %q", key)
		}
	}
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case float64:
		return "number"
	case string:
		return "string"
	case bool:
		return "bool"
	case []any:
		return "array"
	}
	return "object"
}

var resultSchema = schema{
	"nodes": "number", "seconds": "number", "seed": "number", "delivery": "number", "rows": "array",
	"seeds": "number", "data": "string", "task": "string", "measure": "string", "driver": "string",
	"base": "number or null", "base_log_loss": "number or null", "verdict": "string", "change": "object or null", "judged": "string", "verdicts": "array",
	"complete": "bool", "private_reduction": "object", "load": "object", "phones": "number", "processes": "object or null", "newcomers": "object or null",
	"cells": "array or null",
}

var rowSchema = schema{
	"method": "string", "error": "number", "better": "number", "worse": "number", "gain_p10": "number",
	"log_loss": "number or null", "auc": "number or null",
	"epsilon": "number or null", "delta": "number or null", "messages": "number", "bytes": "number", "seconds": "number",
}

func TestJSONSchema(t *testing.T) {
	r := madeUp()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	object := decodeOne(t, b.Bytes())
	resultSchema.check(t, object)
	if object["nodes"] != 10.0 || object["seconds"] != 42.5 || object["seed"] != 7.0 || object["seeds"] != 2.0 {
		t.Errorf("head of the object: %v", object)
	}
	want := []struct {
		method         string
		epsilon, delta any
		messages       float64
	}{{"alone", 0.0, 0.0, 0}, {"broadcast", 1.0, 1e-6, 118}, {"private", 1.0, 1e-6, 1}, {"together", nil, nil, 0}}
	rows := object["rows"].([]any)
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, w := range want {
		row := rows[i].(map[string]any)
		rowSchema.check(t, row)
		if row["method"] != w.method || row["epsilon"] != w.epsilon || row["delta"] != w.delta || row["messages"] != w.messages {
			t.Errorf("row %v, want %+v", row, w)
		}
	}
	private := rows[2].(map[string]any)
	if private["better"] != 0.8 || private["worse"] != 0.0 {
		t.Errorf("8 of 10 people gain and nobody loses, but the row says %v", private)
	}
	verdicts := object["verdicts"].([]any)
	if len(verdicts) != 2 || object["judged"] != "private" {
		t.Fatalf("%v is judged, verdicts %v", object["judged"], verdicts)
	}
	for i, m := range []Method{Private, Broadcast} {
		if v := verdicts[i].(map[string]any); v["method"] != string(m) || v["verdict"] != r.verdictOn(m).String() {
			t.Errorf("verdict %v, not that on %s", v, m)
		}
	}
}

// However little was measured, the JSON is valid: no NaN, no null rows.
func TestJSONOfInterruptedRun(t *testing.T) {
	r := &Result{}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	object := decodeOne(t, b.Bytes())
	if rows, ok := object["rows"].([]any); !ok || len(rows) != 0 || object["private_reduction"] != nil {
		t.Errorf("result of nothing: %s", b.Bytes())
	}
}

// A sum that was interrupted before it was opened leaves models as they were alone. That is no
// sign that it is not worth it.
func TestNoVerdictOnAnInterruptedRun(t *testing.T) {
	r := madeUp()
	r.Complete = false
	for i := range r.Rounds {
		copy(r.Rounds[i].trial(Private).Errors, r.Rounds[i].trial(Alone).Errors)
	}
	text := table(t, r)
	if !strings.HasPrefix(text, "no verdict: the run was interrupted\n") || strings.Contains(text, "worth it") || strings.Contains(text, "zero is") {
		t.Errorf("the table judges all the same:\n%s", text)
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if object := decodeOne(t, b.Bytes()); object["verdict"] != "no verdict: the run was interrupted" || object["change"] != nil || object["private_reduction"] != nil {
		t.Errorf("JSON of an interrupted run: %s", b.Bytes())
	}
	r.Asked = 10 // nodes elsewhere
	if text := table(t, r); !strings.HasPrefix(text, "private sum: not worth it") {
		t.Errorf("nodes that go on elsewhere are not judged:\n%s", text)
	}
}

// The raw numbers say again what the table says.
func TestRawNumbersAddUp(t *testing.T) {
	r := madeUp()
	var b bytes.Buffer
	if err := r.writeRaw(&b); err != nil {
		t.Fatal(err)
	}
	object := decodeOne(t, b.Bytes())
	var sum float64
	people := object["people"].([]any)
	for _, p := range people {
		person := p.(map[string]any)
		schema{"person": "number", "seed": "number", "train": "number", "test": "number", "base": "number", "errors": "object", "spent": "object"}.check(t, person)
		sum += person["errors"].(map[string]any)["private"].(float64)
		if spent := person["spent"].(map[string]any); len(spent) != 2 || spent["private"] != 1.0 || spent["broadcast"] != 1.0 {
			t.Errorf("person %v has spent %v of her budget, want 1", person["person"], person["spent"])
		}
	}
	if mean, want := sum/float64(len(people)), r.rows()[2].Error; len(people) != 20 || math.Abs(mean-want) > 1e-12 {
		t.Errorf("%d raw results with mean %v, the table says %v", len(people), mean, want)
	}
	for _, v := range object["trials"].([]any) {
		trial := v.(map[string]any)
		schema{"method": "string", "seed": "number", "seconds": "number", "expected": "number", "delivered": "number", "unfinished": "number", "curve": "array", "load": "object or null"}.check(t, trial)
	}
}

func TestWriteFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // the second replaces the first
		if err := madeUp().WriteFiles(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{PageFile, RawFile, CurveFile, GainFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := madeUp().WriteFiles(filepath.Join(dir, RawFile)); err == nil {
		t.Error("wrote into a file")
	}
}

// failsAfter is a writer on a disk that fills up.
type failsAfter struct{ left int }

func (w *failsAfter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, fmt.Errorf("disk full")
	}
	w.left -= len(p)
	return len(p), nil
}

func TestWriteErrorsAreReported(t *testing.T) {
	r := madeUp()
	for name, write := range map[string]func(io.Writer) error{
		"table": r.WriteTable, "json": r.WriteJSON, "raw": r.writeRaw, "curve": r.writeCurve, "gain": r.writeGain,
	} {
		if err := write(&failsAfter{left: 10}); err == nil {
			t.Errorf("%s: a failed write was not reported", name)
		}
	}
}
