package mobile

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node"
)

func TestLeaveAndErase(t *testing.T) {
	for name, prepare := range map[string]func(*Node){
		"new":     func(*Node) {},
		"running": func(n *Node) { check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start()); awaitState(t, n, stateRunning) },
		"stopped": func(n *Node) { check(t, n.Stop()) },
	} {
		c := testConfig(t)
		c.DataDir = filepath.Join(c.DataDir, "node")
		n := open(t, c, nil)
		prepare(n)
		check(t, n.LeaveAndErase())
		if _, err := os.Stat(c.DataDir); !os.IsNotExist(err) {
			t.Errorf("%s: the directory is still there: %v", name, err)
		}
		if err := n.LeaveAndErase(); errorCode(err) != CodeStopped {
			t.Errorf("%s: a second time: %v", name, err)
		}
		again := open(t, c, nil) // a new participant
		if again.node.ID() == n.node.ID() {
			t.Errorf("%s: the identity is the same", name)
		}
	}
}

func TestEraseWhatCannotBeOpened(t *testing.T) {
	c := testConfig(t)
	c.DataDir = filepath.Join(c.DataDir, "node")
	n := open(t, c, nil)
	if err := Erase(c.DataDir); errorCode(err) != CodeBusy {
		t.Errorf("an open directory: %v", err)
	}
	check(t, n.Stop())
	check(t, os.WriteFile(filepath.Join(c.DataDir, "p2pnode.db"), []byte("no database"), 0o600))
	if _, err := NewNode(c, nil); errorCode(err) != CodeStorage {
		t.Errorf("a damaged directory: %v", err)
	}
	check(t, Erase(c.DataDir))
	if err := Erase(c.DataDir); errorCode(err) != CodeInput {
		t.Errorf("nothing there: %v", err)
	}
	open(t, c, nil)
}

func TestEraseRefusesWhatIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for path, want := range map[string]string{file: "not a directory", "node": "not an absolute path", "": "not an absolute path"} {
		if err := Erase(path); errorCode(err) != CodeInput || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want ... %s", path, err, want)
		}
	}
}

// bbolt panics at half a database. That holds no lock: the directory can be erased at once.
func TestEraseHalfADatabase(t *testing.T) {
	c := linearConfig(t)
	c.DataDir = filepath.Join(c.DataDir, "node")
	n := open(t, c, nil)
	check(t, n.AddExamples(rows(fixed(1), 2000)), n.Stop())
	database := filepath.Join(c.DataDir, "p2pnode.db")
	info, err := os.Stat(database)
	check(t, err, os.Truncate(database, info.Size()/2))
	for range 2 {
		if _, err := NewNode(c, nil); errorCode(err) != CodeStorage {
			t.Errorf("half a database: %v", err)
		}
	}
	check(t, Erase(c.DataDir))
	open(t, c, nil)
}

// Neighbours hear that a node leaves, and do not wait for it.
func TestNeighboursHearOfLeaving(t *testing.T) {
	nodes := make([]*Node, 2)
	for i := range nodes {
		c := linearConfig(t)
		c.DataDir = filepath.Join(c.DataDir, "node")
		c.Settings += "\npower = 'normal'"
		nodes[i] = open(t, c, nil)
		check(t, nodes[i].SetNetwork(NetUnmetered, "", ""), nodes[i].Start())
	}
	check(t, nodes[0].AddPeer(address(t, nodes[1])))
	awaitNeighbours(t, nodes[0], 1)
	awaitNeighbours(t, nodes[1], 1)
	check(t, nodes[0].LeaveAndErase())
	awaitNeighbours(t, nodes[1], 0)
}

func awaitNeighbours(t *testing.T, n *Node, want int) {
	t.Helper()
	require.Nothing(t, func() string {
		s, err := n.node.Progress(t.Context())
		check(t, err)
		if s.Neighbours == want {
			return ""
		}
		return fmt.Sprintf("%d neighbours, want %d", s.Neighbours, want)
	})
}

// A defect of the farewell does not keep the directory open.
func TestLeaveThatPanics(t *testing.T) {
	n := &Node{
		node: new(node.Node), config: *testConfig(t), log: slog.New(slog.DiscardHandler), events: newEvents(nil, LogOff),
		queue: new(disk).queue(1, 1), ended: make(chan struct{}),
	}
	n.ctx, n.cancel = context.WithCancel(t.Context())
	n.driver = newDriver(&n.config, nil, nil, func(state) {})
	if err := n.LeaveAndErase(); errorCode(err) != CodeInput {
		t.Errorf("%v, want that there is nothing to erase", err)
	}
	select {
	case <-n.ended:
	default:
		t.Error("the call that panicked is still counted")
	}
}
