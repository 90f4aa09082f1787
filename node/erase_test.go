package node

import (
	"math/rand/v2"
	"testing"

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
