package sim

import (
	"testing"
	"time"
)

// Letters to who is away for long, or will never wake again, are not kept: after ten
// times as long there is not more memory.
func TestNobodysLettersAreNotKept(t *testing.T) {
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
			size := func(until time.Duration) (letters, waiting int) {
				if err := r.Advance(until); err != nil {
					t.Fatal(err)
				}
				for i := range r.s.shards {
					letters += r.s.shards[i].letters.size
				}
				for i := range r.s.actors {
					waiting += len(r.s.actors[i].inbox)
				}
				return letters, waiting
			}
			letters, waiting := size(50 * time.Second)
			later, waitingLater := size(500 * time.Second)
			if later > letters || waitingLater > 2*waiting {
				t.Errorf("%d letters and %d arrivals, and %d and %d after ten times as long", letters, waiting, later, waitingLater)
			}
		})
	}
}
