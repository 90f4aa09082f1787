package members

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// InterceptPeerDial refuses to dial a peer that is not admitted.
func (b *Book) InterceptPeerDial(p peer.ID) bool { return b.admits(p) }

// InterceptAddrDial allows every address.
func (b *Book) InterceptAddrDial(peer.ID, multiaddr.Multiaddr) bool { return true }

// InterceptAccept allows every address.
func (b *Book) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// InterceptSecured lets every connection pass on to InterceptUpgraded. If it refused a TCP
// connection here, the connection would break without a reason, and the other end could
// not tell its operator what is wrong.
func (b *Book) InterceptSecured(network.Direction, peer.ID, network.ConnMultiaddrs) bool { return true }

// InterceptUpgraded refuses a peer that is not admitted before the host sees the
// connection. It tells the other end so with [network.ConnGated].
func (b *Book) InterceptUpgraded(c network.Conn) (allow bool, reason control.DisconnectReason) {
	if b.admits(c.RemotePeer()) {
		return true, 0
	}
	if c.Stat().Direction == network.DirInbound && b.away.add(c.RemotePeer(), time.Now()) {
		b.log.Warn("turned a peer away that is not on the membership list; if it belongs here, ask the keeper of the list to add it", "peer", c.RemotePeer())
	}
	return false, 0
}

// closed notes that the other end has closed a connection because this node is not on its
// list. If another connection to that peer is open, it has only refused a second one.
func (b *Book) closed(n network.Network, c network.Conn) {
	if n.Connectedness(c.RemotePeer()) == network.Connected {
		return
	}
	// A closed connection opens no stream; the error says why it was closed.
	s, err := c.NewStream(network.WithAllowLimitedConn(context.Background(), "why closed"))
	if err == nil {
		_ = s.Reset()
		return
	}
	why, ok := errors.AsType[*network.ConnError](err)
	if ok && why.Remote && why.ErrorCode == network.ConnGated && b.refused.add(c.RemotePeer(), time.Now()) {
		b.log.Warn("a peer refuses this node: it is not on the peer's membership list; ask the keeper of that list to add it",
			"by", c.RemotePeer(), "add", b.config.Self)
	}
}

// Refusal says that a connection was refused because one end is not a member.
type Refusal struct {
	Peer  peer.ID
	Times int
	Last  time.Time
}

// TurnedAway lists the peers that this node has lately refused, the latest first.
func (b *Book) TurnedAway() []Refusal { return b.away.all() }

// RefusedBy lists the peers that have lately refused this node, the latest first.
func (b *Book) RefusedBy() []Refusal { return b.refused.all() }

const (
	maxRefusals = 32
	forgotten   = time.Hour // after the last one
)

// refusals remembers the latest few. The zero value is empty.
type refusals struct {
	mu   sync.Mutex
	list []Refusal // the latest last
}

// add notes a refusal. It reports whether it is the peer's first for a long time and there
// was room, so that a caller with a new ID for each call cannot fill the log.
func (r *refusals) add(p peer.ID, now time.Time) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(now)
	was, room := Refusal{Peer: p}, len(r.list) < maxRefusals
	if i := slices.IndexFunc(r.list, func(o Refusal) bool { return o.Peer == p }); i >= 0 {
		was = r.list[i]
		r.list = slices.Delete(r.list, i, i+1)
	} else if !room {
		r.list = slices.Delete(r.list, 0, 1)
	}
	was.Times++
	was.Last = now
	r.list = append(r.list, was)
	return room && was.Times == 1
}

// drop forgets the refusals of peers that are admitted now.
func (r *refusals) drop(admitted func(peer.ID) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(o Refusal) bool { return admitted(o.Peer) })
}

func (r *refusals) expire(now time.Time) {
	r.list = slices.DeleteFunc(r.list, func(o Refusal) bool { return now.Sub(o.Last) > forgotten })
}

func (r *refusals) all() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(time.Now())
	out := slices.Clone(r.list)
	slices.Reverse(out)
	return out
}
