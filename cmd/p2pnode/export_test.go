package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node"
	"p2pnode/node/api"
)

// oddTexts are what people, programs and spreadsheets write into cells.
var oddTexts = []string{"Drama", "Drama|Comedy", " Comedy ", "", "NA", "?", "a,b", "a;b", "\"", "\"quoted\"", "x\ny", "\t", "é✓", "#1", "-", "=1+1", `\.`, "1e3", "007", "0.10", "12345678.123456789", "-0", "1e-300"}

// What export writes is, imported, what it was made of: the same cells, keys and numbers.
func TestExportRoundTrip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 81))
	var lines bytes.Buffer
	pick := func() string { return oddTexts[r.IntN(len(oddTexts))] }
	for i := range 3000 {
		row := map[string]any{"key": fmt.Sprint(pick(), i), "genres": pick(), "movieId": pick(), "year": 1900 + 200*r.Float64(), "rating": r.Float64() * 7}
		if r.IntN(5) == 0 {
			row["year"] = []any{nil, "", "n/a", 1990, "1990.50"}[r.IntN(5)]
		}
		require.NoError(t, json.NewEncoder(&lines).Encode(row))
	}
	first, written := exportOf(t, lines.String())
	again, twice := exportOf(t, written)
	if len(first) != 3000 || written != twice || !reflect.DeepEqual(first, again) {
		t.Errorf("%d and %d records; the files are the same: %v", len(first), len(again), written == twice)
	}
}

// exportOf imports a file into a new directory and returns what is stored, and as export
// writes it.
func exportOf(t *testing.T, file string) (list []api.RecordInfo, written string) {
	t.Helper()
	n, err := node.Open(emptyNode(t), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer n.Close()
	report, err := n.Import(t.Context(), strings.NewReader(file), api.ImportOptions{ID: "key"})
	require.NoError(t, err)
	for r, err := range n.Records(t.Context(), true) {
		require.NoError(t, err)
		list = append(list, r)
	}
	var out bytes.Buffer
	e, err := writeRecords(&out, n.Records(t.Context(), true), n.Task().Columns(), "key")
	if err != nil || e != (exportReport{Records: report.Records}) {
		t.Fatalf("%+v of %d records, %v", e, report.Records, err)
	}
	return list, out.String()
}
