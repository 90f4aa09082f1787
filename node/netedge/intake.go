package netedge

import (
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/crowd"
)

const (
	// readMore is how many bytes strangers may send in each readWindow before they must
	// share, and readEach how many more for each that the node serves: to decrypt them and
	// to keep them apart takes time, whatever they say. A frame, which may have no byte in
	// it, takes as long as readFrame of them. So does an answer, which may be to a few
	// bytes, as to a ping, and counts for what it is shorter than that: long ones are
	// bounded where they are made. Bytes are counted in pieces of readPiece. A neighbour may
	// send as much as all strangers together, and so may all that have places at the host's relay.
	readMore, readEach, readFrame, readPiece = 16 << 20, 1 << 20, 1 << 10, 16 << 10
	readWindow                               = 10 * time.Second
	// answeredMore is for how much work neighbours may ask in each readWindow before they must
	// share, beside what each may send. A stranger becomes a neighbour by asking, and a node has
	// twenty or more. They share by peer: by address one could keep all those from being read
	// that are behind its router, or its relay. A short answer counts as before, and a new stream
	// as streamWork: a goroutine looks at it, and says what it is for.
	answeredMore, streamWork = 8 << 20, 4 << 10
	// intakeOpens is how often a connection from which nothing is read looks whether there is
	// time for more.
	intakeOpens = time.Second
)

// intake counts what a peer sends over a connection. It is safe for concurrent use.
type intake struct {
	entrance *Entrance
	peer     peer.ID
	from     netip.Addr // not valid over a relay

	mu    sync.Mutex
	total int         // bytes
	left  int         // bytes that do not count yet
	work  int         // bytes for what it asked, if it is a neighbour, that do not count yet
	own   *crowd.Work // for a neighbour; nil: none has been needed
}

// add notes what was read.
func (i *intake) add(bytes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.total += bytes
	i.left += bytes
}

// answered notes what was answered.
func (i *intake) answered(bytes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.total += bytes
	i.left += bytes
	i.work += bytes
}

// asked notes work that the peer has asked for.
func (i *intake) asked(bytes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.work += bytes
}

// noted is how many bytes were noted.
func (i *intake) noted() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.total
}

// open counts what was noted, and reports whether there is time to read more.
func (i *intake) open() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.left < readPiece && i.work < readPiece {
		return true
	}
	e, work := i.entrance, share(i.entrance.read)
	carried := e.carriedBy(i.peer) // what a relay carries counts where it comes out
	neighbour := !carried && e.wanted(i.peer)
	switch {
	case carried || neighbour:
		if i.own == nil {
			i.own = crowd.NewWork(readMore, readWindow)
		}
		work = i.own
	case e.hasPlace(i.peer): // what it sends may be its answers to all who call it
		work = e.placed
	}
	if !neighbour {
		i.work = 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for ; i.left >= readPiece; i.left -= readPiece {
		if !work.Take(i.from, string(i.peer), readPiece, time.Now()) {
			return false
		}
	}
	for ; i.work >= readPiece; i.work -= readPiece {
		if !e.answers.Take(netip.Addr{}, string(i.peer), readPiece, time.Now()) {
			return false
		}
	}
	return true
}
