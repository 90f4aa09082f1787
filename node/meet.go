package node

import (
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// meet notes that a peer's word of this node's past agrees with the ledger.
func (h *neighbourhood) meet(id peer.ID) {
	h.mu.Lock()
	l := h.links[id]
	news := l != nil && !l.met
	if news {
		l.met = true
	}
	h.mu.Unlock()
	if news {
		h.look()
	}
}

// awaited reports whether a neighbour of an earlier run has not been met yet.
func (h *neighbourhood) awaited(id peer.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.links[id]
	return l != nil && !l.met
}

// arrivals receives a value when a neighbour that is awaited has connected, until
// stop is called.
func (h *neighbourhood) arrivals() (came <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	watch := &network.NotifyBundle{ConnectedF: func(_ network.Network, conn network.Conn) {
		if h.awaited(conn.RemotePeer()) {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}}
	h.host.Network().Notify(watch)
	return c, func() { h.host.Network().StopNotify(watch) }
}
