package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/server"
)

var discard = slog.New(slog.DiscardHandler)

// directory makes a data directory whose path is short enough for a socket.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p2pnode")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	task, err := datadir.ParseTask([]byte("name = \"line\"\nfeatures = [{name = \"a\", kind = \"number\", min = -1.0, max = 1.0}]\ntarget = {name = \"y\", min = -3.0, max = 3.0}\n"))
	require.NoError(t, err)
	require.NoError(t, datadir.Init(dir, task, datadir.DefaultConfig(task)))
	return dir
}

// daemon serves a directory at its socket until the test ends.
func daemon(t *testing.T, dir string) {
	t.Helper()
	n, err := node.Open(dir, discard)
	require.NoError(t, err)
	socket, err := server.Listen(SocketPath(dir))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	c, err := Config(n, dir, discard)
	require.NoError(t, err)
	go func() { served <- server.New(c).Serve(ctx, socket, server.Socket{}) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served, n.Close())
	})
}

// minute is how an owner is told when something was.
var minute = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`)

// transcript is what an owner is told, through a connection, whatever the time is.
func transcript(t *testing.T, c *Connection) string {
	t.Helper()
	var said bytes.Buffer
	say := func(v any, err error) {
		text, e := json.Marshal(v)
		require.NoError(t, e)
		said.Write(append(text, '\n'))
		if err != nil {
			said.WriteString(err.Error() + "\n")
		}
	}
	ctx := t.Context()
	say(c.Import(ctx, strings.NewReader("a,y\n0.5,1\n0.1,2\n-0.5,0\n"), api.ImportOptions{}))
	say(c.Import(ctx, strings.NewReader("a,y\n0.5,1\n0.1,2\n-0.5,0\n"), api.ImportOptions{}))
	say(c.Import(ctx, strings.NewReader("a,y\nx,1\n"), api.ImportOptions{}))
	say(c.Put(ctx, api.Lines{From: 1, Lines: []string{`{"a": "0.2", "y": "1"}`, `{"a": "x", "y": "1"}`}}))
	say(nil, c.Delete(ctx, []uint64{2}))
	say(nil, c.Delete(ctx, []uint64{2}))
	for r, err := range c.Records(ctx, true) {
		say(r, err)
	}
	say(c.Predict(ctx, map[string]string{"a": "0"}))
	say(c.Predict(ctx, map[string]string{"b": "0"}))
	say(c.Budget(ctx))
	say(c.Verify(ctx))
	say(c.Ledger(ctx))
	say(c.Peers(ctx))
	say(c.Neighbours(ctx))
	say(c.Benefit(ctx))
	say(c.LogLevels(ctx))
	say(c.Acquaintances(ctx))
	say(nil, c.RemovePeer(ctx, "/ip4/127.0.0.1/tcp/1/p2p/12D3KooWKRyzVWW6ChFjQjK4miCty85Niy48tpPV95XdKu1BcvMA"))
	say(c.Members(ctx))
	say(c.Sums(ctx))
	say(c.Leave(ctx))
	return minute.ReplaceAllString(said.String(), "then")
}

// A command is told the same with and without a daemon.
func TestTheSameWithAndWithoutDaemon(t *testing.T) {
	var said []string
	for _, running := range []bool{true, false} {
		dir := directory(t)
		if running {
			daemon(t, dir)
		}
		c, err := Connect(t.Context(), dir, discard)
		require.NoError(t, err)
		said = append(said, transcript(t, c))
		require.NoError(t, c.Close())
	}
	if said[0] != said[1] || strings.Count(said[0], "\n") < 20 {
		t.Errorf("with a daemon:\n%s\nwithout:\n%s", said[0], said[1])
	}
}

// Errors keep what callers branch on and what owners are told to do.
func TestErrorsCrossTheInterface(t *testing.T) {
	c, err := Connect(t.Context(), directory(t), discard)
	require.NoError(t, err)
	defer c.Close()
	report, err := c.Import(t.Context(), strings.NewReader("a,y\nx,1\n"), api.ImportOptions{})
	if !errors.Is(err, api.ErrBadLines) || report.Bad != 1 || err.Error() != api.Plain(api.ErrBadLines.Error()) {
		t.Errorf("bad lines: %+v, %v", report, err)
	}
	if advised, ok := errors.AsType[*api.Advised](err); !ok || !strings.Contains(advised.Advice, "skip_bad=true") {
		t.Errorf("the advice is lost: %v", err)
	}
	if _, err := c.Members(t.Context()); !errors.Is(err, api.ErrNotJoined) {
		t.Errorf("no private network: %v", err)
	}
	if err := c.Ready(t.Context()); err == nil {
		t.Error("a node at rest is ready")
	}
}

// A directory that somebody else holds and does not serve is not opened twice; it is free
// again once a connection is closed.
func TestConnectHoldsTheDirectory(t *testing.T) {
	dir := directory(t)
	n, err := node.Open(dir, discard)
	require.NoError(t, err)
	if _, err := Connect(t.Context(), dir, discard); err == nil || !strings.Contains(err.Error(), "another p2pnode") {
		t.Errorf("a held directory without a socket: %v", err)
	}
	require.NoError(t, n.Close())
	for range 2 {
		c, err := Connect(t.Context(), dir, discard)
		require.NoError(t, err)
		if s, err := c.Status(t.Context()); err != nil || s.Running {
			t.Errorf("status %+v, %v", s, err)
		}
		require.NoError(t, c.Close())
	}
}

// A file of tokens to which others have rights is not used.
func TestTokensAreTheOwners(t *testing.T) {
	dir := directory(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, datadir.TokensFile), []byte("[]"), 0o600))
	c, err := Connect(t.Context(), dir, discard)
	require.NoError(t, err, c.Close(), os.Chmod(filepath.Join(dir, datadir.TokensFile), 0o620))
	if _, err := Connect(t.Context(), dir, discard); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("with a file that others can write: %v", err)
	}
}
