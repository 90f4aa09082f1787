package main

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

func TestIdle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says what a process uses")
	}
	few := []string{"idle", "--settle", "100ms", "--minutes", "0.02", "--p2pnode", daemon(t)}
	code, stdout, stderr := testnetRun(t, t.Context(), append(few, "--nodes", "3")...)
	for _, want := range []string{"3 daemons, power normal, each with 2 neighbours", "processor", "MB/hour", "PSS"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit %d (%s): no %q in\n%s", code, stderr, want, stdout)
		}
	}
	code, stdout, stderr = testnetRun(t, t.Context(), append(few, "--nodes", "2", "--power", "low", "--json")...)
	var out struct {
		Power string
		CPU   float64 `json:"cpu_seconds_per_hour"`
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != 0 || out.Power != "low" || out.CPU <= 0 {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
}

func TestIdleUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"idle surplus", "unknown argument"},
		{"idle --nodes 1", "nodes 1: choose from 2"},
		{"idle --minutes 0", "quiet 0s"},
		{"idle --settle -1s", "settle -1s"},
		{"idle --power high", "choose normal or low"},
		{"idle --p2pnode /nowhere/p2pnode", "--p2pnode: "},
	} {
		code, stdout, stderr := testnetRun(t, t.Context(), strings.Fields(c.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("testnet %s: exit %d, output %q, errors %q; want 2 and %q", c.args, code, stdout, stderr, c.want)
		}
	}
}
