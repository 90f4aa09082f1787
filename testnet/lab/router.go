package lab

import (
	"fmt"
	"net/netip"
	"os"
)

// NAT says how a router hides the hosts behind it.
type NAT string

// The kinds of routers.
const (
	// NoNAT forwards and hides nothing; the hosts outside need a route back.
	NoNAT NAT = ""
	// PlainNAT keeps the ports of the hosts inside where it can, so that a host shows
	// the same address to everybody, as most home routers do.
	PlainNAT NAT = "masquerade"
	// RandomNAT takes a new port for every destination, like the "symmetric" routers of
	// many mobile networks: what one peer learns about the address does not help
	// another.
	RandomNAT NAT = "masquerade fully-random"
)

// Port is where a router is joined to a segment.
type Port struct {
	Segment *Segment
	Addr    netip.Addr
}

// Router makes a host that forwards between two segments. With NAT, hosts outside reach
// a host inside only after that host has sent them something, and unrequested packets
// to the router itself are dropped silently; ports that a program on the router maps
// are let through. The hosts inside still need [Host.Route] to it.
func (l *Lab) Router(name string, inside, outside Port, nat NAT) (*Host, error) {
	r, err := l.Host(name)
	if err != nil {
		return nil, err
	}
	for _, p := range []Port{inside, outside} {
		if _, err := r.Join(p.Segment, p.Addr); err != nil {
			return nil, err
		}
	}
	// /proc/sys/net shows the namespace of the thread that reads it.
	err = r.Do(func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644) })
	if err != nil {
		return nil, fmt.Errorf("lab: make %s forward: %w", name, err)
	}
	if nat == NoNAT {
		return r, nil
	}
	return r, r.rules(`table ip nat {
chain out {
type nat hook postrouting priority srcnat
oifname eth1 ` + string(nat) + `
}
}
table ip filter {
chain in {
type filter hook input priority filter
iifname eth1 ct state != { established, related } drop
}
chain through {
type filter hook forward priority filter
ct status dnat accept
iifname eth1 ct state != { established, related } drop
}
}`)
}
