package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/storage"
)

// exact checks the ledger of a node that does not run, after whatever has befallen it: it is
// whole; each round is paid once for each cohort; what is spent is what the releases cost and
// no more than the budget; and the newest round that a peer has heard is paid. It returns how
// many releases there were.
func exact(t *testing.T, dir string, heard uint64) (releases int) {
	t.Helper()
	var whole storage.Verification
	cli(t, &whole, "budget", "--verify", "--dir", dir)
	if whole.Round < heard {
		t.Errorf("%s: a peer has heard round %d, and %d is the last that is paid", dir, heard, whole.Round)
	}
	var b api.Budget
	cli(t, &b, "budget", "--dir", dir)
	paid := payments(t, dir)
	if len(b.Cohorts) != len(paid) {
		t.Errorf("%s: %d cohorts, and %d have paid", dir, len(b.Cohorts), len(paid))
	}
	for _, c := range b.Cohorts {
		rounds := paid[int(c.Cohort)]
		releases += c.Releases
		if len(rounds) != c.Releases || !slices.IsSorted(rounds) || len(slices.Compact(slices.Clone(rounds))) != len(rounds) {
			t.Errorf("%s: %d releases of cohort %d, and it has paid for the rounds %v", dir, c.Releases, c.Cohort, rounds)
		}
		if want := float64(c.Releases) / float64(b.Releases); c.Spent > 1 || math.Abs(c.Spent-want) > 1e-6*want {
			t.Errorf("%s: cohort %d has spent %v of its budget, and %d of %d releases cost %v", dir, c.Cohort, c.Spent, c.Releases, b.Releases, want)
		}
	}
	return releases
}

// payments are the rounds that each cohort has paid for, as the ledger has them.
func payments(t *testing.T, dir string) map[int][]uint64 {
	t.Helper()
	file := filepath.Join(shortTemp(t), "ledger")
	cli(t, nil, "budget", "--export", file, "--dir", dir)
	text, err := os.Open(file)
	require.NoError(t, err)
	defer text.Close()
	paid := make(map[int][]uint64)
	for lines := json.NewDecoder(text); lines.More(); {
		var l storage.Line
		require.NoError(t, lines.Decode(&l))
		if l.Kind == "paid" {
			paid[int(l.Cohort)] = append(paid[int(l.Cohort)], l.Round)
		}
	}
	return paid
}
