package storage_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"p2pnode/privacy"
	"p2pnode/storage"
)

// A release is paid for, then committed. A round that was paid for before a crash and not
// committed is burned: its number and its cost are gone, and the message before it is
// still the newest.
func Example() {
	dir, err := os.MkdirTemp("", "p2pnode")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	policy, err := privacy.Design{
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Dimension: 8, Clip: 1, Releases: 4,
	}.Policy()
	if err != nil {
		log.Fatal(err)
	}
	for _, crash := range []bool{false, true, false} {
		s, err := storage.Open(filepath.Join(dir, "node.db"))
		if err != nil {
			log.Fatal(err)
		}
		ledger, err := s.OpenLedger(policy)
		if err != nil {
			log.Fatal(err)
		}
		last, message := ledger.Outgoing()
		spent := 0.0
		for _, s := range ledger.Spending() {
			spent += s.Share // there is one cohort
		}
		fmt.Printf("paid up to round %d, %.0f%% of the budget; round %d is outgoing: %q\n", ledger.Round(), 100*spent, last, message)
		round := ledger.Round() + 1
		mechanism, _ := policy.Next(ledger.Position())
		sum := mechanism.NewSum(1, 8) // of cohort 1
		sum.Add(make([]float64, 8))
		if _, err := ledger.Release(round, mechanism, []privacy.Sum{sum}); err != nil {
			log.Fatal(err)
		}
		if !crash {
			if err := ledger.Commit(round, fmt.Appendf(nil, "model %d", round), nil); err != nil {
				log.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// paid up to round 0, 0% of the budget; round 0 is outgoing: ""
	// paid up to round 1, 25% of the budget; round 1 is outgoing: "model 1"
	// paid up to round 2, 50% of the budget; round 1 is outgoing: "model 1"
}
