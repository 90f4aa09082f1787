package storage

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// Any bytes that are taken for a database, for example as a copy that somebody provides,
// are opened with what was stored, or refused.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "node.db")
	s, err := Open(path)
	require.NoError(f, err)
	l, err := s.OpenLedger(policy(f))
	require.NoError(f, err)
	_, err = s.AppendRecords(randomRecords(rand.New(rand.NewPCG(1, 12)), 3), Intake{Admit: task().Admit, Size: 100}, time.Unix(1_800_000_000, 0))
	require.NoError(f, err)
	pay(f, l, 1, gaussian(f, 10), 1)
	require.NoError(f, commitRound(l, 1), s.Close())
	whole, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(uint32(0), []byte{})
	f.Add(uint32(len(whole)/2), []byte("something else"))
	f.Add(uint32(16), []byte{0xff, 0, 0xff})
	f.Fuzz(func(t *testing.T, at uint32, change []byte) {
		damaged := append([]byte(nil), whole...)
		copy(damaged[int(at)%len(damaged):], change)
		path := filepath.Join(t.TempDir(), "node.db")
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		s, err := Open(path)
		if err != nil {
			return
		}
		defer s.Close()
		l, err := s.OpenLedger(policy(t))
		if err != nil {
			return
		}
		c, err := s.Count()
		if round, message := l.Outgoing(); err == nil && (c.Records > 3 || round > 1 || l.Round() > 1 || spentBy(l, 1) > 1 || len(message) > 0 && string(message) != string(roundMessage(1))) {
			t.Fatalf("%d records, round %d, %q, spent %v", c.Records, round, message, spentBy(l, 1))
		}
	})
}
