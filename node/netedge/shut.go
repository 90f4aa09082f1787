package netedge

import (
	"net/netip"
	"time"

	"p2pnode/internal/crowd"
)

// shut is the addresses from which nobody is let in for a moment, because a peer that is
// refused for what it did has just come from there. It takes a handshake, a millisecond of
// work, to find out, and such a peer comes again as often as it is let. Each time the moment
// is twice as long, so one address costs four handshakes a minute in the end; honest nodes
// behind it come in between, if they are sooner. It is not safe for concurrent use.
type shut struct{ addresses map[netip.Prefix]closing }

// closing is how long an address is closed, and until when.
type closing struct {
	last  time.Duration
	until time.Time
}

const (
	// firstShut is how long an address is closed for the first time, and longestShut at most.
	firstShut, longestShut = time.Second, 16 * time.Second
	// shutForgets is how long after the end of it an address is as good as any other.
	shutForgets = time.Minute
	// maxShut bounds the addresses that are remembered.
	maxShut = 4096
)

func newShut() *shut { return &shut{addresses: make(map[netip.Prefix]closing)} }

// off reports whether an address is closed.
func (s *shut) off(a netip.Addr, now time.Time) bool {
	c, known := s.addresses[crowd.Narrowest(a)]
	return known && now.Before(c.until)
}

// close closes an address. Those of this machine stay open: they are one for all its nodes.
func (s *shut) close(a netip.Addr, now time.Time) {
	if !a.IsValid() || a.IsLoopback() || s.off(a, now) {
		return
	}
	at := crowd.Narrowest(a)
	length := firstShut
	if c, known := s.addresses[at]; known && now.Before(c.until.Add(shutForgets)) {
		length = min(2*c.last, longestShut)
	} else if !known && len(s.addresses) >= maxShut && !s.forget(now) {
		return
	}
	s.addresses[at] = closing{length, now.Add(length)}
}

// forget makes room, and reports whether there is some.
func (s *shut) forget(now time.Time) bool {
	for at, c := range s.addresses {
		if now.After(c.until.Add(shutForgets)) {
			delete(s.addresses, at)
		}
	}
	return len(s.addresses) < maxShut
}
