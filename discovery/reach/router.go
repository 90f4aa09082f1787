package reach

import (
	"context"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	basichost "github.com/libp2p/go-libp2p/p2p/host/basic"
	"github.com/multiformats/go-multiaddr"
)

const (
	// askRouter is how often a router is looked for while none maps a port.
	askRouter = 5 * time.Minute
	// leaveRouter bounds the time for removing the mappings. A router forgets the rest
	// after a minute.
	leaveRouter = 2 * time.Second
)

// router maps ports. libp2p looks for a router only once, when the host starts, and its
// Close can wait for minutes for a router that no longer answers. This type looks again,
// because routers start after hosts and hosts move to other networks, and closes fast.
type router struct {
	network network.Network
	find    func(network.Network) basichost.NATManager
	cancel  context.CancelFunc
	ended   chan struct{}

	mu  sync.Mutex
	now basichost.NATManager
}

// newRouter looks for a router until Close; find is [basichost.NewNATManager].
func newRouter(n network.Network, find func(network.Network) basichost.NATManager) *router {
	ctx, cancel := context.WithCancel(context.Background())
	r := &router{network: n, find: find, cancel: cancel, ended: make(chan struct{}), now: find(n)}
	go r.run(ctx)
	return r
}

func (r *router) run(ctx context.Context) {
	defer close(r.ended)
	tick := time.NewTicker(askRouter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			leave(r.manager())
			return
		case <-tick.C:
			if len(r.mappings()) > 0 {
				continue
			}
			leave(r.manager())
			found := r.find(r.network)
			r.mu.Lock()
			r.now = found
			r.mu.Unlock()
		}
	}
}

// leave closes a manager, and goes on if that takes long.
func leave(m basichost.NATManager) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = m.Close() // libp2p's never fails
	}()
	select {
	case <-closed:
	case <-time.After(leaveRouter):
	}
}

func (r *router) manager() basichost.NATManager {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// mappings are the addresses that a router forwards to this host.
func (r *router) mappings() []multiaddr.Multiaddr {
	var out []multiaddr.Multiaddr
	for _, a := range r.network.ListenAddresses() {
		if m := r.GetMapping(a); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// GetMapping implements [basichost.NATManager].
func (r *router) GetMapping(a multiaddr.Multiaddr) multiaddr.Multiaddr {
	return r.manager().GetMapping(a)
}

// HasDiscoveredNAT implements [basichost.NATManager].
func (r *router) HasDiscoveredNAT() bool { return r.manager().HasDiscoveredNAT() }

// Close implements [basichost.NATManager].
func (r *router) Close() error {
	r.cancel()
	<-r.ended
	return nil
}

// mapPorts keeps the router that maps the ports, to ask it for the mappings.
func (r *Reach) mapPorts(n network.Network) basichost.NATManager {
	m := newRouter(n, basichost.NewNATManager)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.router = m
	return m
}

// mappings are the addresses that a router forwards to this host.
func (r *Reach) mappings() []multiaddr.Multiaddr {
	r.mu.Lock()
	router := r.router
	r.mu.Unlock()
	if router == nil {
		return nil
	}
	return router.mappings()
}
