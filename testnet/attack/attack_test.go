package attack

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
)

func TestBars(t *testing.T) {
	for _, c := range []struct {
		bar  Bar
		held bool
	}{
		{AtMost("1", 64, 64, "MB"), true},
		{AtMost("1", 64.01, 64, "MB"), false},
		{AtMost("1", math.NaN(), 64, "MB"), false},
		{atLeast("1", 0.99, 0.99, ""), true},
		{atLeast("1", 0.98, 0.99, ""), false},
		{atLeast("1", math.NaN(), 0.99, ""), false},
	} {
		if c.bar.Held != c.held {
			t.Errorf("%+v, want held %v", c.bar, c.held)
		}
	}
}

func TestScenariosHaveNames(t *testing.T) {
	var names []string
	for _, s := range Scenarios() {
		if s.Name == "" || s.About == "" || s.Run == nil || strings.ToLower(s.Name) != s.Name {
			t.Errorf("%+v", s)
		}
		names = append(names, s.Name)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a name stands twice among %q", names)
	}
}

func TestParseStat(t *testing.T) {
	text := "71 (p2p (node) 1) S 1 71 71 0 -1 4194560 9 0 0 0 250 50 0 0 20 0 9 0 12 1000 2000 18446744073709551615 1 1 0"
	u, err := parseStat(text)
	if err != nil || u.cpu != 3 || !(u.memory > 8 && u.memory < 200) { // pages of 4 to 64 kB
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := parseStat("71 (p2pnode) S 1"); err == nil {
		t.Error("a short line was believed")
	}
}

// Costs are those beyond what was there before, and the drift is that of the last half.
func TestCosts(t *testing.T) {
	began := time.Unix(0, 0)
	line := func(share float64, memory ...float64) *course {
		c := &course{}
		for i, m := range memory {
			c.when = append(c.when, began.Add(time.Duration(i)*time.Second))
			c.sample = append(c.sample, usage{memory: m, cpu: share * float64(i)})
		}
		return c
	}
	bars := costs("x", line(0.1, 40, 40, 40), line(0.3, 50, 60, 70, 80, 90, 90, 92, 96), 256, true)
	for i, want := range []float64{56, 0.2, 4} {
		if math.Abs(bars[i].Measured-want) > 1e-9 || !bars[i].Held {
			t.Errorf("%+v, want %v", bars[i], want)
		}
	}
	if bars := costs("x", line(0.1, 40, 40), line(0.3, 50, 60), 256, false); len(bars) != 2 {
		t.Errorf("a short attack has no last half: %+v", bars)
	}
}

// A model counts as heard if it, or a newer one, is there in time.
func TestEars(t *testing.T) {
	e := newReceptions(nil)
	now := time.Unix(0, 0)
	e.published("a", 1, now) // the first look: what was published before
	e.published("a", 2, now)
	e.published("a", 2, now)
	e.published("b", 7, now)
	e.published("b", 8, now)
	e.published("c", 1, now)
	e.published("c", 2, now)
	e.hear(map[string]uint64{"a": 3, "b": 7}, now.Add(time.Second)) // c is a neighbour no more
	e.hear(map[string]uint64{"a": 3, "b": 7}, now.Add(time.Minute))
	if e.expected != 2 || e.heard != 1 || len(e.waiting) != 0 || e.share() != 0.5 {
		t.Errorf("%+v", e)
	}
}

// What the attacker writes by hand, it reads back.
func TestEdgeMessages(t *testing.T) {
	r := request{
		kind: gossip.EdgeExchange, own: entry{round: 3, std: 0.5, vector: []float64{1, -2}, passport: []byte("own")},
		known: []entry{{peer: peer.ID("somebody"), passport: []byte("p")}}, turn: 9,
	}
	got := decodeMessage(r.encode(), 0)
	if gossip.EdgeKind(got.answer) != r.kind || got.turn != 9 || !slices.Equal(got.own.vector, r.own.vector) || got.own.std != 0.5 ||
		len(got.known) != 1 || got.known[0].peer != "somebody" || string(got.own.passport) != "own" || got.own.round != 3 {
		t.Errorf("a request: %+v", got)
	}
	got = decodeMessage(r.encodeReply(), 1)
	if got.answer != gossip.EdgeAccepted || got.turn != 9 || len(got.known) != 1 || got.own.round != 3 {
		t.Errorf("a reply: %+v", got)
	}
}
