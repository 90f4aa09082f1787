package learner

import (
	"math/rand/v2"
	"testing"
	"time"
)

// among is a roundsPlayer with that many live neighbours, b, c and so on, that has begun
// round 1.
func among(t *testing.T, neighbours int, change func(*Config)) *roundsPlayer {
	t.Helper()
	p := newRoundsPlayer(t, change)
	p.surround(neighbours)
	p.tick()
	return p
}

func (p *roundsPlayer) surround(neighbours int) {
	var edges []Edge
	for i := range neighbours {
		edges = append(edges, Edge{Peer: neighbour(i), Weight: 1, Live: true})
	}
	p.take(p.agent.Neighbours(p.now, edges))
}

func neighbour(i int) ID { return ID(rune('b' + i)) }

// tick lets the timer ring.
func (p *roundsPlayer) tick() {
	p.Helper()
	if p.next == Never {
		p.Fatal("waits for messages only")
	}
	p.now = max(p.now, p.next)
	p.take(p.agent.Tick(p.now))
}

// A third of the neighbours take nobody to the last round; more than that are believed.
func TestAThirdOfLiarsTakeNobodyAlong(t *testing.T) {
	p := among(t, 6, nil)
	p.hears(modelOf("b", 50, 6, 0, 0), modelOf("c", 50, 6, 0, 0))
	if p.agent.round != 1 {
		t.Errorf("two liars of six took the agent to round %d", p.agent.round)
	}
	for range 3 { // the honest ones are slow
		p.tick()
	}
	if p.agent.round > 4 {
		t.Errorf("two liars of six took the agent to round %d in three deadlines", p.agent.round)
	}
	p.hears(modelOf("d", 9, 6, 0, 0))
	if p.agent.round != 9 {
		t.Errorf("round %d, want 9, where three of six are at least", p.agent.round)
	}
}

// A sole neighbour that is far ahead is believed after n deadlines for 1 + n^2 rounds, and
// nothing is spent meanwhile.
func TestSoleNeighbourIsBelievedSlowly(t *testing.T) {
	p := newRoundsPlayer(t, nil)
	p.surround(1)
	p.hears(modelOf("b", 31, 2, 0, 0))
	for p.now < 60*time.Second {
		if p.agent.round != 0 || p.asked != 0 {
			t.Fatalf("after %v it believed 31 rounds", p.now)
		}
		p.tick()
	}
	if p.agent.round != 31 || p.asked != 1 || p.now != 60*time.Second {
		t.Errorf("round %d after %d releases at %v; want 31 after 1, after 6 deadlines", p.agent.round, p.asked, p.now)
	}
	endless := among(t, 1, func(c *Config) { c.Task.Rounds.Count = 0 })
	endless.hears(modelOf("b", lastRound, 2, 0, 0))
	for range 1000 {
		endless.tick()
	}
	if endless.agent.round != 1 || endless.asked != 1 {
		t.Errorf("a lie took it to round %d with %d releases", endless.agent.round, endless.asked)
	}
}

// An agent whose only neighbour goes on without it, round after round, is not left behind
// for longer than it cannot hear the neighbour: a few rounds are missed, then many.
func TestSoleNeighbourIsFollowed(t *testing.T) {
	p := among(t, 1, func(c *Config) { c.Task.Rounds.Count = 0 })
	hear := func(rounds ...uint64) {
		for _, round := range rounds {
			p.now += time.Millisecond
			p.hears(modelOf("b", round, 2, 0, 0))
		}
	}
	if hear(1, 2, 3, 5, 6, 7); p.agent.round != 7 {
		t.Errorf("round %d, want 7: it has heard them all but one", p.agent.round)
	}
	for round := uint64(107); p.agent.round == 7; round++ {
		hear(round)
		if p.next < p.now {
			p.tick()
		}
		if p.now > 15*10*time.Second {
			t.Fatal("the neighbour went on faster than it was believed after a gap of 100 rounds")
		}
	}
	behind := p.agent.hood.latest[0].round - p.agent.round
	if behind > 1 || p.now < 9*10*time.Second {
		t.Errorf("it goes on %d rounds behind at %v; want it beside the neighbour after 10 deadlines", behind, p.now)
	}
}

