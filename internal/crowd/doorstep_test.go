package crowd_test

import (
	"sync/atomic"
	"testing"
	"time"

	"p2pnode/internal/crowd"
)

// closer counts how often it is closed.
type closer struct{ times atomic.Int32 }

func (c *closer) Close() error { c.times.Add(1); return nil }

// So many connections wait to be closed as there are places, and the oldest makes room.
func TestTheDoorstepIsBounded(t *testing.T) {
	d := crowd.NewDoorstep(2, time.Minute)
	var all [4]closer
	for i := range all {
		if err := d.Keep(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range all {
		if closed := all[i].times.Load() > 0; closed != (i < 2) {
			t.Errorf("connection %d is closed: %v", i, closed)
		}
	}
}
