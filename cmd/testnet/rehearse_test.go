package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

func TestRehearseUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"rehearse", "name the task with --task and the file with --data"},
		{"rehearse --task movies", "the file with --data"},
		{"rehearse --task missing.toml --data people.csv", "missing.toml"},
		{"rehearse --task movies --data people.csv --nodes 1", "--nodes 1: must be a number from 2 up"},
		{"rehearse --task movies --data people.csv --records 0", "--records 0"},
		{"rehearse --task movies --data people.csv --records 4 --json", "--records 4: must be a number from 5 up"},
		{"rehearse --task movies --data people.csv --catalogue movies.csv", "--catalogue: the task makes no private sum"},
		{"rehearse surplus", "unknown argument"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "--help") {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}

// Daemons of five people do what the task says, and the answer is one JSON object with
// the verdict and what became of the cells.
func TestRehearse(t *testing.T) {
	text := "station,genres,year,rating\n"
	for i := range 60 {
		text += fmt.Sprintf("p%d,Comedy,%d,%d\n", i%6, 1950+i, i%5+1)
	}
	file := filepath.Join(t.TempDir(), "people.csv")
	require.NoError(t, os.WriteFile(file, []byte(text+"p1,Slapstick,1999,3\np1,Drama,1999,many\n"), 0o600))
	movies := learner.Movies()
	movies.Release.Releases = 2
	form, err := datadir.FormatTask(movies)
	require.NoError(t, err)
	task := filepath.Join(t.TempDir(), "task.toml")
	require.NoError(t, os.WriteFile(task, form, 0o600))
	code, stdout, stderr := testnetRun(t, t.Context(), "rehearse", "--task", task, "--data", file, "--node-column", "station", "--nodes", "5", "--skip-bad", "--p2pnode", daemon(t), "--json")
	var out struct {
		Nodes   int
		Verdict string
		Driver  string
		Changed []string
		Rows    []struct{ Method string }
		Sum     struct{ Verdict string }
		Cells   []struct {
			Column  string
			Unknown int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	if out.Nodes != 5 || !strings.Contains(out.Driver, "daemon") || out.Verdict == "" || len(out.Changed) == 0 || len(out.Cells) != 1 || out.Cells[0].Unknown != 1 {
		t.Errorf("%+v", out)
	}
	if len(out.Rows) != 5 || !strings.Contains(out.Sum.Verdict, " of 5 nodes better") || !strings.Contains(strings.Join(out.Changed, " "), "bytes are those of the contributions, once") {
		t.Errorf("no private sum beside the broadcasts: %+v", out)
	}
	if !strings.Contains(stderr, "Left out: ") || !strings.Contains(stderr, "has 1 bad line:") {
		t.Errorf("the bad line is not told: %s", stderr)
	}
	if code, _, stderr = testnetRun(t, t.Context(), "rehearse", "--task", "movies", "--data", file, "--node-column", "house"); code != exitFailed || !strings.Contains(stderr, `no column "house"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
