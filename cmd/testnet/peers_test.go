package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPeersTable(t *testing.T) {
	out := t.TempDir()
	code, stdout, stderr := testnetRun(t, t.Context(), "peers", "--edges", "--nodes", "40,80", "--out", out)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"nodes", "after 20.0% left", "\n     40   0.0%", "\n     80  10.0%", "in one group", "until 2m40s", "Plot: " + filepath.Join(out, "peers.svg")} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if svg, err := os.ReadFile(filepath.Join(out, "peers.svg")); err != nil || !strings.Contains(string(svg), "cycles until") {
		t.Errorf("the plot: %v", err)
	}
}

func TestPeersJSON(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	code, stdout, _ := testnetRun(t, ctx, "peers", "--json", "--nodes", "40", "--loss", "0", "--out", t.TempDir())
	var out struct {
		Complete bool
		Rows     []struct {
			Nodes int
			Start struct{ Cycles int }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 || !out.Complete || len(out.Rows) != 1 || out.Rows[0].Start.Cycles < 1 {
		t.Errorf("exit %d, %v: %s", code, err, stdout)
	}
	cancel()
	code, stdout, _ = testnetRun(t, ctx, "peers", "--nodes", "40", "--out", t.TempDir())
	if code != exitInterrupted || !strings.Contains(stdout, "INTERRUPTED") {
		t.Errorf("interrupted: exit %d: %s", code, stdout)
	}
}

func TestPeersUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"peers surplus", "unknown argument"},
		{"peers --nodes 1", "choose from 2 to 1000000"},
		{"peers --nodes many", "--nodes"},
		{"peers --degree 0", "degree 0"},
		{"peers --dimension 1", "1 dimensions"},
		{"peers --loss 1", "loss 1"},
		{"peers --churn -1", "churn -1"},
		{"peers --spread 0", "spread 0"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}
