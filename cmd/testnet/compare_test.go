package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"p2pnode/testnet/compare"
)

func TestCompareTable(t *testing.T) {
	code, stdout, stderr := testnetRun(t, t.Context(), "compare", "polar", "--seeds", "1")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"setting", "published", "Delta 50", "obfuscation is no differential privacy", "slowdown"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

func TestCompareJSON(t *testing.T) {
	var table bytes.Buffer
	want := compare.Row{Setting: "s", Epsilon: 1, Delta: 1e-5, Valid: "yes", Measure: "m", Mean: 2, Spread: 3, Seeds: 4, Published: "p"}
	if err := writeRowsJSON(&table, []compare.Row{want}); err != nil {
		t.Fatal(err)
	}
	var out struct{ Rows []compare.Row }
	if err := json.Unmarshal(table.Bytes(), &out); err != nil || len(out.Rows) != 1 || out.Rows[0] != want {
		t.Errorf("%v: %s", err, table.String())
	}
}

func TestCompareUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"compare", "diffusion, km or polar"},
		{"compare personal", "diffusion, km or polar"},
		{"compare km polar", "diffusion, km or polar"},
		{"compare km --seeds 0", "--seeds 0"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

func TestCompareInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := testnetRun(t, ctx, "compare", "polar")
	if code != exitInterrupted || !strings.Contains(stdout, "setting") {
		t.Errorf("exit %d, output %q, errors %q; want %d and an empty table", code, stdout, stderr, exitInterrupted)
	}
}
