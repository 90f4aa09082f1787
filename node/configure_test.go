package node

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	return Configure(dir, task, c, PrivateNetwork{})
}

func reopened(t *testing.T, dir string) *Node {
	t.Helper()
	n, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestConfigureKeepsWhoTheNodeIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	must(t, configured(t, dir, learner.Movies(), nil))
	first := reopened(t, dir)
	tuned := learner.Movies()
	tuned.Local.Eta *= 2
	must(t, configured(t, dir, tuned, func(c *Config) { c.WakeSeconds = 77 }))
	second := reopened(t, dir)
	if first.self != second.self || second.files.config.WakeSeconds != 77 || second.files.task.Local.Eta != tuned.Local.Eta {
		t.Errorf("%v, %v; wake %v, eta %v", first.self, second.self, second.files.config.WakeSeconds, second.files.task.Local.Eta)
	}
	if err := configured(t, dir, learner.Clusters(), nil); !errors.Is(err, ErrOtherTask) {
		t.Errorf("another task: %v", err)
	}
	if got := reopened(t, dir); got.files.task.Name != tuned.Name {
		t.Errorf("the refused task %q was written", got.files.task.Name)
	}
}

// A program may be killed at any moment: whatever files the call before has left, the
// next one makes a node of the directory, and never a second identity of an old one.
func TestConfigureAfterAnInterruption(t *testing.T) {
	for name, left := range map[string]map[string]string{
		"nothing":             {},
		"the task":            {taskFile: "name = "},
		"task, configuration": {taskFile: "", configFile: "eps"},
		"a temporary":         {taskFile + ".123": "x"},
	} {
		dir := t.TempDir()
		for file, text := range left {
			must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		}
		if err := configured(t, dir, learner.Movies(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		reopened(t, dir)
	}
	for file, text := range map[string]string{
		configFile: "", taskFile: "name", // of an existing node
		storeFile: "torn",
	} {
		dir := t.TempDir()
		must(t, configured(t, dir, learner.Movies(), nil))
		if file != storeFile {
			reopened(t, dir)
		}
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		key, err := os.ReadFile(filepath.Join(dir, keyFile))
		must(t, err)
		if err := configured(t, dir, learner.Movies(), nil); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		reopened(t, dir)
		if now, err := os.ReadFile(filepath.Join(dir, keyFile)); err != nil || string(now) != string(key) {
			t.Errorf("%s: another identity, %v", file, err)
		}
	}
}

func TestConfigureRefuses(t *testing.T) {
	orphan := t.TempDir()
	must(t, configured(t, orphan, learner.Movies(), nil))
	reopened(t, orphan)
	must(t, os.Remove(filepath.Join(orphan, keyFile)))
	if err := configured(t, orphan, learner.Movies(), nil); err == nil || !strings.Contains(err.Error(), keyFile) {
		t.Errorf("a database without its identity: %v", err)
	}

	used := t.TempDir()
	must(t, configured(t, used, learner.Movies(), nil))
	n, err := Open(used, slog.New(slog.DiscardHandler))
	must(t, err)
	if err := configured(t, used, learner.Movies(), nil); err != nil {
		t.Errorf("nothing changes: %v", err)
	}
	if err := configured(t, used, learner.Movies(), func(c *Config) { c.WakeSeconds = 77 }); !errors.Is(err, storage.ErrLocked) {
		t.Errorf("an open directory: %v", err)
	}
	must(t, n.Close())

	if err := configured(t, t.TempDir(), learner.Movies(), func(c *Config) { c.Epsilon = -1 }); !errors.Is(err, api.ErrRequest) {
		t.Errorf("a wrong key: %v", err)
	}
}

// Only the first call works out which accounting suits the noise.
func TestConfigureKeepsTheAccounting(t *testing.T) {
	dir := t.TempDir()
	open := func(c *Config) { c.Noise, c.Accounting = "laplace", "" }
	for range 2 {
		must(t, configured(t, dir, learner.Movies(), open))
		if got := reopened(t, dir).files.config.Accounting; got != "pure" {
			t.Errorf("accounting %q", got)
		}
	}
	must(t, configured(t, dir, learner.Movies(), func(c *Config) { c.Noise, c.Accounting = "gaussian", "" }))
	if got := reopened(t, dir).files.config.Accounting; got != "gdp" {
		t.Errorf("accounting %q after the noise changed", got)
	}
}
