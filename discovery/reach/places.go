package reach

import (
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/crowd"
)

// reservation is a peer's place at a relay, by which it can be called.
type reservation struct {
	ends     time.Time
	circuits *crowd.Places[*circuit] // connections to the peer
	from     map[peer.ID]int         // how many of them each other peer has
	asked    *crowd.Work             // requests for them
}

// reserve gives a place to a peer, or lets it keep the one that it has. If there are too few,
// one of the most crowded network loses its place, and with it the connection, because libp2p
// ends a reservation in no other way. Whoever is kept for another reason stays.
func (s *Service) reserve(p peer.ID, at multiaddr.Multiaddr) bool {
	ends := time.Now().Add(limits.ReservationTTL)
	s.mu.Lock()
	if r := s.reserved[p]; r != nil {
		r.ends = ends
		s.mu.Unlock()
		return true
	}
	s.reserved[p] = &reservation{
		ends: ends, circuits: crowd.NewPlaces[*circuit](CircuitsEach), from: make(map[peer.ID]int),
		asked: crowd.NewWork(askedEach, askedWindow),
	}
	lost := s.places.Enter(p, crowd.Of(at), func(p peer.ID) bool { return s.host.ConnManager().IsProtected(p, "") })
	for _, out := range lost {
		delete(s.reserved, out)
	}
	s.mu.Unlock()
	for _, out := range lost {
		if out != p {
			go s.host.Network().ClosePeer(out) // on a goroutine, because one that does not read delays it
		}
	}
	return s.stays(p)
}

// stays reports whether a peer has a place, and takes it back if the peer has gone.
func (s *Service) stays(p peer.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host.Network().Connectedness(p) != network.Connected {
		s.leave(p)
	}
	return s.places.Has(p)
}

// leave takes back the place of a peer. The caller holds s.mu.
func (s *Service) leave(p peer.ID) {
	s.places.Leave(p)
	delete(s.reserved, p)
}

// expire takes back the places of peers that did not ask for them again.
func (s *Service) expire(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, r := range s.reserved {
		if now.After(r.ends) {
			s.leave(p)
		}
	}
}
