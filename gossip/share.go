package gossip

import (
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/crowd"
)

const (
	// relayedAtMost is how many messages passed on by peers are checked in each
	// requestWindow before the peers have to share.
	relayedAtMost = 1280
	// checksAtMost is the same for the checked signatures on what peers pass on about
	// others: a quarter of a second of work.
	checksAtMost = 2048
	// requestsAtMost is the same for edge requests, each of which can make an edge and take it
	// back, three milliseconds of work with the disk: thirty a second, where an honest
	// node gets a few.
	requestsAtMost = 320
)

// share limits the work on what peers pass on and ask. If there is too much, the
// networks of these peers share the limit, and the rest is ignored: nobody is blamed. It
// is safe for concurrent use.
type share struct {
	mu       sync.Mutex
	relayed  *crowd.Work
	checks   *crowd.Work
	requests *crowd.Work
}

func newShare() share {
	return share{
		relayed:  crowd.NewWork(relayedAtMost, requestWindow),
		checks:   crowd.NewWork(checksAtMost, requestWindow),
		requests: crowd.NewWork(requestsAtMost, requestWindow),
	}
}

// take reports whether there is time for this amount of a peer's work.
func (s *share) take(w *crowd.Work, from netip.Addr, p peer.ID, amount int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.Take(from, string(p), amount, time.Now())
}
