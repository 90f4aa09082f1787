package node

import (
	"time"

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

// watch wakes run when a neighbour comes that is awaited or was away, and when one goes,
// until stop is called.
func (h *neighbourhood) watch() (stop func()) {
	events := &network.NotifyBundle{
		ConnectedF:    func(_ network.Network, c network.Conn) { h.came(c.RemotePeer()) },
		DisconnectedF: func(_ network.Network, c network.Conn) { h.went(c.RemotePeer()) },
	}
	h.host.Network().Notify(events)
	return func() { h.host.Network().StopNotify(events) }
}

func (h *neighbourhood) came(id peer.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[id]; l != nil && !(l.up && l.met) {
		h.wake()
	}
}

// went notes that a connection to a neighbour is lost, though it may be back before run
// looks, or before this is told: it may have restarted, so it is asked in any case.
func (h *neighbourhood) went(id peer.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[id]; l != nil {
		l.up, l.asked = l.up && h.connected(id), time.Time{}
		h.wake()
	}
}
