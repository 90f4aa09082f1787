package node

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// Whatever a node writes into its directory is known to Erase: a run leaves nothing.
func TestEraseAfterARun(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(5, 6)), 20), nil)
	stop := start(t, n)
	if _, err := n.Addrs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Doctor(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := datadir.Erase(n.dir); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

// A running node erases its own directory when its owner says its peer ID, after it has told
// its neighbours, and nothing else does.
func TestEraseWhileRunning(t *testing.T) {
	t.Parallel()
	nodes, stop := startNetwork(t, 2, lineTask(), func(*datadir.Config) {})
	defer stop()
	n, other := nodes[0], nodes[1]
	for _, wrong := range []string{"", "yes", other.self.String()} {
		if _, err := n.Erase(t.Context(), wrong); !errors.Is(err, api.ErrRequest) {
			t.Errorf("confirmed with %q: %v; want a wrong request", wrong, err)
		}
	}
	if s := status(t, n); !s.Running || s.Records == 0 {
		t.Errorf("after wrong requests the node says %+v", s)
	}
	e, err := n.Erase(t.Context(), n.self.String())
	if err != nil || len(e.Left) != 0 || e.Farewell.Told != 1 {
		t.Errorf("erased %+v, %v; want nothing left and one neighbour told", e, err)
	}
	if _, err := os.Stat(n.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
	require.Eventually(t, "the neighbour knows", func() bool { return status(t, other).Neighbours == 0 })
	if err := n.Run(context.Background()); err == nil {
		t.Error("an erased node runs again")
	}
	if _, err := n.Status(t.Context()); err == nil {
		t.Error("an erased node says how it is doing")
	}
}

// A node that cannot be erased does not say that it was.
func TestErasureThatDoesNotBegin(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	require.NoError(t, n.store.Close())
	if _, err := n.Erase(t.Context(), n.self.String()); err == nil {
		t.Fatal("erased without a database")
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for e := range n.Events(gone, 0) {
		if e.Kind == api.EventErased {
			t.Errorf("it says %q", e.Text)
		}
	}
}
