package gossip

import (
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/crowd"
)

const (
	// relayedAtMost is how many messages that others pass on are looked at in requestWindow
	// before those others have to share.
	relayedAtMost = 1280
	// checksAtMost is the same for the signatures that are checked of what others say of
	// others: half a second of work.
	checksAtMost = 4096
)

// share is what there is time for of what peers pass on. Where it does not suffice, the
// networks that they come from share it, and the rest is left out: nobody is blamed. It is
// safe for concurrent use.
type share struct {
	mu      sync.Mutex
	relayed *crowd.Work
	checks  *crowd.Work
}

func newShare() share {
	return share{relayed: crowd.NewWork(relayedAtMost, requestWindow), checks: crowd.NewWork(checksAtMost, requestWindow)}
}

// take reports whether there is time for so much of a peer's.
func (s *share) take(w *crowd.Work, from netip.Addr, p peer.ID, amount int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.Take(from, string(p), amount, time.Now())
}
