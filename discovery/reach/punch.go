package reach

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/internal/crowd"
)

const (
	// settle is how long a direct connection must have been there before the relayed
	// one beside it is closed.
	settle = 2 * time.Second
	// libp2p tries to replace a relayed connection when it is made. This package tries
	// again with growing pauses, because at first neither end may know its own address.
	lookRelayed  = 5 * time.Second
	firstAttempt = 5 * time.Second
	lastAttempt  = 15 * time.Minute
	// mostPunched is how many addresses are called that a peer names for hole punching.
	mostPunched = 16
)

// outside is what is taken of the addresses that a peer names for hole punching. It comes
// through a relay, so it knows none of this machine and its local network: those would make
// this node call services there, and tell by the time that it takes which are open. Names of
// hosts may stand for them.
type outside struct{}

// FilterLocal implements [holepunch.AddrFilter]. The addresses of this node are public, as
// callable returns them.
func (outside) FilterLocal(_ peer.ID, own []multiaddr.Multiaddr) []multiaddr.Multiaddr { return own }

// FilterRemote implements [holepunch.AddrFilter].
func (outside) FilterRemote(_ peer.ID, named []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	named = slices.DeleteFunc(named, func(a multiaddr.Multiaddr) bool { return !crowd.Of(a).IsValid() || !manet.IsPublicAddr(a) })
	return named[:min(len(named), mostPunched)]
}

// Names resolves names of hosts. For a direct connection in place of a relayed one they stand
// for public addresses only: libp2p calls a peer everywhere that it named, and who owns a name
// says what it stands for.
type Names struct{ network.MultiaddrDNSResolver }

// ResolveDNSAddr implements [network.MultiaddrDNSResolver].
func (n Names) ResolveDNSAddr(ctx context.Context, p peer.ID, name multiaddr.Multiaddr, depth, most int) ([]multiaddr.Multiaddr, error) {
	found, err := n.MultiaddrDNSResolver.ResolveDNSAddr(ctx, p, name, depth, most)
	return publicIfDirect(ctx, found), err
}

// ResolveDNSComponent implements [network.MultiaddrDNSResolver].
func (n Names) ResolveDNSComponent(ctx context.Context, name multiaddr.Multiaddr, most int) ([]multiaddr.Multiaddr, error) {
	found, err := n.MultiaddrDNSResolver.ResolveDNSComponent(ctx, name, most)
	return publicIfDirect(ctx, found), err
}

func publicIfDirect(ctx context.Context, found []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	if direct, _ := network.GetForceDirectDial(ctx); direct {
		return slices.DeleteFunc(found, func(a multiaddr.Multiaddr) bool { return !manet.IsPublicAddr(a) })
	}
	return found
}

// attempts are those at a direct connection to a peer that is relayed.
type attempts struct {
	next   time.Time
	pause  time.Duration
	failed string // why the last one failed
}

// straighten replaces relayed connections by direct ones where it can, until ctx ends.
func (r *Reach) straighten(ctx context.Context, punch *holepunch.Service) {
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(lookRelayed)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-r.arrived:
			running.Go(func() { r.leaveRelay(ctx, p) })
		case now := <-tick.C:
			for _, p := range r.due(now) {
				running.Go(func() { _ = punch.DirectConnect(p) }) // Trace hears of it
			}
		}
	}
}

// due lists the peers to try now: those that are connected through a relay only and have
// dialled this node, because the end that was dialled begins.
func (r *Reach) due(now time.Time) []peer.ID {
	if len(r.callable()) == 0 {
		return nil
	}
	var out []peer.ID
	for _, p := range r.host.Network().Peers() {
		conns := r.host.Network().ConnsToPeer(p)
		direct := slices.ContainsFunc(conns, func(c network.Conn) bool { return !relayed(c) })
		called := slices.ContainsFunc(conns, func(c network.Conn) bool { return c.Stat().Direction == network.DirInbound })
		if !direct && called && r.try(p, now) {
			out = append(out, p)
		}
	}
	return out
}

// try reports whether a peer is to be tried now, and counts it.
func (r *Reach) try(p peer.ID, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.note(p)
	if n == nil || now.Before(n.attempts.next) {
		return false
	}
	t := &n.attempts
	t.pause = min(4*t.pause, lastAttempt)
	t.next = now.Add(t.pause)
	return true
}

// callable returns the public addresses that others could dial if no router blocked them.
func (r *Reach) callable() []multiaddr.Multiaddr {
	r.mu.Lock()
	h, seen := r.host, r.seen
	r.mu.Unlock()
	var out []multiaddr.Multiaddr
	if all, ok := h.(interface{ AllAddrs() []multiaddr.Multiaddr }); ok {
		out = append(out, all.AllAddrs()...)
	}
	if seen != nil {
		out = append(out, seen.Addrs(1)...) // one observer will do
	}
	out = append(out, r.config.Announce...)
	return slices.DeleteFunc(multiaddr.Unique(out), func(a multiaddr.Multiaddr) bool { return IsRelayed(a) || !manet.IsPublicAddr(a) })
}

// leaveRelay closes the relayed connections to a peer that has stayed connected directly.
// New streams open on the best connection, but old ones stay where they are.
func (r *Reach) leaveRelay(ctx context.Context, p peer.ID) {
	conns := r.host.Network().ConnsToPeer(p)
	if !slices.ContainsFunc(conns, relayed) {
		return
	}
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
	}
	conns = r.host.Network().ConnsToPeer(p)
	if slices.IndexFunc(conns, func(c network.Conn) bool { return !relayed(c) }) < 0 {
		return
	}
	for _, c := range conns {
		if relayed(c) {
			_ = c.Close()
		}
	}
}

// Trace implements [holepunch.EventTracer].
func (r *Reach) Trace(e *holepunch.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.note(e.Remote)
	if n == nil {
		return
	}
	switch what := e.Evt.(type) {
	case *holepunch.EndHolePunchEvt:
		n.attempts.failed = what.Error
		if what.Success {
			n.punched, n.called = true, false
		}
	case *holepunch.ProtocolErrorEvt:
		n.attempts.failed = what.Error
	}
}
