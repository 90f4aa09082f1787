package node

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/crowd"
	"p2pnode/peering"
)

// waits says why nothing is released though somebody listens; "": something is.
func (h *neighbourhood) waits(list []neighbour) string {
	c, now := h.live(), time.Now()
	var listeners []peering.Listener
	var named []peer.ID
	for _, p := range h.origins() {
		named = append(named, p.ID)
	}
	for _, n := range list {
		if n.live {
			listeners = append(listeners, h.listener(n, named, now))
		}
	}
	if len(listeners) == 0 {
		return ""
	}
	if at := h.again(); !at.IsZero() {
		return fmt.Sprintf("%d releases of one day are made (key daily_releases); the next is for %s", c.DailyReleases, at.Format("15:04 on 2 January"))
	}
	wanted := peering.Audience{Count: c.Listeners, Age: time.Duration(c.ListenerHours * float64(time.Hour))}
	enough, count := wanted.Enough(listeners)
	if enough {
		return ""
	}
	hours := "an hour"
	if c.ListenerHours != 1 {
		hours = fmt.Sprintf("%v hours", c.ListenerHours)
	}
	return fmt.Sprintf("waits for %d listeners of different networks that have been neighbours for %s, or for one that you know: has %d (keys listeners and listener_hours)",
		wanted.Count, hours, count)
}

// again is when another release may be made; the zero time if that is now.
func (h *neighbourhood) again() time.Time {
	return h.audience.again(time.Now(), h.live().DailyReleases)
}

// listener is what is known of a neighbour that listens. The owner knows the members of her
// private network, whom she has named as an address to start from or as a neighbour, who
// serves the task, and who is on her local network.
func (h *neighbourhood) listener(n neighbour, named []peer.ID, now time.Time) peering.Listener {
	l := peering.Listener{
		Known: h.private.Key != nil || h.private.Book != nil || slices.Contains(h.config.Only, n.Peer) || slices.Contains(h.config.Servers, n.Peer),
	}
	// By the clock of this run, so that a clock that is set meanwhile changes nothing. It is
	// that of 1970 if an earlier version, which noted no age, made the edge.
	l.Age = now.Sub(h.start) - n.Since
	id, err := peer.Decode(string(n.Peer))
	if err != nil {
		return l
	}
	l.Known = l.Known || slices.Contains(named, id)
	for _, c := range h.host.Network().ConnsToPeer(id) {
		from := crowd.Of(c.RemoteMultiaddr())
		l.Known = l.Known || !relayed(c) && nearby(from, crowd.Of(c.LocalMultiaddr()))
		if from.IsValid() {
			l.Network = crowd.Widest(from).String()
		}
	}
	return l
}

// nearby reports whether a connection between two addresses stays on the local network. A
// machine with a public address alone talks to itself at that one, and a home's network
// of IPv6 has public addresses of one /64.
func nearby(from, to netip.Addr) bool {
	return from.IsLoopback() || from.IsPrivate() || from.IsLinkLocalUnicast() || crowd.OneCustomer(from, to)
}

// relayed reports whether a connection leads over a relay, whose address it has.
func relayed(c network.Conn) bool {
	_, err := c.RemoteMultiaddr().ValueForProtocol(multiaddr.P_CIRCUIT)
	return err == nil
}
