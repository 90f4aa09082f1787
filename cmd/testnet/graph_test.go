package main

import (
	"context"
	"strings"
	"testing"
)

func TestGraphUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"graph 7", "unknown argument"},
		{"graph --nodes 10", "choose 40"},
		{"graph --seeds 0", "seed"},
		{"graph --epsilon 100", "--epsilon 10"},
		{"graph --epsilon 0", "epsilon"},
		{"--task clusters --nodes all", "say how many people"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

func TestGraphInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := testnetRun(t, ctx, "graph", "--nodes", "40", "--seeds", "1", "--out", t.TempDir())
	if code != exitInterrupted || !strings.Contains(stdout, "INTERRUPTED") {
		t.Errorf("exit %d, output %q, errors %q; want %d", code, stdout, stderr, exitInterrupted)
	}
}

func TestClustersByName(t *testing.T) {
	code, stdout, stderr := testnetRun(t, t.Context(), "--sim", "--task", "clusters", "--groups", "2", "--nodes", "12", "--out", t.TempDir())
	if code != 0 || !strings.Contains(stdout, "2 hidden groups") {
		t.Errorf("exit %d, output %q, errors %q", code, stdout, stderr)
	}
	code, _, stderr = testnetRun(t, t.Context(), "--sim", "--task", "clusters", "--groups", "11", "--nodes", "12", "--out", t.TempDir())
	if code != exitUsage || !strings.Contains(stderr, "from 2 to 10") {
		t.Errorf("11 groups: exit %d, errors %q", code, stderr)
	}
}
