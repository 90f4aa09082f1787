package node

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery/reach"
	"p2pnode/internal/crowd"
	"p2pnode/peering"
)

// waits says why nothing is released although somebody listens; "" if nothing prevents a
// release.
func (h *neighbourhood) waits(list []neighbour) string {
	if !slices.ContainsFunc(list, func(n neighbour) bool { return n.live }) {
		return ""
	}
	c, now := h.live(), time.Now()
	if at := h.again(); !at.IsZero() {
		return fmt.Sprintf("%d releases of one day are made (key daily_releases); the next is for %s", c.DailyReleases, at.Format("15:04 on 2 January"))
	}
	wanted := peering.Audience{Count: c.Listeners, Age: time.Duration(c.ListenerHours * float64(time.Hour))}
	named := sync.OnceValue(h.origins)
	enough, count := wanted.Enough(func(yield func(peering.Listener) bool) {
		for _, n := range list {
			if n.live && !yield(h.listener(n, named, now)) {
				return
			}
		}
	})
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

// again returns when another release may be made; the zero time if it may be made now.
func (h *neighbourhood) again() time.Time {
	return h.audience.again(time.Now(), h.live().DailyReleases)
}

// listener returns what is known of a neighbour that listens. Known to the owner are: the
// members of a private network, peers that the configuration names as neighbours or as
// addresses to start from, peers that the owner added, servers of the task, and peers on
// the local network.
func (h *neighbourhood) listener(n neighbour, named func() []peer.AddrInfo, now time.Time) peering.Listener {
	l := peering.Listener{
		Known: h.private.Key != nil || h.private.Book != nil || slices.Contains(h.config.Only, n.Peer) || slices.Contains(h.config.Servers, n.Peer),
	}
	// The age is measured by the clock of this run, so that setting the clock meanwhile
	// changes nothing. An edge that an earlier version made has no time and counts as
	// made in 1970.
	l.Age = now.Sub(h.start) - n.Since
	for _, c := range h.host.Network().ConnsToPeer(n.id) {
		from := crowd.Of(c.RemoteMultiaddr())
		l.Known = l.Known || !reach.IsRelayed(c.RemoteMultiaddr()) && nearby(from, crowd.Of(c.LocalMultiaddr()))
		if from.IsValid() {
			l.Network = crowd.Widest(from).String()
		}
	}
	l.Known = l.Known || slices.ContainsFunc(named(), func(p peer.AddrInfo) bool { return p.ID == n.id })
	return l
}

// nearby reports whether a connection between two addresses stays on the local network. A
// machine that has only a public address talks to itself at that one. The IPv6 addresses
// of a home's network are public and in one /64.
func nearby(from, to netip.Addr) bool {
	return from.IsLoopback() || from.IsPrivate() || from.IsLinkLocalUnicast() || crowd.OneCustomer(from, to)
}
