package gossip

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

const (
	strikeLimit  = 5               // strikes within strikeWindow that make a peer refused
	strikeWindow = time.Minute     // after its first strike a peer starts anew
	refusal      = 5 * time.Minute // how long it is refused
	maxOffenders = 1024            // peers remembered; when full, all are forgiven
)

// offenders counts each peer's bad messages and refuses the peer for a while
// when there are too many. Gossipsub's own score misses peers that send but do
// not let us open a stream to them. Safe for concurrent use; it is the
// blacklist of gossipsub.
type offenders struct {
	member func(peer.ID) bool // peers that are not members are always refused; nil: everybody is a member

	mu    sync.Mutex
	peers map[peer.ID]offence
}

type offence struct {
	strikes int
	until   time.Time // when all is forgiven
}

func newOffenders(member func(peer.ID) bool) *offenders {
	return &offenders{member: member, peers: make(map[peer.ID]offence)}
}

// strike counts one bad message and reports whether the peer is refused from this
// message on.
func (o *offenders) strike(p peer.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if len(o.peers) >= maxOffenders {
		clear(o.peers)
	}
	was := o.peers[p]
	if now.After(was.until) {
		was = offence{until: now.Add(strikeWindow)}
	}
	was.strikes++
	if was.strikes == strikeLimit {
		was.until = now.Add(refusal)
	}
	o.peers[p] = was
	return was.strikes == strikeLimit
}

// Contains implements [pubsub.Blacklist]: it reports whether a peer is refused.
func (o *offenders) Contains(p peer.ID) bool {
	if o.member != nil && !o.member(p) {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	was, ok := o.peers[p]
	return ok && was.strikes >= strikeLimit && time.Now().Before(was.until)
}

// Add implements [pubsub.Blacklist]: it refuses a peer at once.
func (o *offenders) Add(p peer.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.peers[p] = offence{strikes: strikeLimit, until: time.Now().Add(refusal)}
	return true
}

// Refusal says that a peer is refused, because of so many bad messages.
type Refusal struct {
	Peer         peer.ID
	Strikes      int
	Since, Until time.Time
}

// refused lists the peers that are refused now for what they sent.
func (o *offenders) refused() (list []Refusal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for p, was := range o.peers {
		if was.strikes >= strikeLimit && now.Before(was.until) {
			list = append(list, Refusal{p, was.strikes, was.until.Add(-refusal), was.until})
		}
	}
	return list
}

// Refused lists the peers that are refused now because they sent too many bad messages.
func (g *Gossip) Refused() []Refusal { return g.offenders.refused() }
