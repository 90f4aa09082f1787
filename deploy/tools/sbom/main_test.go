package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// built returns the path of a binary: this test's own.
func built(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The bill names the program with its version, its digest and its date, Go's library, and
// nothing that the binary does not hold.
func TestBillOfABinary(t *testing.T) {
	var out bytes.Buffer
	if err := run(built(t), "v1.2.3", "86400", &out); err != nil {
		t.Fatal(err)
	}
	var b bom
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(built(t))
	if err != nil {
		t.Fatal(err)
	}
	program := b.Metadata.Component
	if program.Version != "v1.2.3" || program.Name != filepath.Base(built(t)) || len(program.Hashes[0].Content) != 64 {
		t.Errorf("the program is %+v", program)
	}
	if b.Metadata.Timestamp != "1970-01-02T00:00:00Z" {
		t.Errorf("it is of %s", b.Metadata.Timestamp)
	}
	if len(b.Components) != 1+len(info.Deps) || b.Components[0].URL != "pkg:golang/std@"+strings.TrimPrefix(info.GoVersion, "go") {
		t.Errorf("it is made of %+v", b.Components)
	}
}

func TestWhatIsNoBinary(t *testing.T) {
	if err := run("main.go", "", "", &bytes.Buffer{}); err == nil {
		t.Error("a text has a bill")
	}
	if err := run(built(t), "", "yesterday", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("a date that is no number: %v", err)
	}
}
