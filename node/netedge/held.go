package netedge

import (
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/protocol/autonatv2"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
)

const (
	// heldAtOnce is how many streams strangers may keep open at once. Yamux takes 256 KiB from
	// a peer on each, whether anybody reads them or not.
	heldAtOnce = 32
	// heldByNeighbours is how many all neighbours may keep open beside two for each: an honest one
	// has one on which it sends messages, and a few requests for a moment.
	heldByNeighbours = 32
	// pause is how long a peer of which a stream was refused must wait.
	pause = time.Second
	// maxOffers is how many protocols that this node does not know a peer may offer on a stream.
	maxOffers = 16
	// farewell is how long it may take to tell a peer that a stream has ended.
	farewell = time.Second
)

var (
	errOffers    = errors.New("node: a peer offers many unknown protocols")
	errDialBacks = errors.New("node: strangers ask too often to be dialled back")
)

// offered is a stream that a peer has opened. It says what for, and may try several protocols
// until this node knows one. One goroutine writes at a time.
type offered struct {
	network.MuxedStream
	intake *intake
	left   int // protocols that may still be declined
}

// newOffered returns a stream that a peer has opened, whose bytes the intake counts.
func newOffered(s network.MuxedStream, i *intake) *offered {
	i.asked(streamWork)
	return &offered{MuxedStream: s, intake: i, left: maxOffers}
}

// declined is what is written to a peer whose protocol is not known: "na" and its length.
const declined = "\x03na\n"

// Write implements [network.MuxedStream].
func (s *offered) Write(p []byte) (int, error) {
	if string(p) == declined {
		if s.left--; s.left < 0 {
			_ = s.Reset()
			return 0, errOffers
		}
	}
	s.intake.answered(max(0, readFrame-len(p)))
	return s.MuxedStream.Write(p)
}

// incoming is the scope of a stream that a peer has opened.
type incoming struct {
	network.StreamManagementScope
	from     peer.ID
	entrance *Entrance
	refused  *refused
	lost     atomic.Bool // its place
}

// lasts reports whether streams of a protocol last, and are read all the time. Of gossipsub's a
// peer has one; those through a relay are bounded by it (discovery/reach), be it this host, or one
// at which it has a place. Anybody else who wants to tell of a caller has a minute to do so.
func (s *incoming) lasts(name protocol.ID) bool {
	return strings.HasPrefix(string(name), "/meshsub/") || name == proto.ProtoIDv2Hop ||
		name == proto.ProtoIDv2Stop && s.entrance.carriedBy(s.from)
}

// SetProtocol implements [network.StreamManagementScope].
func (s *incoming) SetProtocol(name protocol.ID) error {
	if s.lost.Load() {
		return errStreams
	}
	if name == identify.IDPush && !s.entrance.hears(s.from) {
		s.refused.BlockStream(s.from, network.DirInbound)
		return errIntroduction
	}
	if name == autonatv2.DialProtocol && !s.entrance.dialsBack(s.from) {
		s.refused.BlockStream(s.from, network.DirInbound)
		return errDialBacks
	}
	if s.lasts(name) {
		s.entrance.letGo(s)
	}
	return s.StreamManagementScope.SetProtocol(name)
}

// Done implements [network.ResourceScopeSpan].
func (s *incoming) Done() {
	s.entrance.letGo(s)
	s.StreamManagementScope.Done()
}

// holds gives a place to a stream, and reports whether there is one. If all are taken, the
// network with the most of them gives one up, but no neighbour that has an equal part or less:
// many may share an address, or that of a relay.
func (e *Entrance) holds(s *incoming) bool {
	neighbour, from := e.wanted(s.from), e.address(s.from)
	e.holding.Lock()
	defer e.holding.Unlock()
	var stays bool
	var lost []*incoming
	if neighbour {
		e.each[s.from]++
		part := e.near.Most() / len(e.each)
		stays, lost = e.near.Enter(s, from, func(other *incoming) bool { return e.each[other.from] <= part })
		if !e.near.Has(s) {
			e.lessOf(s.from)
		}
	} else {
		stays, lost = e.held.Enter(s, from, nil)
	}
	for _, out := range lost {
		out.lost.Store(true)
		go e.end(out) // on a goroutine, because it waits for a peer that may read nothing
	}
	return stays
}

// letGo gives the place of a stream back.
func (e *Entrance) letGo(s *incoming) {
	e.holding.Lock()
	defer e.holding.Unlock()
	e.held.Leave(s)
	if e.near.Has(s) {
		e.near.Leave(s)
		e.lessOf(s.from)
	}
}

// lessOf notes that a neighbour has one stream less. The caller holds e.holding.
func (e *Entrance) lessOf(p peer.ID) {
	if e.each[p]--; e.each[p] == 0 {
		delete(e.each, p)
	}
}

// end resets a stream that has lost its place. If the peer does not even take notice, the
// connection ends too.
func (e *Entrance) end(out *incoming) {
	for _, c := range (*e.host.Load()).Network().ConnsToPeer(out.from) {
		for _, s := range c.GetStreams() {
			if s.Scope() == network.StreamScope(out) {
				late := time.AfterFunc(farewell, func() { _ = c.Close() })
				_ = s.Reset()
				late.Stop()
				return
			}
		}
	}
}
