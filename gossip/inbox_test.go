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
	b := newInbox(1)
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

// Learners in rounds need the rounds that follow each other too: so many of each
// kind, in order, whatever order they came in.
func TestInboxKeepsSeveralRoundsInOrder(t *testing.T) {
	const depth = 4
	random := rand.New(rand.NewPCG(5, 6))
	b := newInbox(depth)
	for range 200 {
		var all []learner.Message // the slow twin
		for range random.IntN(100) {
			m := model(1+random.Uint64N(8), 0)
			m.From = learner.ID(fmt.Sprint(random.IntN(3)))
			m.Kind = learner.Kind(1 + random.IntN(2))
			m.Attempt = uint32(random.IntN(2))
			b.put(m)
			if !slices.ContainsFunc(all, func(o learner.Message) bool { return o.From == m.From && o.Kind == m.Kind && byRound(o, m) == 0 }) {
				all = append(all, m)
			}
		}
		newer := func(m learner.Message) (n int) {
			for _, o := range all {
				if o.From == m.From && o.Kind == m.Kind && byRound(o, m) > 0 {
					n++
				}
			}
			return n
		}
		want := slices.DeleteFunc(slices.Clone(all), func(m learner.Message) bool { return newer(m) >= depth })
		taken := b.Take()
		if len(taken) != len(want) {
			t.Fatalf("took %d messages, want %d", len(taken), len(want))
		}
		for i, m := range taken {
			if !slices.ContainsFunc(want, func(o learner.Message) bool { return same(o, m) }) {
				t.Fatalf("took %+v, which newer ones supersede", m)
			}
			if i > 0 && taken[i-1].From == m.From && byRound(taken[i-1], m) > 0 {
				t.Fatalf("round %d comes after round %d", m.Round, taken[i-1].Round)
			}
		}
	}
}

func TestInboxWakesForEveryArrival(t *testing.T) {
	const senders, rounds = 8, 200
	b := newInbox(1)
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
