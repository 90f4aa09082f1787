package reach

import (
	"cmp"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Source is where an address of the node comes from.
type Source string

// The sources of addresses.
const (
	Interface Source = "interface" // of this machine
	Router    Source = "router"    // mapped by UPnP
	Observed  Source = "observed"  // seen by other peers
	Relay     Source = "relay"     // a place reserved at a relay
	Announced Source = "announced" // written in the configuration
)

// State is what is known of an address.
type State string

// The states of an address.
const (
	Verified State = "verified" // another peer has called it, now
	Failing  State = "failing"  // other peers have tried and could not
	Untested State = "untested" // public, and nobody has tried yet
	Private  State = "private"  // means something on the local network or machine only
)

// Address is one address that a node has.
type Address struct {
	Address string `json:"address"`
	Source  Source `json:"source"`
	State   State  `json:"state"`
	Relay   string `json:"relay,omitempty"` // peer ID, of an address through a relay
}

// Link is how a connected peer is connected.
type Link struct {
	Peer    string `json:"peer"`
	Through string `json:"through,omitempty"` // the relay's peer ID; empty: directly
	Punched bool   `json:"punched"`           // the direct connection was made by hole punching
	Called  bool   `json:"called"`            // the peer called this node, directly
	Local   bool   `json:"local"`             // on this machine or the local network
	Here    bool   `json:"here"`              // on this machine
	// NoPunch says why no direct connection was made; empty: it was, or not tried.
	NoPunch string `json:"no_punch,omitempty"`
}

// Report is what a host knows of its reachability.
type Report struct {
	Loopback  bool      `json:"loopback"` // nothing outside the machine can reach it
	Router    bool      `json:"router"`   // one that maps ports was found
	Addresses []Address `json:"addresses"`
	Links     []Link    `json:"links"`
	// ClockBehind is how far this machine's clock is behind those of most peers, in
	// seconds, as far as their signed addresses show; 0: not noticeably.
	ClockBehind float64 `json:"clock_behind_seconds"`
}

// Report tells how the host is reached now. Before Run it is nearly empty.
func (r *Reach) Report() Report {
	r.mu.Lock()
	h, router := r.host, r.router
	r.mu.Unlock()
	report := Report{Loopback: r.local, Addresses: []Address{}, Links: []Link{}}
	if h == nil {
		return report
	}
	report.Router = router != nil && router.HasDiscoveredNAT()
	report.Addresses = r.addresses(h)
	for _, p := range slices.Sorted(slices.Values(h.Network().Peers())) {
		if conns := h.Network().ConnsToPeer(p); len(conns) > 0 {
			report.Links = append(report.Links, r.link(p, conns))
		}
	}
	r.mu.Lock()
	var ahead []time.Duration
	for _, n := range r.peers {
		if n.ahead != nil {
			ahead = append(ahead, *n.ahead)
		}
	}
	report.ClockBehind = behind(ahead)
	r.mu.Unlock()
	return report
}

// addresses lists those of the host itself, then those through relays, then those
// of the configuration.
func (r *Reach) addresses(h host.Host) []Address {
	out := []Address{}
	prober, ok := h.(interface {
		AllAddrs() []multiaddr.Multiaddr
		ConfirmedAddrs() (good, bad, unknown []multiaddr.Multiaddr)
	})
	if !ok {
		return out
	}
	good, bad, _ := prober.ConfirmedAddrs()
	own, _ := h.Network().InterfaceListenAddresses()
	mapped := r.mappings()
	for _, a := range prober.AllAddrs() {
		entry := Address{Address: a.String(), Source: Observed, State: Untested}
		switch {
		case multiaddr.Contains(own, a):
			entry.Source = Interface
		case multiaddr.Contains(mapped, a):
			entry.Source = Router
		}
		switch {
		case !manet.IsPublicAddr(a):
			entry.State = Private
		case multiaddr.Contains(good, a):
			entry.State = Verified
		case multiaddr.Contains(bad, a):
			entry.State = Failing
		}
		out = append(out, entry)
	}
	for _, a := range h.Addrs() {
		if relay, ok := RelayOf(a); ok && !multiaddr.Contains(r.config.Announce, a) {
			out = append(out, Address{Address: a.String(), Source: Relay, State: Verified, Relay: relay.ID.String()})
		}
	}
	for _, a := range r.config.Announce {
		out = append(out, Address{Address: a.String(), Source: Announced, State: Untested})
	}
	return out
}

func (r *Reach) link(p peer.ID, conns []network.Conn) Link {
	l := Link{Peer: p.String()}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := cmp.Or(r.peers[p], new(notes))
	for _, c := range conns {
		if relay, ok := RelayOf(c.RemoteMultiaddr()); ok {
			l.Through = relay.ID.String()
		}
	}
	for _, c := range conns {
		if !relayed(c) {
			l.Through = ""
			l.Local = !manet.IsPublicAddr(c.RemoteMultiaddr())
			l.Here = onThisMachine(c)
		}
	}
	if l.Through != "" {
		l.NoPunch = n.attempts.failed
		return l
	}
	l.Punched, l.Called = n.punched, n.called
	return l
}

// onThisMachine reports whether both ends of a connection are on this machine.
func onThisMachine(c network.Conn) bool {
	from, err := manet.ToIP(c.RemoteMultiaddr())
	to, err2 := manet.ToIP(c.LocalMultiaddr())
	return err == nil && (from.IsLoopback() || err2 == nil && from.Equal(to))
}
