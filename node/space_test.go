package node

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// A database at its limit takes no more records, and the node goes on paying. Where records
// were deleted, and the file was compacted, there is room again.
func TestMaxMegabytes(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, func(c *datadir.Config) { c.MaxMegabytes = 1 })
	more := func() error { return n.Add(t.Context(), lineRecords(rand.New(rand.NewPCG(1, 2)), 2048)) }
	stored := 0
	var full error
	for ; full == nil; stored++ {
		if stored > 100 {
			t.Fatal("a megabyte has room for 200,000 records")
		}
		full = more()
	}
	if !errors.Is(full, api.ErrFull) || !strings.Contains(full.Error(), "the database takes 1 MB, and the key \"max_megabytes\" allows no more; raise it, or delete records") {
		t.Errorf("full: %v", full)
	}
	payAndCommit(t, n, 1, 0.5)
	var all []uint64
	for _, r := range listed(t, n, false) {
		all = append(all, uint64(r.Number))
	}
	require.NoError(t, n.Delete(t.Context(), all))
	require.NoError(t, n.store.Compact())
	require.NoError(t, more())
}

func TestMegabytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 kB", 49_152: "48 kB", 1<<20 - 1: "1023 kB", 3 << 19: "1.5 MB"} {
		if got := megabytes(n); got != want {
			t.Errorf("megabytes(%d) = %q, want %q", n, got, want)
		}
	}
}
