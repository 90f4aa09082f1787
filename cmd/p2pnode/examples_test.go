package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// Every command has examples, and they work as they are printed, in a place
// with the files they name.
func TestExamples(t *testing.T) {
	t.Parallel()
	from := nodes{empty: shortTemp(t), filled: shortTemp(t), summed: summed(t)}
	cli(t, nil, "init", "--dir", from.empty, "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
	copyNode(t, from.empty, from.filled)
	cli(t, nil, "data", "import", filepath.Join("testdata", "files", "ratings.csv"), "--dir", from.filled)
	for _, c := range runnable(newCommand(&options{})) {
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			t.Run(strings.TrimSpace(line), func(t *testing.T) {
				t.Parallel()
				runExample(t, c, strings.TrimSpace(line), from)
			})
		}
	}
}

// nodes are the data directories that examples start from, each with a copy of one: without
// records, with records, and with the result of a private sum. A copy is a tenth of the work
// of the commands that make a directory.
type nodes struct{ empty, filled, summed string }

// setPrivate makes what the commands about private networks need.
func setPrivate(t *testing.T, c *cobra.Command, home, node string) {
	switch group := c.Parent().Name(); {
	case c.Name() == "invite":
		cli(t, nil, "network-key", "create", "--dir", node)
		cli(t, nil, "members", "init", "garden", "--dir", node, "--key", filepath.Join(home, "garden.key"))
	case group == "network-key" && c.Name() == "show":
		cli(t, nil, "network-key", "create", "--dir", node)
	case group == "members" && c.Name() != "init" && c.Name() != "join":
		key := filepath.Join(home, "garden.key")
		cli(t, nil, "members", "init", "garden", "--dir", node, "--key", key)
		cli(t, nil, "members", "add", "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", "--name", "shed", "--key", key, "--dir", node)
		cli(t, nil, "members", "export", filepath.Join(home, "garden.toml"), "--dir", node)
	}
}

// setInvited runs a daemon that invites, and returns the line with its ticket, for a node that
// ends when it has met that daemon. asked: the line asks whether to join.
func setInvited(t *testing.T, home, line string) (invited string, asked bool) {
	dir := initNode(t)
	if strings.Contains(line, "--network-key") {
		cli(t, nil, "network-key", "import", filepath.Join(home, "swarm.key"), "--dir", dir)
	}
	start(t, dir)
	var made invitation
	cli(t, &made, "invite", "--dir", dir)
	if err := os.WriteFile(filepath.Join(home, "ticket.txt"), []byte(made.Ticket+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(line, "--once") {
		line = strings.Replace(line, "join ", "join --once ", 1)
	}
	line = strings.Replace(line, "join ", "join --no-mdns --listen /ip4/127.0.0.1/tcp/0 ", 1)
	return strings.Replace(line, "p2p1qyqxq...", made.Ticket, 1), !strings.Contains(line, "--yes")
}

// runnable lists the commands that do something of ours.
func runnable(c *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, child := range c.Commands() {
		switch {
		case child.Name() == "completion":
		case child.HasSubCommands():
			out = append(out, runnable(child)...)
		default:
			out = append(out, child)
		}
	}
	return out
}

// runExample runs one line in a shell, with a data directory where it expects
// one.
func runExample(t *testing.T, c *cobra.Command, line string, from nodes) {
	home := shortTemp(t)
	node := filepath.Join(home, ".p2pnode")
	if other := "/var/lib/p2pnode"; strings.Contains(line, other) {
		node = filepath.Join(home, "lib")
		line = strings.ReplaceAll(line, other, node)
	}
	if err := os.CopyFS(home, os.DirFS(filepath.Join("testdata", "files"))); err != nil {
		t.Fatal(err)
	}
	task, err := os.ReadFile(filepath.Join(from.empty, "task.toml"))
	require.NoError(t, err, os.WriteFile(filepath.Join(home, "mytask.toml"), task, 0o600))
	var asked bool
	switch c.CommandPath() {
	case "p2pnode init":
	case "p2pnode join":
		line, asked = setInvited(t, home, line)
	case "p2pnode data import":
		copyNode(t, from.empty, node)
	default:
		copyNode(t, from.filled, node)
	}
	setPrivate(t, c, home, node)
	if c.Parent().Name() == "sums" || c.CommandPath() == "p2pnode committee status" {
		setSummed(t, from.summed, home, node)
	}
	if c.Name() == "invite" { // it may be asked where no daemon runs
		cli(t, nil, "peer", "add", "/ip4/192.0.2.7/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", "--dir", node)
	}
	if c.Name() == "restore" {
		cli(t, nil, "backup", filepath.Join(home, "p2pnode-backup.db"), "--dir", node)
	}
	if c.Parent().Name() == "logs" {
		start(t, node)
	}
	if c.CommandPath() == "p2pnode token revoke" {
		var made api.IssuedToken
		cli(t, &made, "token", "new", "kitchen", "--dir", node)
		line = strings.ReplaceAll(line, "1f2e3d4c", made.ID)
	}
	if c.Name() == "relay" { // on no port of this machine's that others use
		line += " --listen /ip4/127.0.0.1/tcp/0"
	}
	if c.CommandPath() == "p2pnode peer remove" {
		cli(t, nil, "peer", "add", "/ip4/192.0.2.7/tcp/4001/p2p/"+line[strings.LastIndex(line, " ")+1:], "--dir", node)
	}

	shell := exec.Command("sh", "-c", "exec "+line)
	shell.Dir = home
	shell.Env = append(os.Environ(), "HOME="+home)
	var stderr bytes.Buffer
	shell.Stderr = &stderr
	if asked {
		shell.Stdin = strings.NewReader("yes\n")
	}
	stdout, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	_, err = out.Peek(1)
	if slices.Contains([]string{"run", "relay", "watch", "dashboard"}, c.Name()) { // it is ready now
		err = errors.Join(err, shell.Process.Signal(os.Interrupt))
	}
	all, readErr := io.ReadAll(out)
	ended := shell.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](ended); ok && (c.Name() == "doctor" || c.CommandPath() == "p2pnode committee status") && exit.ExitCode() == int(exitUnknown) {
		ended = nil // without a daemon they cannot tell
	}
	if err := errors.Join(err, readErr, ended); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if strings.Contains(line, "--json") && !json.Valid(all) {
		t.Errorf("printed %q, want one JSON value", all)
	}
}
