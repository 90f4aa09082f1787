package discovery

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
)

const (
	firstRejoin   = time.Second // between tries while nobody is connected; doubles
	longestRejoin = 5 * time.Minute
	atOnce        = 4 // remembered peers dialled together
)

// rejoin dials remembered peers, a few at a time, whenever the node is connected
// to nobody, until ctx ends: with one of them it finds the others.
func rejoin(ctx context.Context, h host.Host, c Config) {
	p := pace{first: firstRejoin, longest: longestRejoin, grow: 2}
	next := 0
	for ctx.Err() == nil {
		changed := c.Interfaces.Changed()
		if list := c.Remembered(); isAlone(h) && len(list) > 0 {
			next %= len(list)
			few := list[next:min(next+atOnce, len(list))]
			next += len(few)
			c.Tried(tryAll(ctx, h, c, few))
		}
		alone := isAlone(h)
		p.rest(ctx, !alone, changed, func() bool { return !alone && isAlone(h) })
	}
}

var errHungUp = errors.New("discovery: the peer closed the connection at once")

func isAlone(h host.Host) bool { return len(h.Network().Peers()) == 0 }

// tryAll dials peers together, reports those it reaches as found, and returns which of
// them answered and which did not.
func tryAll(ctx context.Context, h host.Host, c Config, peers []peer.AddrInfo) (reached, failed []peer.ID) {
	var dials sync.WaitGroup
	var mu sync.Mutex
	for _, p := range peers {
		dials.Go(func() {
			err := connect(ctx, h, p)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				if ctx.Err() == nil { // this node was not stopped meanwhile
					failed = append(failed, p.ID)
				}
				return
			}
			reached = append(reached, p.ID)
			c.Found(p)
		})
	}
	dials.Wait()
	return reached, failed
}

// connect dials a peer and ignores the swarm's back-off after earlier failures, which
// would keep a peer that has just started unreachable for 5 s or more. The callers pace
// themselves. If the other end closes the connection at once, because it refuses this
// node, connect fails.
func connect(ctx context.Context, h host.Host, p peer.AddrInfo) error {
	if s, ok := h.Network().(*swarm.Swarm); ok {
		s.Backoff().Clear(p.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := h.Connect(ctx, p); err != nil {
		return err
	}
	if h.Network().Connectedness(p.ID) == network.NotConnected {
		return errHungUp
	}
	return nil
}
