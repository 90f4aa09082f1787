package node

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"reflect"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// A node pays exactly what its task is said to cost.
func TestExplainedIsWhatNodesDo(t *testing.T) {
	for _, of := range []struct {
		task    string
		epsilon float64 // 0: the task's
		fetches bool
	}{{task: "movies"}, {task: "clusters"}, {task: "../docs/tasks/diffusion.toml"}, {task: "../docs/tasks/propagation.toml"}, {task: "../docs/tasks/sums.toml"}, {"../docs/tasks/sums.toml", 0.9, true}} {
		name := of.task
		task, err := datadir.LoadTask(name)
		require.NoError(t, err)
		c := datadir.DefaultConfig(task)
		c.Epsilon = cmp.Or(of.epsilon, c.Epsilon)
		e, err := datadir.Explain(task, c, nil)
		require.NoError(t, err)
		dir := filepath.Join(t.TempDir(), "node")
		require.NoError(t, datadir.Init(dir, task, c))
		n, err := Open(dir, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		b, err := n.Budget(t.Context())
		require.NoError(t, err)
		require.NoError(t, n.Close())
		if e.Epsilon != b.Epsilon || e.Delta != b.Delta || e.Excess != b.Excess || !reflect.DeepEqual(e.Person, b.Person) {
			t.Errorf("%s: explained %+v, the node has %+v", name, e, b)
		}
		if r := e.Releases; r == nil && b.Left+b.Releases != 0 || r != nil && (r.Count != b.Left || r.Share != b.Next) {
			t.Errorf("%s: explained %+v, the node has %d of %d releases, of %v", name, r, b.Left, b.Releases, b.Next)
		}
		if (e.Sums == nil) != (b.Sums == nil) || b.Sums != nil && (e.Sums.Share != b.Sums.Share || e.Sums.Recipes[0].Rounds != b.Sums.Recipes[0].Rounds || e.Sums.OnlyFetches != of.fetches || b.Sums.OnlyFetches != of.fetches) {
			t.Errorf("%s: explained %+v, the node has %+v", name, e.Sums, b.Sums)
		}
	}
}
