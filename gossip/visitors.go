package gossip

import (
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	// maxStreams bounds the requests answered at the same time, and maxPeerStreams
	// those of one peer: a peer that asks and then says nothing holds its place for
	// edgeTimeout.
	maxStreams     = 256
	maxPeerStreams = 4
	// maxPeerRequests bounds the requests of one peer in a requestWindow. An honest
	// peer makes far fewer. The bound is needed because a request can bring entries
	// of other nodes, whose signatures take a millisecond to check.
	maxPeerRequests = 64
	requestWindow   = 10 * time.Second
	maxVisitors     = 1024 // peers remembered; when full, any idle one is forgiven
)

// visitors counts the requests of each peer. It is not safe for concurrent use.
type visitors struct {
	streams int // of all
	peers   map[peer.ID]*visits
}

// visits are the requests of one peer.
type visits struct {
	streams int       // being answered
	since   time.Time // the window began
	count   int       // in it
}

// enter takes a place for one more request of the peer, and reports whether there
// was one.
func (v *visitors) enter(from peer.ID, now time.Time) bool {
	p := v.of(from)
	if now.Sub(p.since) >= requestWindow {
		p.since, p.count = now, 0
	}
	if v.streams >= maxStreams || p.streams >= maxPeerStreams || p.count >= maxPeerRequests {
		return false
	}
	v.streams++
	p.streams++
	p.count++
	return true
}

// leave gives the place back.
func (v *visitors) leave(from peer.ID) {
	v.streams--
	v.peers[from].streams--
}

func (v *visitors) of(from peer.ID) *visits {
	p := v.peers[from]
	if p != nil {
		return p
	}
	for id, old := range v.peers {
		if len(v.peers) < maxVisitors {
			break
		}
		if old.streams == 0 {
			delete(v.peers, id)
		}
	}
	p = &visits{}
	v.peers[from] = p
	return p
}
