package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// written writes a configuration for three people, and reads it.
func written(t *testing.T, args ...string) (s shadow, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "simulated")
	code, _, stderr := testnetRun(t, t.Context(), append(args, "--shadow", dir, "--nodes", "3")...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "shadow.yaml"))
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(text)) // YAML 1.2 has all of JSON
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&s))
	return s, dir
}

// Each person is a host of her own address; all but the first start from the first.
func TestShadowHosts(t *testing.T) {
	s, _ := written(t)
	addresses := make(map[string]bool)
	for name, h := range s.Hosts {
		addresses[h.Address] = true
		if len(h.Processes) != 3 || h.Processes[2].Final != "running" {
			t.Fatalf("%s runs %+v", name, h.Processes)
		}
		begins := strings.Join(h.Processes[0].Args, " ")
		if first := name == "node1"; first == strings.Contains(begins, "--bootstrap /ip4/11.0.0.1/tcp/4001/p2p/12D3") {
			t.Errorf("%s begins with %s", name, begins)
		}
	}
	if len(s.Hosts) != 3 || len(addresses) != 3 {
		t.Errorf("%d hosts with %d addresses, want 3", len(s.Hosts), len(addresses))
	}
}

// The daemon takes what the hosts run up to the network: a node is made, the records are
// imported, and the others start from the one that is first.
func TestShadowCommands(t *testing.T) {
	program := daemon(t)
	s, dir := written(t, "--p2pnode", program)
	for _, name := range []string{"node1", "node2"} {
		for _, p := range s.Hosts[name].Processes[:2] {
			succeeds(t, p.Path, p.Args...)
		}
	}
	var first struct{ Peer string }
	require.NoError(t, json.Unmarshal(succeeds(t, program, "status", "--json", "--dir", filepath.Join(dir, "node1")), &first))
	config, err := os.ReadFile(filepath.Join(dir, "node2", "config.toml"))
	require.NoError(t, err)
	if first.Peer == "" || !bytes.Contains(config, []byte(first.Peer)) {
		t.Errorf("node2 does not start from %q:\n%s", first.Peer, config)
	}
}

// succeeds runs a program that must succeed, and returns what it prints.
func succeeds(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, &stderr)
	}
	return out
}

func TestShadowWithoutProfiles(t *testing.T) {
	code, _, stderr := testnetRun(t, t.Context(), "--shadow", t.TempDir(), "--task", "linear", "--nodes", "3")
	if code != exitUsage || !strings.Contains(stderr, "choose another task") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A flag that would change nothing of what is written is refused.
func TestShadowRefusesFlags(t *testing.T) {
	for _, flag := range []string{"--epsilon=0.5", "--sim", "--seeds=3", "--processes=5", "--json"} {
		code, _, stderr := testnetRun(t, t.Context(), "--shadow", t.TempDir(), flag)
		if code != exitUsage || !strings.Contains(stderr, "does not go with --shadow") {
			t.Errorf("%s: exit code %d: %s", flag, code, stderr)
		}
	}
}

func TestShadowAddresses(t *testing.T) {
	for i, want := range map[int]string{0: "11.0.0.1", 249: "11.0.0.250", 250: "11.0.1.1", 62_500: "11.1.0.1"} {
		if got := shadowAddress(i); got != want {
			t.Errorf("host %d has address %s, want %s", i, got, want)
		}
	}
}
