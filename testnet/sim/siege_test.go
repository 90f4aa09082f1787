package sim

import (
	"slices"
	"testing"
	"time"
)

// Ten times as many hostile identities as honest ones, with perfect claims, after the honest
// ones have found each other: nodes keep at least half of their edges, 30 % of the weight and
// a quarter of the view honest, whether or not anybody knows where in the network they are. Seeds are
// fixed, so the test cannot fail by chance. Without what holds the crowd up, shares of edges
// fall below .2 under the rules that compare.
func TestSiege(t *testing.T) {
	for _, rule := range []string{"random", "profile", "released"} {
		s := NewSiege(rule, 60, 3)
		s.Form, s.Attack, s.Recover, s.Rate = 6*time.Minute, 3*time.Minute, time.Minute, 0.5
		var seen []Besieged
		s.Look = func(b Besieged) { seen = append(seen, b) }
		s.Run()
		for _, b := range seen {
			if b.Edges < 0.5 || b.Weight < 0.3 || b.View < 0.25 {
				t.Errorf("%s: %+v", rule, b)
			}
		}
		last := seen[len(seen)-1]
		t.Logf("%s: %+v", rule, last)
		if last.At < 9*time.Minute || last.Edges < 1 || last.Short > 0.05 {
			t.Errorf("%s: after the crowd has left: %+v", rule, last)
		}
	}
}

func TestSiegeRepeats(t *testing.T) {
	run := func(seed uint64) (seen []Besieged) {
		s := NewSiege("released", 20, seed)
		s.Form, s.Attack, s.Recover, s.HonestNets, s.HostileNets = time.Minute, time.Minute, 0, 15, 5
		s.Look = func(b Besieged) { seen = append(seen, b) }
		s.Run()
		return seen
	}
	once := run(1)
	if !slices.Equal(once, run(1)) || slices.Equal(once, run(2)) {
		t.Error("a seed does not say how a siege goes")
	}
}
