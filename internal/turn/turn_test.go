package turn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"p2pnode/internal/turn"
)

const every = 5 * time.Second

// Times that need not be exact fall together, and none comes too soon.
func TestAfter(t *testing.T) {
	turned := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct{ after, want time.Duration }{
		{0, 0}, {1, every}, {every - 1, every}, {every, every}, {every + time.Millisecond, 2 * every},
	} {
		if got := turn.After(turned.Add(c.after), every); !got.Equal(turned.Add(c.want)) {
			t.Errorf("%v after a turn comes the one at %v, want %v", c.after, got, c.want)
		}
	}
}

// Those who begin at different times meet at a turn, and nobody waits for less than half of
// one or more than one and a half.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			time.Sleep(1234 * time.Millisecond)
			wait := turn.Wait(every)
			if wait < every/2 || wait > every+every/2 {
				t.Errorf("waits for %v", wait)
			}
			if at := time.Now().Add(wait); !at.Truncate(every).Equal(at) {
				t.Errorf("waits until %v", at)
			}
		}
	})
}
