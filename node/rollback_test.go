package node

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// talker is a node that releases for as long as these tests run.
func talker(t *testing.T, seed uint64, bootstrap []string) *Node {
	t.Helper()
	return testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(seed, 1)), 20), func(c *datadir.Config) {
		c.Bootstrap, c.Releases = bootstrap, 1<<15
	})
}

// listener is one that hears and has nothing to say.
func listener(t *testing.T, bootstrap []string) (n *Node, stop func()) {
	t.Helper()
	n = testNode(t, lineTask(), nil, func(c *datadir.Config) { c.Bootstrap = bootstrap })
	stop = start(t, n)
	waitForAddrs(t, n)
	return n, stop
}

func waitForAddrs(t *testing.T, n *Node) []string {
	t.Helper()
	addrs, err := n.Addrs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

// heard is the round of the newest model that a node has of an author.
func heard(t *testing.T, n *Node, author peer.ID) uint64 {
	t.Helper()
	state, err := n.state()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range state.Heard {
		if h.Peer == gossip.ID(author) {
			return h.Round
		}
	}
	return 0
}

func waitUntilHeard(t *testing.T, author *Node, after uint64, by ...*Node) {
	t.Helper()
	require.Eventually(t, "the author is heard", func() bool {
		return !slices.ContainsFunc(by, func(n *Node) bool { return heard(t, n, author.self) <= after })
	})
}

// copyDir is a copy of a data directory, taken while nobody has it open.
func copyDir(t *testing.T, dir string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy")
	if err := copyFiles(copied, dir); err != nil {
		t.Fatal(err)
	}
	return copied
}

// copyFiles copies a data directory, with what others must not read for its owner alone.
func copyFiles(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	err := os.Chmod(filepath.Join(to, datadir.StoreFile), 0o600)
	if errors.Is(err, fs.ErrNotExist) { // the node was stopped before it made one
		err = nil
	}
	return errors.Join(err, os.Chmod(filepath.Join(to, datadir.KeyFile), 0o600))
}

// olderCopy lets a node talk to others, be copied, and talk on. It returns the
// copy, the round it ends at, and the last one of which others may hear.
func olderCopy(t *testing.T, n *Node, by ...*Node) (dir string, ends, last uint64) {
	t.Helper()
	stop := start(t, n)
	waitUntilHeard(t, n, 0, by...)
	stop()
	ends = n.ledger.Round()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	dir = copyDir(t, n.dir)
	again := openNode(t, n.dir)
	stop = start(t, again)
	waitUntilHeard(t, n, ends, by...)
	stop()
	last = again.ledger.Round()
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, ends, last
}

// runOlderCopy runs a copy that must not release anything, and checks that it
// has not.
func runOlderCopy(t *testing.T, n *Node, ends, last uint64, by ...*Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := n.Run(ctx); !errors.Is(err, ErrRolledBack) {
		t.Fatalf("Run: %v, want ErrRolledBack", err)
	}
	if round := n.ledger.Round(); round != ends {
		t.Errorf("round %d is paid, the copy ended at %d", round, ends)
	}
	for i := range by {
		// What was said before the copy ran may arrive late.
		if now := heard(t, by[i], n.self); now <= ends || now > last {
			t.Errorf("a peer has heard round %d; the copy ended at %d, the last was %d", now, ends, last)
		}
	}
	if s := status(t, n); s.Traffic.Published != 0 {
		t.Errorf("%d messages are published", s.Traffic.Published)
	}
}

// A node whose whole directory, anchor included, is replaced by an older copy
// stops before it releases anything, and the copy is as it was. Restored on
// purpose it goes on, with new records, and its peers hear it.
func TestOlderCopyOfTheDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	first, _ := listener(t, nil)
	second, _ := listener(t, waitForAddrs(t, first))
	n := talker(t, 1, waitForAddrs(t, first))
	older, ends, last := olderCopy(t, n, first, second)
	if err := errors.Join(os.RemoveAll(n.dir), os.Rename(older, n.dir)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it stays refused
		again := openNode(t, n.dir)
		runOlderCopy(t, again, ends, last, first, second)
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := datadir.Restore(n.dir, "", nil); err != nil {
		t.Fatal(err)
	}
	again := openNode(t, n.dir)
	if err := again.Add(t.Context(), lineRecords(rand.New(rand.NewPCG(1, 2)), 20)); err != nil {
		t.Fatal(err)
	}
	start(t, again)
	waitUntilHeard(t, n, 1<<40, first, second)
}

// A peer knows after its own restart too.
func TestWitnessSurvivesItsKeepersRestart(t *testing.T) {
	t.Parallel()
	keeper, stop := listener(t, nil)
	n := talker(t, 1, waitForAddrs(t, keeper))
	older, ends, last := olderCopy(t, n, keeper)
	stop()
	if err := keeper.Close(); err != nil {
		t.Fatal(err)
	}
	again := openNode(t, keeper.dir)
	if m, err := again.stored(); err != nil || m.Witnesses[n.self.String()].Round <= ends {
		t.Errorf("stored: %+v, %v; want a round after %d", m.Witnesses, err, ends)
	}
	start(t, again)
	back := openNode(t, older)
	back.files.Config.Bootstrap = waitForAddrs(t, again)
	runOlderCopy(t, back, ends, last, again)
}

// Of two copies of a directory that run at once, the one that speaks second
// stops, and the other goes on.
func TestSecondCopyIsRefused(t *testing.T) {
	t.Parallel()
	first, _ := listener(t, nil)
	n := talker(t, 1, waitForAddrs(t, first))
	stop := start(t, n)
	waitUntilHeard(t, n, 0, first)
	stop()
	ends := n.ledger.Round()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	twin := openNode(t, copyDir(t, n.dir))
	again := openNode(t, n.dir)
	start(t, again)
	waitUntilHeard(t, n, ends, first)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := twin.Run(ctx); !errors.Is(err, ErrRolledBack) {
		t.Fatalf("Run of the second copy: %v, want ErrRolledBack", err)
	}
	if round := twin.ledger.Round(); round != ends {
		t.Errorf("the second copy paid round %d, it began at %d", round, ends)
	}
	waitUntilHeard(t, n, heard(t, first, n.self), first)
}
