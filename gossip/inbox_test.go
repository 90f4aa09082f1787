package gossip

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"p2pnode/learner"
)

func TestInboxKeepsTheNewestOfEachSender(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	b := newInbox()
	for range 200 {
		newest := make(map[learner.ID]uint64) // the slow twin
		for range random.IntN(50) {
			m := model(1+random.Uint64N(20), 0)
			m.From = learner.ID(fmt.Sprint(random.IntN(8)))
			b.put(m)
			newest[m.From] = max(newest[m.From], m.Round)
			if random.IntN(10) == 0 {
				b.drop(m.From)
				delete(newest, m.From)
			}
		}
		taken := b.Take()
		senders := slices.Sorted(maps.Keys(newest))
		if len(taken) != len(senders) {
			t.Fatalf("took %d messages, want %d", len(taken), len(senders))
		}
		for i, m := range taken {
			if m.From != senders[i] || m.Round != newest[m.From] {
				t.Fatalf("message %d is from %s, round %d; want %s, %d", i, m.From, m.Round, senders[i], newest[senders[i]])
			}
		}
	}
}

func TestInboxWakesForEveryArrival(t *testing.T) {
	const senders, rounds = 8, 200
	b := newInbox()
	var sending sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for r := range uint64(rounds) {
				m := model(r+1, 0)
				m.From = learner.ID(fmt.Sprint(s))
				b.put(m)
			}
		})
	}
	last := make(map[learner.ID]uint64)
	for finished := 0; finished < senders; {
		<-b.Wake() // hangs if an arrival leaves no value behind
		for _, m := range b.Take() {
			if m.Round <= last[m.From] {
				t.Fatalf("round %d of %s after round %d", m.Round, m.From, last[m.From])
			}
			last[m.From] = m.Round
			if m.Round == rounds {
				finished++
			}
		}
	}
	sending.Wait()
}
