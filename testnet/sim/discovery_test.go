package sim

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
)

// discovering is a network of two groups that find their neighbours, three minutes
// long: 180 mean wakes, of which the first few use the budget up.
func discovering(t *testing.T, rule string, n int) Config {
	c := config(t, 5)
	c.Task.Graph = learner.Graph{Rule: rule, Degree: 4}
	if rule == "profile" {
		c.Task.Graph.Gamma, c.Task.Graph.Profile = 0.5, 2
	}
	c.Participants = people(t, c.Task, n, c.Participants[0].Policy)
	for i := range c.Participants {
		p := &c.Participants[i]
		p.Edges = nil
		if rule == "profile" {
			p.Profile = []float64{1, float64(2*(i%2)-1) + 0.3*float64(i)/float64(n)}
		}
	}
	c.Until, c.Trace = 3*time.Minute, false
	c.Loss = 0.1
	c.Discovery = &Discovery{Contacts: 2}
	return c
}

func index(c *Config) map[learner.ID]int {
	m := map[learner.ID]int{}
	for i, p := range c.Participants {
		m[p.ID] = i
	}
	return m
}

// checkEdges says what every found graph must be: the same at both ends, between
// degree and twice that many edges each, and settled: a node whose budget is
// spent and whose estimates are fixed leaves the graph alone.
func checkEdges(t *testing.T, c *Config, r *Result) {
	t.Helper()
	at := index(c)
	for i, edges := range r.Edges {
		if len(edges) < c.Task.Graph.Degree || len(edges) > 2*c.Task.Graph.Degree {
			t.Errorf("participant %d has %d edges", i, len(edges))
		}
		for _, e := range edges {
			back := slices.IndexFunc(r.Edges[at[e.Peer]], func(b learner.Edge) bool { return b.Peer == c.Participants[i].ID })
			if back < 0 || r.Edges[at[e.Peer]][back].Weight != e.Weight {
				t.Errorf("the edge from %d to %s is not the same at the other end", i, e.Peer)
			}
		}
	}
	late := 0
	for _, when := range r.EdgeChanges {
		if when > c.Until/2 {
			late++
		}
	}
	// In half of the time each makes 180 turns.
	if len(r.EdgeChanges) == 0 || late > len(c.Participants)/10 {
		t.Errorf("%d changes, %d of them in the second half", len(r.EdgeChanges), late)
	}
}

// groups is the share of the edges that join participants of one group.
func groups(c *Config, r *Result) float64 {
	at, all, same := index(c), 0, 0
	for i, edges := range r.Edges {
		for _, e := range edges {
			all++
			if at[e.Peer]%2 == i%2 {
				same++
			}
		}
	}
	return float64(same) / float64(all)
}

func TestDiscoveryByProfile(t *testing.T) {
	c := discovering(t, "profile", 40)
	r := run(t, c)
	checkEdges(t, &c, r)
	if share := groups(&c, r); share < 1 {
		t.Errorf("%.3f of the edges join one group", share)
	}
	if n := len(component(&c, r, 0)); n != 20 {
		t.Errorf("the first participant reaches %d of the 20 of its group", n)
	}
	for i, made := range r.Releases {
		if made != 5 || len(r.States[i].Heard) == 0 {
			t.Errorf("participant %d made %d releases and heard %d", i, made, len(r.States[i].Heard))
		}
	}
	if again := run(t, c); !reflect.DeepEqual(r, again) {
		t.Error("two runs with one seed differ")
	}
}

func TestDiscoveryAtRandom(t *testing.T) {
	c := discovering(t, "random", 40)
	r := run(t, c)
	checkEdges(t, &c, r)
	if share := groups(&c, r); share < 0.3 || share > 0.7 {
		t.Errorf("%.3f of the edges join one group", share)
	}
	if n := len(component(&c, r, 0)); n != 40 {
		t.Errorf("the first participant reaches %d of 40", n)
	}
}

// component is everybody a participant reaches.
func component(c *Config, r *Result, from int) map[int]bool {
	at, reached, next := index(c), map[int]bool{from: true}, []int{from}
	for len(next) > 0 {
		i := next[0]
		next = next[1:]
		for _, e := range r.Edges[i] {
			if j := at[e.Peer]; !reached[j] {
				reached[j] = true
				next = append(next, j)
			}
		}
	}
	return reached
}

// Neighbours that leave are replaced, and who comes late finds a place.
func TestDiscoverySurvivesChurn(t *testing.T) {
	c := discovering(t, "profile", 40)
	for i := range 8 {
		c.Away = append(c.Away, Away{Who: i, From: time.Minute, To: time.Hour}, Away{Who: 39 - i, From: 0, To: 90 * time.Second, Restart: i%2 == 0})
	}
	r := run(t, c)
	at := index(&c)
	for i := 8; i < 40; i++ {
		up := 0
		for _, e := range r.Edges[i] {
			if at[e.Peer] >= 8 {
				up++
			}
		}
		if up < 4 {
			t.Errorf("participant %d has %d live neighbours", i, up)
		}
	}
}

func TestDiscoveryReplays(t *testing.T) {
	c := discovering(t, "profile", 20)
	c.Trace = true
	r := run(t, c)
	for i, p := range c.Participants {
		fresh, err := learner.New(learner.Config{
			Self: p.ID, Task: c.Task, Policy: p.Policy, WakeMean: c.WakeMean.Seconds(), Schedule: AgentSchedule(c.Seed, i),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := learner.Replay(fresh, r.Traces[i]); !reflect.DeepEqual(got, r.States[i]) {
			t.Errorf("participant %d replayed to another state", i)
		}
	}
}

func TestDiscoveryRefuses(t *testing.T) {
	for name, d := range map[string]Discovery{
		"no contacts": {},
	} {
		c := discovering(t, "random", 10)
		c.Discovery = &d
		if _, err := Run(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c := discovering(t, "random", 10)
	c.Discovery.Limits = graph.Limits{Random: 3, Exchange: 2, MaxAge: 30}
	if _, err := Run(c); err != nil {
		t.Errorf("small limits: %v", err)
	}
}
