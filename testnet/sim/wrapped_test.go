package sim

import (
	"reflect"
	"testing"
	"time"

	"p2pnode/learner"
)

// crowded is a simulation of many that come and go and lose messages.
func crowded(t *testing.T, restart bool) Config {
	t.Helper()
	c, err := Crowd{Agents: 150, Dimension: 5, Neighbours: 6, Records: 5, Seed: 3}.Config()
	if err != nil {
		t.Fatal(err)
	}
	c.Until, c.Latency, c.Loss = 30*time.Second, 300*time.Millisecond, 0.2
	c.Away = churn(150, 5*time.Second, 4*time.Second, c.Until, 9)
	for i := range c.Away {
		c.Away[i].Restart = restart
	}
	return c
}

// Windows, shards, and memory that is used again change nothing of what agents that
// are looked at one by one do: not at the end, and not on the way.
func TestWindowsChangeNothing(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"finished": func(c *Config) {
			for i := range c.Participants {
				c.Participants[i].Releases = 1 + i%20
			}
		},
		"given": func(c *Config) {},
		"found": func(c *Config) { c.Discovery = &Discovery{Contacts: 5} },
		"released": func(c *Config) {
			c.Task.Graph.Rule = "released"
			c.Task.Graph.Gamma = 1
			c.Discovery = &Discovery{Contacts: 5}
		},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				observed := func(wrap bool) (*Result, [][]learner.State) {
					c := crowded(t, restart)
					change(&c)
					if wrap {
						c.Wrap = func(_ int, a learner.Agent) learner.Agent { return a }
					}
					var seen [][]learner.State
					c.Every = 700 * time.Millisecond
					c.Sample = func(_ time.Duration, states []learner.State) { seen = append(seen, states) }
					return run(t, c), seen
				}
				got, gotSeen := observed(false)
				want, wantSeen := observed(true)
				for k := range wantSeen {
					for i := range wantSeen[k] {
						if !reflect.DeepEqual(gotSeen[k][i], wantSeen[k][i]) {
							t.Fatalf("sample %d: agent %d is at\n%v, want\n%v", k, i, gotSeen[k][i], wantSeen[k][i])
						}
					}
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%d messages, %d lost, sent %v, end %v; want %d, %d, %v, %v", got.Messages, got.Lost, got.Sent, got.End, want.Messages, want.Lost, want.Sent, want.End)
				}
			})
		}
	}
}

// Looking at the states changes nothing.
func TestSamplesChangeNothing(t *testing.T) {
	c := crowded(t, true)
	c.Discovery = &Discovery{Contacts: 5}
	want := run(t, c)
	c.Every, c.Sample = 130*time.Millisecond, func(time.Duration, []learner.State) {}
	if got := run(t, c); !reflect.DeepEqual(got, want) {
		t.Errorf("%d messages, %d lost; want %d, %d", got.Messages, got.Lost, want.Messages, want.Lost)
	}
}

// A simulation without an end ends when nobody has anything left to do.
func TestNoEndIsWhenNothingIsLeft(t *testing.T) {
	c := config(t, 3)
	want := run(t, c)
	c.Until = learner.Never
	if got := run(t, c); !reflect.DeepEqual(got, want) {
		t.Errorf("ended at %v after %d messages, want %v and %d", got.End, got.Messages, want.End, want.Messages)
	}
}
