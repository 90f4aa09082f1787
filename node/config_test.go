package node

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/node/datadir"
)

func TestInitAndOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "node")
	discard := slog.New(slog.DiscardHandler)
	if _, err := Open(dir, discard); err == nil || !strings.Contains(err.Error(), "p2pnode init") {
		t.Errorf("Open before Init: %v does not say what to do", err)
	}
	if err := datadir.Init(dir, lineTask(), datadir.DefaultConfig(lineTask())); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, datadir.KeyFile)
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("identity key: %v, %v; want mode 0600", info, err)
	}
	if err := datadir.Init(dir, lineTask(), datadir.DefaultConfig(lineTask())); err == nil {
		t.Error("a second Init overwrites the node")
	}
	first := openNode(t, dir)
	if _, err := Open(dir, discard); err == nil || !strings.Contains(err.Error(), "another p2pnode") {
		t.Errorf("a second Open: %v", err)
	}
	id := first.ID()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if again := openNode(t, dir); again.ID() != id {
		t.Error("the identity changed")
	} else if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// Files that are damaged or do not belong together are refused with a reason.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	other := lineTask()
	other.Mu = 2
	otherText, err := datadir.FormatTask(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file, want string
		text       []byte
	}{
		"damaged key":    {datadir.KeyFile, "damaged", []byte("x")},
		"another key":    {datadir.KeyFile, "another identity", otherKey(t)},
		"another task":   {datadir.TaskFile, "another task", otherText},
		"no task":        {datadir.TaskFile, "task", []byte("name = 'x'")},
		"bad config":     {datadir.ConfigFile, "colour", []byte("colour = 'red'")},
		"damaged store":  {datadir.StoreFile, "damaged", []byte(strings.Repeat("x", 1<<16))},
		"changed budget": {datadir.ConfigFile, "its epsilon is 1 and now it is 2", []byte("epsilon = 2.0")},
	} {
		n := testNode(t, lineTask(), nil, nil)
		if name == "changed budget" { // only a ledger that has begun is bound to its budget
			if _, err := newDoor(n.ledger, &n.files.Config).release(query(mechanism(n), 1, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(n.dir, c.file), c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		if again, err := Open(n.dir, slog.New(slog.DiscardHandler)); err == nil {
			again.Close()
			t.Errorf("%s: opened", name)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %q does not say %q", name, err, c.want)
		}
	}
}

// otherKey is the identity file of another node.
func otherKey(t *testing.T) []byte {
	t.Helper()
	other := testNode(t, lineTask(), nil, nil)
	text, err := os.ReadFile(filepath.Join(other.dir, datadir.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