// One of two neighbours walks on without the other: it takes nobody along.
func TestOneOfTwoIsNotFollowed(t *testing.T) {
	p := among(t, 2, func(c *Config) { c.Task.Rounds.Count = 0 })
	for round := uint64(1); round < 50; round++ {
		p.now += time.Millisecond
		p.hears(modelOf("b", round, 2, 0, 0))
	}
	if p.agent.round != 1 {
		t.Errorf("one of two neighbours took the agent to round %d", p.agent.round)
	}
}

// An agent that was led away in an earlier run waits for the others, spends nothing until
// they come, and goes on with them. Others go on without it.
func TestPersistedJumpHeals(t *testing.T) {
	state := State{Round: 40, Model: []float64{1, 1}}
	p := newRoundsPlayer(t, func(c *Config) { c.Resume, c.Task.Rounds.Count = &state, 100 })
	p.surround(3)
	for round := uint64(10); round < 39; round++ {
		p.now += 100 * time.Millisecond
		p.hears(modelOf("b", round, 3, 0, 0), modelOf("c", round, 3, 0, 0), modelOf("d", 40+round, 3, 0, 0))
		if p.agent.round != 40 || p.asked > 0 {
			t.Fatalf("it goes on to %d when the others are in round %d", p.agent.round, round)
		}
	}
	p.hears(modelOf("b", 39, 3, 0, 0), modelOf("c", 39, 3, 0, 0))
	p.says(Message{Kind: KindModel, Round: 41})
	other := among(t, 3, nil)
	other.hears(modelOf("d", 40, 3, 0, 0))
	for round := uint64(1); round < 5; round++ {
		other.now += time.Second
		other.hears(modelOf("b", round, 3, 0, 0), ack("b", round, min(1, float64(round-1))),
			modelOf("c", round, 3, 0, 0), ack("c", round, min(1, float64(round-1))))
		if other.agent.round != round+1 {
			t.Fatalf("it waits for somebody in round 40: round %d after %d", other.agent.round, round)
		}
	}
}

// Who was silent in one round is not waited for in the next, and again when it speaks.
func TestSilentNeighbourIsWaitedForOnce(t *testing.T) {
	p := among(t, 3, nil)
	play := func(round uint64) {
		p.now += time.Second
		used := min(1, float64(round-1))
		p.hears(modelOf("b", round, 3, 0, 0), ack("b", round, used), modelOf("c", round, 3, 0, 0), ack("c", round, used))
	}
	if play(1); p.agent.round != 1 || p.next != p.now+5*time.Second {
		t.Fatalf("round %d, next %v: want to wait for d, as long as there is patience", p.agent.round, p.next)
	}
	if p.tick(); p.agent.round != 2 {
		t.Fatal("waits for longer than it has patience")
	}
	if play(2); p.agent.round != 3 {
		t.Fatal("waits for d again")
	}
	p.hears(modelOf("d", 2, 3, 0, 0))
	if play(3); p.agent.round != 3 {
		t.Fatal("does not wait for d, which is there")
	}
}

// Whenever the others are late, and by how much, waiting for them takes no longer than it
// took until the first few were there, and the store once.
func TestPatienceIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 6))
	for range 100 {
		const deadline = 10 * time.Second
		p := newGracePeriod(deadline)
		var now, first, waited, store time.Duration
		for range 200 {
			p.begin(now)
			took := time.Duration(r.Int64N(int64(time.Second)))
			if p.hears(now+took, 4, 9, 0) != Never {
				t.Fatal("four of nine are enough")
			}
			now += took + time.Duration(r.Int64N(int64(time.Second)))
			until := p.hears(now, 6, 9, 0)
			if until < now || r.IntN(2) == 0 { // all are there
				until = now
			}
			if store == 0 {
				store = max(deadline/100, 20*took)
			}
			first, waited = first+took, waited+until-now
			now = until
			p.end(now)
			if waited > first+store {
				t.Fatalf("waited %v beside %v", waited, first)
			}
		}
		if waited < first/10 {
			t.Errorf("waited %v only beside %v", waited, first)
		}
	}
}

// A third may be missing.
func TestFewAndEnough(t *testing.T) {
	for n, want := range []struct{ few, enough int }{{0, 0}, {0, 1}, {0, 2}, {1, 2}, {1, 3}, {1, 4}, {2, 4}, {2, 5}, {2, 6}, {3, 6}} {
		if maxFaulty(n) != want.few || quorum(n) != want.enough {
			t.Errorf("of %d: %d and %d, want %d and %d", n, maxFaulty(n), quorum(n), want.few, want.enough)
		}
	}
}
