package reach

import (
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/peer"
)

// clockTolerance is the difference between clocks that is not reported.
const clockTolerance = time.Minute

// heard notes by how much a peer's clock is ahead at least. A signature over its addresses
// that is dated after now shows it.
func (r *Reach) heard(e event.EvtPeerIdentificationCompleted, now time.Time) {
	if e.SignedPeerRecord == nil {
		return
	}
	signed, err := e.SignedPeerRecord.Record()
	if err != nil {
		return
	}
	if p, ok := signed.(*peer.PeerRecord); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		if n := r.note(e.Peer); n != nil {
			ahead := time.Unix(0, int64(p.Seq)).Sub(now) // as libp2p numbers them
			n.ahead = &ahead
		}
	}
}

// behind returns by how many seconds most clocks are ahead; 0 means not noticeably. A few
// wrong clocks do not count.
func behind(ahead []time.Duration) float64 {
	slices.Sort(ahead)
	if len(ahead) == 0 || ahead[(len(ahead)-1)/2] < clockTolerance {
		return 0
	}
	return ahead[(len(ahead)-1)/2].Seconds()
}
