package summing

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A crowd that sends as slowly as it may, from many addresses, does not keep others from being
// fetched from, and only so many of it wait.
func TestACrowdOfSlowUploadsDelaysNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(fetches, waits)
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		refused := 0
		var crowd sync.WaitGroup
		for i := range 4 * waits {
			from := netip.AddrFrom4([4]byte{64, byte(i % 32), byte(i / 256), 1})
			crowd.Go(func() {
				over, taken := turns.take(ctx, from)
				if !taken {
					mu.Lock()
					refused++
					mu.Unlock()
					return
				}
				time.Sleep(fetchTimeout)
				over()
			})
			synctest.Wait()
			time.Sleep(fetchTimeout / fetches / 8)
		}
		if least := 4*waits - waits - fetches*10; refused < least {
			t.Errorf("%d of the crowd were sent away, want at least %d", refused, least)
		}
		begun := time.Now()
		over, taken := turns.take(ctx, netip.MustParseAddr("192.0.2.1"))
		if wait := time.Since(begun); !taken || wait > fetchTimeout {
			t.Errorf("somebody else waits for %v, taken: %v", wait, taken)
		}
		if taken {
			over()
		}
		stop()
		crowd.Wait()
		if turns.free != fetches || len(turns.waiting) > 0 || len(turns.networks) > 0 || turns.room.Len() > 0 {
			t.Errorf("at the end %d places are free, %d wait, %v", turns.free, len(turns.waiting), turns.networks)
		}
	})
}
