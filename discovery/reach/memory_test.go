package reach

import (
	"runtime"
	"testing"
)

// An app on a phone starts and ends a host whenever it comes and goes. A host used to
// leave 9 kB of types behind for ever.
func TestHostsLeaveNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector has memory of its own")
	}
	const hosts, most = 100, 3 << 10 // bytes for each
	for name, wide := range map[string]bool{"local": false, "everywhere": true} {
		cycle := func(n int) uint64 {
			for range n {
				h, _, err := startHost(wide)
				if err == nil {
					err = h.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			runtime.GC() // pools keep what they have for one more
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := cycle(20)
		after := cycle(hosts)
		if grown := int64(after) - int64(before); grown > hosts*most {
			t.Errorf("%s: %d hosts left %d bytes each", name, hosts, grown/hosts)
		} else {
			t.Logf("%s: %d bytes each", name, grown/hosts)
		}
	}
}
