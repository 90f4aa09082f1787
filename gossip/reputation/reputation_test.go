package reputation

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

var (
	nowhere netip.Addr
	begin   = time.Unix(0, 0)
)

func after(seconds float64) time.Time {
	return begin.Add(time.Duration(seconds * float64(time.Second)))
}

// small has an allowance of models, and of nothing else.
func small(most int) *Table {
	var a [Kinds]Allowance
	a[Models] = Allowance{Burst: 10, PerSecond: 2}
	a[Relayed] = Allowance{Burst: 10, PerSecond: 2}
	return NewTable(most, a)
}

func strike(t *Table, p peer.ID, now time.Time) (refused bool) {
	_, refused = t.Take(p, nowhere, Malformed, 1, now)
	return refused
}

func TestPeersAreRefusedAfterSeveralStrikesAndForgivenLater(t *testing.T) {
	table := small(10)
	for i := range Limit {
		if table.Refused("bad", after(float64(i))) {
			t.Fatalf("refused after %d strikes", i)
		}
		if fatal := strike(table, "bad", after(float64(i))); fatal != (i == Limit-1) {
			t.Fatalf("strike %d: %v", i+1, fatal)
		}
	}
	last := after(Limit - 1)
	if !table.Refused("bad", last) || table.Refused("good", last) {
		t.Error("the wrong peer is refused")
	}
	if strike(table, "bad", last) {
		t.Error("a peer became refused twice")
	}
	held := table.All(last)
	if len(held) != 1 || !held[0].Refused || held[0].Since != after(0) || held[0].Until != last.Add(Refusal) || held[0].Counts[Malformed] != Limit {
		t.Errorf("held is %+v", held)
	}
	if !table.Refused("bad", last.Add(Refusal-time.Second)) {
		t.Error("forgiven too early")
	}
	forgiven := last.Add(Refusal + time.Second)
	if table.Refused("bad", forgiven) || len(table.All(forgiven)) != 0 {
		t.Error("never forgiven")
	}
	strike(table, "bad", forgiven)
	if table.Refused("bad", forgiven) {
		t.Error("old strikes still count")
	}
	if h := table.All(forgiven); len(h) != 1 || h[0].Refused || h[0].Counts[Malformed] != 1 || h[0].Since != forgiven {
		t.Errorf("held is %+v", h)
	}
}

func TestRareMistakesAreForgiven(t *testing.T) {
	table := small(10)
	for i := range 10 * Limit {
		if strike(table, "clumsy", begin.Add(time.Duration(i)*forgiveness)) {
			t.Fatal("refused for one strike in a while")
		}
	}
}

// A peer may do as much as its allowance says, at once and for long; beyond that a burst is a
// strike.
func TestAllowances(t *testing.T) {
	table := small(10)
	take := func(p peer.ID, amount, at float64) bool {
		within, _ := table.Take(p, nowhere, Models, amount, after(at))
		return within
	}
	for i := range 1000 {
		if !take("honest", 2, float64(i)) {
			t.Fatalf("refused at its pace, after %d s", i)
		}
	}
	if !take("burst", 10, 0) || take("burst", 1, 0) || !take("burst", 1, 0.5) {
		t.Error("a burst is bounded by more or by less than its allowance")
	}
	if h := table.All(after(0.5)); len(h) != 1 || h[0].Peer != "burst" || h[0].Counts[Models] != 1 || h[0].Refused {
		t.Errorf("held is %+v", h)
	}
	refusedAfter := 0
	for i := 0; !table.Refused("flood", after(0)); i++ {
		take("flood", 1, 0)
		refusedAfter = i + 1
	}
	if most := 10 + (Limit-1)*10 + 1; refusedAfter < most-1 || refusedAfter > most { // tenths add up to a little more than whole ones
		t.Errorf("refused after %d", refusedAfter)
	}
}

// Who was asked for something may send as much, and no more.
func TestCredit(t *testing.T) {
	table := small(10)
	for i := range 100 {
		table.Take("relay", nowhere, Relayed, -8, begin)
		if within, _ := table.Take("relay", nowhere, Relayed, 8, begin); !within {
			t.Fatalf("answer %d is too much", i)
		}
	}
	table.Take("hoarder", nowhere, Relayed, -1e6, begin)
	if within, _ := table.Take("hoarder", nowhere, Relayed, 21, begin); within {
		t.Error("credit has no bound")
	}
	if len(table.All(begin)) != 1 {
		t.Error("the relay is blamed")
	}
}

func TestScores(t *testing.T) {
	table := small(10)
	table.Take("busy", nowhere, Models, 10, begin)
	table.Take("busy", nowhere, Models, 5, begin) // half a strike
	strike(table, "wrong", begin)
	for range Limit {
		strike(table, "bad", begin)
	}
	for p, want := range map[peer.ID]float64{"busy": 0, "unknown": 0, "wrong": -1, "bad": Worst} {
		if got := table.Score(p, begin); got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	if len(table.peers) != 3 {
		t.Error("a question is remembered")
	}
}

func addr(network, host int) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(network), 1, 1, byte(host)})
}

// Fresh identities do not make a table forget who is refused: not those who have done
// nothing, and of those who did they push out their like, whatever networks they come from.
func TestATableCannotBeFlushed(t *testing.T) {
	const most = 64
	for name, strikes := range map[string]int{"nothing": 0, "one strike": 1, "refused": Limit} {
		t.Run(name, func(t *testing.T) {
			table := small(most)
			for i := range 8 { // real offenders, of several networks
				for range Limit {
					table.Take(peer.ID(fmt.Sprint("bad", i)), addr(10+i, 1), Malformed, 1, begin)
				}
			}
			random := rand.New(rand.NewPCG(1, 2))
			for i := range 20 * most {
				p, from := peer.ID(fmt.Sprint("fresh", i)), addr(100, random.IntN(256))
				table.Take(p, from, Models, 1, begin)
				for range strikes {
					table.Take(p, from, Malformed, 1, begin)
				}
				if strikes == Limit && !table.Refused(p, begin) {
					t.Fatal("a newcomer is not remembered")
				}
			}
			for i := range 8 {
				if !table.Refused(peer.ID(fmt.Sprint("bad", i)), begin) {
					t.Errorf("offender %d is forgotten", i)
				}
			}
			if len(table.peers) > most || table.places.Len() != len(table.peers) {
				t.Errorf("%d peers are remembered, at %d places", len(table.peers), table.places.Len())
			}
		})
	}
}

// Whatever happens, the table says nothing of those who stay within their allowances, never
// has more than its places, and forgives all.
func TestTheTableAgainstChance(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	table := small(16)
	now := begin
	for range 20_000 {
		now = now.Add(time.Duration(random.IntN(int(time.Second))))
		honest := random.IntN(2) == 0
		p := peer.ID(fmt.Sprint(honest, random.IntN(12)))
		switch {
		case honest:
			table.Take(p, addr(1, 1), Models, 1, now) // at most two a second, all of them together
		default:
			table.Take(p, addr(random.IntN(4), 1), Kind(random.IntN(int(Kinds))), float64(random.IntN(20)), now)
		}
		if len(table.peers) > 16 {
			t.Fatal("too many are remembered")
		}
	}
	for _, h := range table.All(now) {
		if h.Peer[0] == 't' {
			t.Errorf("an honest peer is blamed: %+v", h)
		}
		if h.Until.Sub(now) > Refusal || h.Strikes > Limit || h.Refused != table.Refused(h.Peer, now) {
			t.Errorf("held is %+v", h)
		}
	}
	if len(table.All(now.Add(Refusal))) != 0 {
		t.Error("something is never forgiven")
	}
}
