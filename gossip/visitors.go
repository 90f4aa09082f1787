package gossip

import (
	"net/netip"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/crowd"
)

const (
	requestWindow = 10 * time.Second
	maxVisitors   = 1024 // peers remembered; when full, any idle one is forgiven
)

// quota bounds what visitors may ask of a server.
type quota struct {
	streams      int   // places for requests that are answered at the same time
	peerStreams  int   // those of one peer: one that asks and says nothing holds its place until the timeout
	peerRequests int   // of one peer in requestWindow
	bytes        int64 // sent to all in requestWindow before they have to share, and half of what may be sent; 0: no bound
	peerBytes    int64 // sent to one peer in requestWindow before no request of it is taken any more
	// modest means that honest peers ask for far less, so that a peer that asks for
	// more is to blame. It is false where honest peers may be in a hurry: a member of a
	// committee that has missed much.
	modest bool
}

// edgeQuota allows many times what an honest peer asks. A request can bring entries of
// other nodes whose signatures take a millisecond to check, and a model of up to half a
// megabyte; so can the answer. At most edgeMemory bytes of requests of this size wait
// in memory.
func edgeQuota(size int) quota {
	return quota{
		streams: max(16, min(256, edgeMemory/size)), peerStreams: 4, peerRequests: 64,
		bytes: 256 << 20, peerBytes: 4 << 20, modest: true,
	}
}

const edgeMemory = 32 << 20

// visitors counts the requests of each peer. It is not safe for concurrent use.
type visitors struct {
	quota   quota
	streams int // of all
	all     usage
	bytes   *crowd.Work // sent, by address
	peers   map[peer.ID]*visits
}

func newVisitors(q quota) visitors {
	return visitors{quota: q, bytes: crowd.NewWork(int(q.bytes), requestWindow), peers: make(map[peer.ID]*visits)}
}

// visits are the requests of one peer.
type visits struct {
	streams int // being answered
	usage
}

// usage is what happened since it began.
type usage struct {
	since time.Time
	count int // requests
	bytes int64
}

// look forgets it when requestWindow is over.
func (u *usage) look(now time.Time) {
	if now.Sub(u.since) >= requestWindow {
		*u = usage{since: now}
	}
}

// enter takes a place for one more request of the peer at an address. It reports whether there
// was one and, if not, whether the peer is to blame. There are as many again for requests that
// have lost their places to others and have not ended yet.
func (v *visitors) enter(from peer.ID, at netip.Addr, now time.Time) (entered, blame bool) {
	p, q := v.of(from), v.quota
	p.look(now)
	v.all.look(now)
	switch {
	case p.streams >= q.peerStreams, p.count >= q.peerRequests:
		return false, q.modest
	case v.streams >= 2*q.streams, q.bytes > 0 && (v.all.bytes >= 2*q.bytes || p.bytes >= q.peerBytes || !v.bytes.Take(at, string(from), 0, now)):
		return false, false
	}
	v.streams++
	p.streams++
	p.count++
	return true, false
}

// leave gives the place back.
func (v *visitors) leave(from peer.ID) {
	v.streams--
	v.peers[from].streams--
}

// sent counts bytes that went to a visitor at an address.
func (v *visitors) sent(to peer.ID, at netip.Addr, n int, now time.Time) {
	v.all.bytes += int64(n)
	v.peers[to].bytes += int64(n)
	v.bytes.Charge(at, string(to), n, now)
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
