package gossip

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/turn"
)

const (
	// calmEvery is about the shortest time between two checks while all neighbours listen.
	calmEvery = 5 * time.Second
	// deafEvery is the longest time between two checks while a neighbour is deaf.
	deafEvery = 2 * time.Second
	minChecks = 4  // failed checks of a neighbour before its connection is closed
	maxChecks = 64 // the limit doubles up to this after each close: the neighbour may have left on purpose
)

// deafness counts how many checks in a row found a connected neighbour not
// listening, and how many of them close its connection.
type deafness struct{ checks, limit int }

// check counts one more check that found the neighbour not listening, and reports
// whether to close its connection.
func (d deafness) check(connected bool) (after deafness, cut bool) {
	d.limit = max(d.limit, minChecks)
	if !connected {
		return deafness{limit: d.limit}, false
	}
	if d.checks++; d.checks < d.limit {
		return d, false
	}
	return deafness{limit: min(2*d.limit, maxChecks)}, true
}

// watch closes the connections of refused peers and of deaf neighbours.
//
// Edges are symmetric, so a connected neighbour should be listening. A deaf one
// does not: when a neighbour restarts before this side notices that the old
// connection is dead, gossipsub (v0.17) forgets its new subscriptions together with
// the old stream and never asks again. Only this side can see that. A new
// connection makes the neighbour subscribe again. The keeper of the connections
// redials, not this package.
//
// On a busy machine a new neighbour takes seconds to subscribe. A connection that is cut
// then may be one through a hole in two routers, which cannot be punched again for a minute.
func (g *Gossip) watch(ctx context.Context) {
	tick := time.NewTicker(turn.Wait(g.watchEvery))
	defer tick.Stop()
	deaf := make(map[peer.ID]deafness)
	door := &network.NotifyBundle{ConnectedF: g.turnAway}
	g.host.Network().Notify(door)
	defer g.host.Network().StopNotify(door)
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.refused:
			g.closeRefused()
		case <-tick.C:
			g.closeDeaf(deaf)
			next := turn.Wait(g.watchEvery)
			if len(deaf) > 0 {
				next = min(next, deafEvery)
			}
			tick.Reset(next)
		}
	}
}

// turnAway closes a new connection of a peer that is refused because of its offences.
func (g *Gossip) turnAway(_ network.Network, c network.Conn) {
	if g.offenders.struck(c.RemotePeer()) {
		go c.Close() // libp2p calls this function, and may hold its locks
	}
}

func (g *Gossip) closeRefused() {
	for _, p := range g.host.Network().Peers() {
		if g.offenders.Contains(p) {
			g.disconnect(p)
		}
	}
}

func (g *Gossip) closeDeaf(deaf map[peer.ID]deafness) {
	listeners, followed := g.Listeners(), g.followed()
	for p := range deaf {
		if !slices.Contains(followed, p) {
			delete(deaf, p)
		}
	}
	for _, p := range followed {
		if _, listens := slices.BinarySearch(listeners, p); listens {
			delete(deaf, p)
			continue
		}
		after, cut := deaf[p].check(g.host.Network().Connectedness(p) == network.Connected)
		if deaf[p] = after; cut {
			g.log.Info("neighbour does not listen; reconnecting", "peer", p)
			g.disconnect(p)
		}
	}
}

func (g *Gossip) disconnect(p peer.ID) {
	if err := g.host.Network().ClosePeer(p); err != nil {
		g.log.Debug("closing a connection failed", "peer", p, "error", err)
	}
}

func (g *Gossip) followed() []peer.ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	peers := make([]peer.ID, 0, len(g.follows))
	for _, f := range g.follows {
		peers = append(peers, f.peer)
	}
	return peers
}
