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
	turned := turn.After(time.Now(), every)
	for _, c := range []struct{ after, want time.Duration }{
		{0, 0}, {1, every}, {every - 1, every}, {every, every}, {every + time.Millisecond, 2 * every}, {-time.Hour, -time.Hour},
	} {
		if got := turn.After(turned.Add(c.after), every); !got.Equal(turned.Add(c.want)) {
			t.Errorf("%v after a turn comes the one at %v, want %v", c.after, got, c.want)
		}
	}
}

// Those who begin at different times meet at a turn, also with those who look half as often,
// and nobody waits for less than half of one or more than one and a half.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turned := turn.After(time.Now(), every)
		for range 20 {
			time.Sleep(1234 * time.Millisecond)
			for _, between := range []time.Duration{every, 2 * every} {
				wait := turn.Wait(between)
				if wait < between/2 || wait > between+between/2 {
					t.Errorf("waits for %v", wait)
				}
				if off := time.Now().Add(wait).Sub(turned) % every; off != 0 {
					t.Errorf("%v beside a turn", off)
				}
			}
		}
	})
}
