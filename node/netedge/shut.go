package netedge

import (
	"net/netip"
	"time"

	"p2pnode/internal/crowd"
)

// shut holds the addresses from which nobody is let in for a moment, because a peer that
// is refused for what it did has just come from there. Finding that out takes a
// handshake, a millisecond of work, and such a peer comes again as often as it is let in.
// The moment doubles each time, so in the end one address costs four handshakes a minute.
// An honest node behind the address gets in between two moments if it is faster. It is
// not safe for concurrent use.
type shut struct{ addresses map[netip.Prefix]closing }

// closing says for how long an address is closed, and until when.
type closing struct {
	last  time.Duration
	until time.Time
}

const (
	// firstShut is how long an address is closed for the first time, and longestShut the
	// longest time.
	firstShut, longestShut = time.Second, 16 * time.Second
	// shutForgets is how long after the end of a closing the address counts as new again.
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

// close closes an address. Addresses of this machine stay open, because all its nodes
// share them.
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

// forget removes old addresses, and reports whether there is room for one more.
func (s *shut) forget(now time.Time) bool {
	for at, c := range s.addresses {
		if now.After(c.until.Add(shutForgets)) {
			delete(s.addresses, at)
		}
	}
	return len(s.addresses) < maxShut
}
