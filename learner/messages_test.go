package learner

import (
	"maps"
	"math"
	"slices"
	"testing"
)

// Which kinds a node takes, and from whom, by learner and role.
func TestRulesFollowFromTheTask(t *testing.T) {
	kinds := func(r Rules) []Kind { return slices.Sorted(maps.Keys(r)) }
	const p = 3
	task := plainTask("squared", p)
	task.Polar = Polar{Servers: []string{"s1", "s2", "s3"}, Bound: 2, Additive: 0.5}
	for _, c := range []struct {
		name  string
		self  ID
		want  []Kind
		depth int
	}{
		{"personal", "a", []Kind{KindModel}, 1},
		{"propagation", "a", []Kind{KindModel}, 1},
		{"diffusion", "a", []Kind{KindModel, KindAck}, 4},
		{"km", "a", []Kind{KindModel, KindAck}, 4},
		{"polar", "a", []Kind{KindModel}, 4},
		{"polar", "s1", []Kind{KindModel, KindGradient, KindMask, KindMasked}, 4},
	} {
		task.Learner, task.Rounds = c.name, Rounds{}
		if c.depth > 1 {
			task.Rounds = Rounds{Count: 50, Seconds: 1, Step: 1}
		}
		r := task.Messages(c.self)
		if !slices.Equal(kinds(r), c.want) || task.Depth() != c.depth {
			t.Errorf("%s as %s takes %v in a depth of %d, want %v and %d", c.name, c.self, kinds(r), task.Depth(), c.want, c.depth)
		}
		for kind, rule := range r {
			last := uint64(task.Rounds.Count)
			if c.name == "polar" && kind == KindModel {
				last++ // the result
			}
			if rule.Last != last || rule.Reals+rule.Ring != p && kind != KindAck {
				t.Errorf("%s: kind %d has the rule %+v", c.name, kind, rule)
			}
		}
	}
	r := task.Messages("s1") // the last task is polar's
	for kind, fromServers := range map[Kind]bool{
		KindModel: true, KindMask: true, KindMasked: true, KindGradient: false,
	} {
		if r[kind].From("s2") != fromServers || r[kind].From("client") == fromServers {
			t.Errorf("kind %d: from a server %v, from a client %v", kind, r[kind].From("s2"), r[kind].From("client"))
		}
	}
	want := 2*(max(task.Clip, task.GradientBound())+2*task.Lambda*task.Radius) + 0.5
	if got := r[KindGradient].Radius; got != want {
		t.Errorf("gradients lie in a ball of radius %v, want %v", got, want)
	}
	task.Polar.Private = true
	if got := task.Messages("s1")[KindGradient].Radius; !math.IsInf(got, 1) {
		t.Errorf("noisy gradients lie in a ball of radius %v", got)
	}
}
