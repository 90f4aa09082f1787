package sim

import (
	"testing"
	"time"
)

// What is said to who is away for long, or will never wake again, is not kept: after ten
// times as long there is not more memory.
func TestVersionsForNobodyAreNotKept(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"away": func(c *Config) {
			for i := 0; i < len(c.Participants); i += 4 {
				c.Away = append(c.Away, Away{Who: i, From: time.Second, To: time.Hour})
			}
		},
		"done": func(c *Config) {
			for i := 0; i < len(c.Participants); i += 4 {
				c.Participants[i].Releases = 3
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Crowd{Agents: 100, Dimension: 5, Neighbours: 6, Records: 5, Seed: 3}.Config()
			if err != nil {
				t.Fatal(err)
			}
			change(&c)
			r, err := Start(c)
			if err != nil {
				t.Fatal(err)
			}
			size := func(until time.Duration) (versions, waiting int) {
				if err := r.Advance(until); err != nil {
					t.Fatal(err)
				}
				for i := range r.s.shards {
					versions += r.s.shards[i].pool.size
				}
				for i := range r.s.actors {
					waiting += len(r.s.actors[i].inbox)
				}
				return versions, waiting
			}
			versions, waiting := size(50 * time.Second)
			later, waitingLater := size(500 * time.Second)
			if later > versions || waitingLater > 2*waiting {
				t.Errorf("%d versions and %d letters, and %d and %d after ten times as long", versions, waiting, later, waitingLater)
			}
		})
	}
}
