package gossip

import (
	"context"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	watchPulses = 2  // heartbeats between two looks
	patience    = 2  // looks at a deaf neighbour before its connection is closed
	maxPatience = 64 // doubled after each close: it may have left us on purpose
)

// deafness is how often in a row a connected neighbour was seen not listening.
type deafness struct{ looks, patience int }

// look counts one more look at a neighbour that does not listen, and reports
// whether its connection is to be closed.
func (d deafness) look(connected bool) (after deafness, cut bool) {
	d.patience = max(d.patience, patience)
	if !connected {
		return deafness{patience: d.patience}, false
	}
	if d.looks++; d.looks < d.patience {
		return d, false
	}
	return deafness{patience: min(2*d.patience, maxPatience)}, true
}

// strike counts a bad message and disconnects a peer that sent too many.
func (g *Gossip) strike(p peer.ID) {
	if g.offenders.strike(p) {
		g.log.Warn("peer sends bad messages and is refused", "peer", p, "minutes", refusal.Minutes())
		signal(g.refused)
	}
}

// watch closes the connections of refused peers and of deaf neighbours.
//
// Edges are symmetric, so a connected neighbour should be listening. It may
// not be: when it restarts before this side notices that the old connection is
// dead, gossipsub (v0.17) forgets its new subscriptions together with the old
// stream and never asks again. Only this side can see it, and a new connection
// makes the neighbour subscribe anew. Redialling is the business of whoever
// keeps the connections.
func (g *Gossip) watch(ctx context.Context) {
	tick := time.NewTicker(g.watchEvery)
	defer tick.Stop()
	deaf := make(map[peer.ID]deafness)
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.refused:
			g.closeRefused()
		case <-tick.C:
			g.closeDeaf(deaf)
		}
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
		after, cut := deaf[p].look(g.host.Network().Connectedness(p) == network.Connected)
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
