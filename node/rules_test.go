package node

import (
	"maps"
	"math"
	"slices"
	"testing"

	"p2pnode/gossip"
	"p2pnode/learner"
)

// Which kinds a node takes, and from whom, by learner and role.
func TestRulesFollowFromTheTask(t *testing.T) {
	kinds := func(r gossip.Rules) []learner.Kind { return slices.Sorted(maps.Keys(r)) }
	const p = 3
	task := lineTask()
	task.Polar = learner.Polar{Servers: []string{"s1", "s2", "s3"}, Bound: 2, Additive: 0.5}
	for _, c := range []struct {
		learner string
		self    learner.ID
		want    []learner.Kind
		depth   int
	}{
		{"personal", "a", []learner.Kind{learner.KindModel}, 1},
		{"propagation", "a", []learner.Kind{learner.KindModel}, 1},
		{"diffusion", "a", []learner.Kind{learner.KindModel, learner.KindAck}, 4},
		{"km", "a", []learner.Kind{learner.KindModel, learner.KindAck}, 4},
		{"polar", "a", []learner.Kind{learner.KindModel}, 4},
		{"polar", "s1", []learner.Kind{learner.KindModel, learner.KindGradient, learner.KindMask, learner.KindMasked}, 4},
	} {
		task.Learner, task.Rounds = c.learner, learner.Rounds{}
		if c.depth > 1 {
			task.Rounds = learner.Rounds{Count: 50, Seconds: 1, Step: 1}
		}
		r := rules(task, c.self)
		if !slices.Equal(kinds(r), c.want) || inboxDepth(task) != c.depth {
			t.Errorf("%s as %s takes %v in a depth of %d, want %v and %d", c.learner, c.self, kinds(r), inboxDepth(task), c.want, c.depth)
		}
		for kind, rule := range r {
			last := uint64(task.Rounds.Count)
			if c.learner == "polar" && kind == learner.KindModel {
				last++ // the result
			}
			if rule.Last != last || rule.Reals+rule.Ring != p && kind != learner.KindAck {
				t.Errorf("%s: kind %d has the rule %+v", c.learner, kind, rule)
			}
		}
	}
	r := rules(task, "s1") // the last task is polar's
	for kind, fromServers := range map[learner.Kind]bool{
		learner.KindModel: true, learner.KindMask: true, learner.KindMasked: true, learner.KindGradient: false,
	} {
		if r[kind].From("s2") != fromServers || r[kind].From("client") == fromServers {
			t.Errorf("kind %d: from a server %v, from a client %v", kind, r[kind].From("s2"), r[kind].From("client"))
		}
	}
	want := 2*(max(task.Clip, task.GradientBound())+2*task.Lambda*task.Radius) + 0.5
	if got := r[learner.KindGradient].Radius; got != want {
		t.Errorf("gradients lie in a ball of radius %v, want %v", got, want)
	}
	task.Polar.Private = true
	if got := rules(task, "s1")[learner.KindGradient].Radius; !math.IsInf(got, 1) {
		t.Errorf("noisy gradients lie in a ball of radius %v", got)
	}
}
