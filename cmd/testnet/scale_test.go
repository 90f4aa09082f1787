package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// scaleFills leaves a test out of short runs.
func scaleFills(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: scale measures half a gigabyte of memory, several times that under the race detector")
	}
}

func TestScaleTable(t *testing.T) {
	scaleFills(t)
	code, stdout, stderr := testnetRun(t, t.Context(), "scale", "--nodes", "40,80", "--dimension", "3", "--records", "2", "--neighbours", "3")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"Memory bandwidth:", "wakes/s on 1", "plain loop", "      40  3 ", "      80  3 ", "bound"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

func TestScaleJSON(t *testing.T) {
	scaleFills(t)
	ctx, cancel := context.WithCancel(t.Context())
	code, stdout, _ := testnetRun(t, ctx, "scale", "--json", "--nodes", "40", "--dimension", "3", "--private", "--weather")
	var out struct {
		Complete  bool
		Bandwidth []float64
		Rows      []struct {
			Nodes        int
			OneProcessor struct {
				Wakes float64 `json:"wakes_per_second"`
			} `json:"one_processor"`
		}
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 || !out.Complete || len(out.Rows) != 1 || !(out.Rows[0].OneProcessor.Wakes > 0) {
		t.Errorf("exit %d, %v: %s", code, err, stdout)
	}
	cancel()
	code, stdout, _ = testnetRun(t, ctx, "scale", "--nodes", "40", "--dimension", "3")
	if code != exitInterrupted || !strings.Contains(stdout, "INTERRUPTED") {
		t.Errorf("interrupted: exit %d: %s", code, stdout)
	}
}

// Hours of phone weather: about a wake a minute of everybody, and what is sent to those who
// are away is lost. Interrupted, it says how far it came.
func TestScaleHours(t *testing.T) {
	args := []string{"scale", "--hours", "2", "--weather", "--nodes", "60", "--dimension", "3", "--records", "2", "--neighbours", "4"}
	ctx, cancel := context.WithCancel(t.Context())
	code, stdout, stderr := testnetRun(t, ctx, append(args, "--json")...)
	var out struct {
		Complete bool
		Hours    float64
		Wakes    int
		Lost     int `json:"messages_lost"`
		Sent     int `json:"messages_sent"`
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 || !out.Complete || out.Hours != 2 {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	if out.Wakes < 60*120/2 || out.Wakes > 60*120*11/10 || out.Lost == 0 || out.Lost > out.Sent/2 {
		t.Errorf("%+v", out)
	}
	if code, stdout, _ = testnetRun(t, ctx, args...); code != 0 || !strings.Contains(stdout, "wakes/s") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	cancel()
	if code, stdout, _ = testnetRun(t, ctx, args...); code != exitInterrupted || !strings.Contains(stdout, "INTERRUPTED") {
		t.Errorf("interrupted: exit %d: %s", code, stdout)
	}
	for _, wrong := range [][]string{{"--hours", "0"}, {"--hours", "2", "--nodes", "40,60"}, {"--hours", "2", "--sums"}} {
		if code, _, stderr = testnetRun(t, t.Context(), append([]string{"scale"}, wrong...)...); code != exitUsage || stderr == "" {
			t.Errorf("%v: exit %d: %s", wrong, code, stderr)
		}
	}
}

func TestScaleOfSums(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: private sums of a hundred people with all their keys")
	}
	code, stdout, stderr := testnetRun(t, t.Context(), "scale", "--sums", "--nodes", "50,100", "--dimension", "5")
	if code != 0 || !strings.Contains(stdout, "4 against 1") || !strings.Contains(stdout, "7 against 2") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, _ = testnetRun(t, ctx, "scale", "--sums", "--nodes", "50", "--dimension", "5", "--json")
	if code != exitInterrupted || !strings.Contains(stdout, `"complete": false`) {
		t.Errorf("interrupted: exit %d: %s", code, stdout)
	}
}

func TestScaleUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"scale surplus", "unknown argument"},
		{"scale --nodes 1", "choose from 2 to 10000000"},
		{"scale --dimension 0", "dimension 0"},
		{"scale --records 0", "records 0"},
		{"scale --neighbours many", "--neighbours"},
		{"scale --sums --private", "private sums have none"},
		{"scale --sums --nodes 2000000", "choose from 2 to 1048576"},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
}
