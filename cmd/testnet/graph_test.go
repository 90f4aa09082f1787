package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
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

// Where results can go is found out before anything is measured; if files cannot be written
// after all, what was measured is printed.
func TestNoRoomForFiles(t *testing.T) {
	for _, c := range []struct{ command, file string }{
		{"graph --nodes 40 --seeds 1", "graph.html"},
		{"peers --nodes 40", "peers.svg"},
	} {
		out := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(out, c.file, "in the way"), 0o700))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		code, stdout, stderr := testnetRun(t, ctx, append(strings.Fields(c.command), "--out", out)...)
		if code != exitFailed || !strings.Contains(stdout, "INTERRUPTED") || !strings.Contains(stderr, c.file) {
			t.Errorf("%s: exit %d, output %q, errors %q", c.command, code, stdout, stderr)
		}
		file := filepath.Join(out, "file")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		code, stdout, stderr = testnetRun(t, t.Context(), append(strings.Fields(c.command), "--out", file)...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, "--out "+file) {
			t.Errorf("%s: exit %d, output %q, errors %q", c.command, code, stdout, stderr)
		}
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
