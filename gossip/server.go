package gossip

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"p2pnode/gossip/reputation"
	"p2pnode/internal/crowd"
)

// server answers the requests of one protocol, each on a goroutine of the host.
type server struct {
	gossip   *Gossip
	protocol protocol.ID
	timeout  time.Duration // of one answer
	// answer serves one stream. An error that wraps errMalformed strikes the peer.
	answer func(ctx context.Context, s network.Stream, from peer.ID) error
	ctx    context.Context // ends with shut
	cancel context.CancelFunc

	mu       sync.Mutex // also orders serving.Add before serving.Wait
	serving  sync.WaitGroup
	visitors visitors
	places   *crowd.Places[network.Stream]
}

// start takes requests. The fields above ctx are set.
func (e *server) start(ctx context.Context, q quota) {
	e.ctx, e.cancel = context.WithCancel(ctx)
	e.visitors = newVisitors(q)
	e.places = crowd.NewPlaces[network.Stream](q.streams)
	e.gossip.host.SetStreamHandler(e.protocol, e.handle)
}

// shut takes no more requests and returns when none is being answered.
func (e *server) shut() {
	e.gossip.host.RemoveStreamHandler(e.protocol)
	e.mu.Lock()
	e.cancel()
	e.mu.Unlock()
	e.serving.Wait()
}

// enter reports whether there is a place for one more request of a peer and, if not,
// whether the peer is to blame. If all places are taken, the network with the most of them
// gives one up to others, but not to its own.
func (e *server) enter(from peer.ID, s network.Stream) (entered, blame bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return false, false
	}
	at := cameFrom(s)
	if entered, blame = e.visitors.enter(from, at, time.Now()); !entered {
		return false, blame
	}
	for _, out := range e.places.Enter(s, at, nil) {
		if out != s && crowd.OneCustomer(cameFrom(out), at) {
			e.places.Leave(s)
			e.places.Enter(out, at, nil)
			out = s
		}
		if out == s {
			e.visitors.leave(from)
			return false, false
		}
		go out.Reset() // on a goroutine, because it waits for a peer that may read nothing
	}
	e.serving.Add(1)
	return true, false
}

func cameFrom(s network.Stream) netip.Addr { return crowd.Of(s.Conn().RemoteMultiaddr()) }

func (e *server) leave(from peer.ID, s network.Stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.places.Leave(s)
	e.visitors.leave(from)
	e.serving.Done()
}

// sent counts bytes that went to a visitor over a stream.
func (e *server) sent(to peer.ID, s network.Stream, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.visitors.sent(to, cameFrom(s), n, time.Now())
}

func (e *server) handle(s network.Stream) {
	from := s.Conn().RemotePeer()
	if e.gossip.offenders.Contains(from) {
		_ = s.Reset()
		return
	}
	if entered, blame := e.enter(from, s); !entered {
		if blame {
			e.gossip.charge(from, reputation.Streams, 1)
		}
		_ = s.Reset()
		return
	}
	defer e.leave(from, s)
	ctx, cancel := context.WithTimeout(e.ctx, e.timeout)
	defer cancel()
	defer bound(ctx, s)()
	if err := e.answer(ctx, s, from); err != nil {
		if errors.Is(err, errMalformed) {
			e.gossip.strike(from)
		}
		e.gossip.log.Debug("request failed", "protocol", e.protocol, "peer", from, "error", err)
		_ = s.Reset()
	}
}
