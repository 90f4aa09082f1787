package datadir

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/storage"
)

func configured(t *testing.T, dir string, task *learner.Task, change func(*Config)) error {
	t.Helper()
	c := DefaultConfig(task)
	if change != nil {
		change(&c)
	}
	return Configure(dir, New{Task: task, Config: c})
}

// resting is what a data directory says while nobody has it open.
type resting struct {
	Files
	self    peer.ID
	private Private
}

// reopened opens a directory as a node does, and closes it again.
func reopened(t *testing.T, dir string) resting {
	t.Helper()
	files, err := Read(dir)
	require.NoError(t, err)
	self, err := peer.IDFromPrivateKey(files.Key)
	require.NoError(t, err)
	closed, err := ReadPrivate(dir, self, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, openStore(t, dir).Close())
	return resting{files, self, closed}
}

// openStore opens the database of a directory.
func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	files, err := Read(dir)
	require.NoError(t, err)
	s, err := OpenStore(dir, &files)
	require.NoError(t, err)
	return s
}

func TestConfigureKeepsWhoTheNodeIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, configured(t, dir, learner.Movies(), nil))
	first := reopened(t, dir)
	tuned := learner.Movies()
	tuned.Local.Eta *= 2
	require.NoError(t, configured(t, dir, tuned, func(c *Config) { c.WakeSeconds = 77 }))
	second := reopened(t, dir)
	if first.self != second.self || second.Config.WakeSeconds != 77 || second.Task.Local.Eta != tuned.Local.Eta {
		t.Errorf("%v, %v; wake %v, eta %v", first.self, second.self, second.Config.WakeSeconds, second.Task.Local.Eta)
	}
	if err := configured(t, dir, learner.Clusters(), nil); !errors.Is(err, ErrOtherTask) {
		t.Errorf("another task: %v", err)
	}
	if got := reopened(t, dir); got.Task.Name != tuned.Name {
		t.Errorf("the refused task %q was written", got.Task.Name)
	}
}

// A program may be killed at any moment: whatever files the call before has left, the
// next one makes a node of the directory, and never a second identity of an old one.
func TestConfigureAfterAnInterruption(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]map[string]string{
		"nothing":             {},
		"the task":            {TaskFile: "name = "},
		"task, configuration": {TaskFile: "", ConfigFile: "eps"},
		"a temporary":         {TaskFile + ".123": "x"},
	} {
		dir := t.TempDir()
		for file, text := range left {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		}
		if err := configured(t, dir, learner.Movies(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reopened(t, dir)
	}
	for file, text := range map[string]string{
		ConfigFile: "", TaskFile: "name", // of an existing node
		StoreFile: "\x00\x00\x00\x00", // a torn one begins so
	} {
		dir := t.TempDir()
		require.NoError(t, configured(t, dir, learner.Movies(), nil))
		if file != StoreFile {
			reopened(t, dir)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		key, err := os.ReadFile(filepath.Join(dir, KeyFile))
		require.NoError(t, err)
		if err := configured(t, dir, learner.Movies(), nil); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		reopened(t, dir)
		if now, err := os.ReadFile(filepath.Join(dir, KeyFile)); err != nil || string(now) != string(key) {
			t.Errorf("%s: another identity, %v", file, err)
		}
	}
}

func TestConfigureRefuses(t *testing.T) {
	t.Parallel()
	orphan := t.TempDir()
	require.NoError(t, configured(t, orphan, learner.Movies(), nil))
	reopened(t, orphan)
	require.NoError(t, os.Remove(filepath.Join(orphan, KeyFile)))
	if err := configured(t, orphan, learner.Movies(), nil); err == nil || !strings.Contains(err.Error(), KeyFile) {
		t.Errorf("a database without its identity: %v", err)
	}

	used := t.TempDir()
	require.NoError(t, configured(t, used, learner.Movies(), nil))
	n := openStore(t, used)
	if err := configured(t, used, learner.Movies(), nil); err != nil {
		t.Errorf("nothing changes: %v", err)
	}
	if err := configured(t, used, learner.Movies(), func(c *Config) { c.WakeSeconds = 77 }); !errors.Is(err, storage.ErrLocked) {
		t.Errorf("an open directory: %v", err)
	}
	require.NoError(t, n.Close())

	if err := configured(t, t.TempDir(), learner.Movies(), func(c *Config) { c.Epsilon = -1 }); !errors.Is(err, api.ErrRequest) {
		t.Errorf("a wrong key: %v", err)
	}
}

// Only the first call works out which accounting suits the noise.
func TestConfigureKeepsTheAccounting(t *testing.T) {
	dir := t.TempDir()
	open := func(c *Config) { c.Noise, c.Accounting = "laplace", "" }
	for range 2 {
		require.NoError(t, configured(t, dir, learner.Movies(), open))
		if got := reopened(t, dir).Config.Accounting; got != "pure" {
			t.Errorf("accounting %q", got)
		}
	}
	require.NoError(t, configured(t, dir, learner.Movies(), func(c *Config) { c.Noise, c.Accounting = "gaussian", "" }))
	if got := reopened(t, dir).Config.Accounting; got != "gdp" {
		t.Errorf("accounting %q after the noise changed", got)
	}
}
