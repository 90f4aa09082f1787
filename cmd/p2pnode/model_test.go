package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// From an import to the readers in docs/readers: the exported file and `predict --file`
// say the same of rows of a file.
func TestExportedModel(t *testing.T) {
	t.Parallel()
	dir := initNode(t)
	file, rows := filepath.Join(dir, "model.json"), filepath.Join("testdata", "files", "ratings.csv")
	cli(t, nil, "model", "export", "--private", "--dir", dir, "--out", file)
	out, err := exec.Command("p2pnode", "predict", "--dir", dir, "--file", rows).Output()
	if err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(table) < 2 {
		t.Fatalf("%d lines, %v", len(table), err)
	}
	var in bytes.Buffer
	var want []float64
	for _, line := range table[1:] {
		row := make(map[string]string)
		for i, name := range table[0] {
			row[name] = line[i]
		}
		v, err := strconv.ParseFloat(row["prediction"], 64)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, v)
		if err := json.NewEncoder(&in).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	for program, reader := range map[string]string{"python3": "predict.py", "node": "predict.js"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing, so %s was not tried", program, reader)
		}
		command := exec.Command(program, filepath.Join("..", "..", "docs", "readers", reader), file)
		command.Stdin, command.Stderr = bytes.NewReader(in.Bytes()), os.Stderr
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(got) != len(want) {
			t.Fatalf("%s: %d predictions, want %d", program, len(got), len(want))
		}
		for i, line := range got {
			var p struct{ Value float64 }
			if err := json.Unmarshal([]byte(line), &p); err != nil || math.Abs(p.Value-want[i]) > 1e-9*math.Abs(want[i]) {
				t.Errorf("%s: line %d: %s, %v; want %v", program, i+2, line, err, want[i])
			}
		}
	}
}
