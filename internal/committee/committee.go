// Package committee runs the members of a committee, for tests of phones that take part in
// private sums. Only tests import it.
package committee

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node"
	"p2pnode/node/datadir"
)

// Catalogue lists the keys of [Task].
const Catalogue = "thing\n1\n2\n3\n4\n5\n6\n"

// Task returns a task whose whole budget goes into sums of votes for the things of
// [Catalogue], epoch after epoch. Its budget is large, because with more noise a few
// people show little.
func Task() *learner.Task {
	hash := sha256.Sum256([]byte(Catalogue))
	return &learner.Task{
		Name: "things", Learner: "sums", Loss: "squared",
		Features: []learner.Feature{
			{Name: "a", Kind: "number", Min: -1, Max: 1},
			{Name: "thing", Kind: "key", Catalogue: hex.EncodeToString(hash[:])},
		},
		Constant: 1,
		Target:   learner.Target{Name: "y", Min: -3, Max: 3},
		Mu:       1, Lambda: 1, Clip: 1, ConfidenceAt: 20, Radius: 10, CohortSize: 1000,
		Graph: learner.Graph{Rule: "random", Degree: 10},
		Local: learner.Local{Eta: 1, EtaConstant: 1, Kappa: 1},
		Release: learner.Release{
			Epsilon: 10, Delta: 1e-6, Releases: 5, MaxEpsilon: 10, MaxDelta: 1e-3, MaxReleases: 1 << 16,
			WakeSeconds: 1, MinWake: 0.01,
		},
		Sums: learner.Sums{
			Recipes:   []learner.Recipe{{Kind: "items", Share: 1}},
			Colluding: 1, Contributors: 100, Records: 1000, Epochs: 1000, CloseSeconds: 4,
		},
	}
}

// Start gives the task a committee of four, runs its members over loopback until the test
// ends, and returns the address of one of them.
func Start(t testing.TB, task *learner.Task) (address string) {
	t.Helper()
	base := t.TempDir()
	var keys []string
	for i := range 4 {
		key := filepath.Join(base, fmt.Sprintf("%d.key", i))
		id, err := datadir.NewIdentity(key)
		require.NoError(t, err)
		keys, task.Sums.Committee = append(keys, key), append(task.Sums.Committee, id.String())
	}
	for i, key := range keys {
		c := datadir.DefaultConfig(task)
		c.Listen, c.MDNS, c.UPnP = []string{"/ip4/127.0.0.1/tcp/0"}, false, false
		if address != "" {
			c.Bootstrap = []string{address}
		}
		dir := filepath.Join(base, fmt.Sprint(i))
		require.NoError(t, datadir.Make(dir, datadir.New{Task: task, Config: c, Identity: key, Catalogue: []byte(Catalogue)}))
		address = run(t, dir)
	}
	return address
}

// run runs a node until the test ends.
func run(t testing.TB, dir string) (address string) {
	t.Helper()
	n, err := node.Open(dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		require.NoError(t, n.Close())
	})
	addrs, err := n.Addrs(t.Context())
	require.NoError(t, err)
	return addrs[0]
}
