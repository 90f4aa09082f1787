// Package discovery finds the other nodes of a network and keeps connections to
// those that were chosen as neighbours. It knows addresses and connections
// only; who becomes a neighbour is decided elsewhere.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
)

// Config says how to look for nodes.
type Config struct {
	// Network names the task; only nodes of the same network find each other.
	// Required.
	Network string
	// Bootstrap peers are dialled until connected, and again when lost, while there
	// are too few candidates.
	Bootstrap []peer.AddrInfo
	// Client makes this node ask others but answer nobody: for phones, and for
	// all but a few nodes of a large network in one place. A network needs at
	// least one node that is not a client.
	Client bool
	// NoTable does without the hash table: nodes are found through the bootstrap
	// peers and the local network only.
	NoTable bool
	// MDNS also looks on the local network.
	MDNS bool
	// Interfaces are where MDNS looks; a change makes the node look anew at once.
	// Required.
	Interfaces *Interfaces
	// Remembered lists peers of earlier runs, the best first. They are dialled, a
	// few at a time, while the node is connected to nobody. nil: there are none.
	Remembered func() []peer.AddrInfo
	// Tried is told which of them answered and which did not. Required with Remembered.
	Tried func(reached, failed []peer.ID)
	// Found is called for every sighting, repeats included, from several
	// goroutines. It must not block. Required.
	Found func(peer.AddrInfo)
	// Enough reports whether there are enough candidates. Until then the node looks
	// often. Required.
	Enough func() bool
	// Logger is required.
	Logger *slog.Logger
}

// Discovery looks for nodes. Its methods are safe for concurrent use.
type Discovery struct {
	host      host.Host
	config    Config
	table     *table // nil without
	bootstrap *Keeper

	mu    sync.Mutex
	start []peer.AddrInfo // the bootstrap peers
	rich  bool            // in candidates, so that they are not needed
}

// New prepares to look for nodes with a host. It fails only for a configuration
// that cannot work. What it has begun ends with [Discovery.Run].
func New(h host.Host, c Config) (*Discovery, error) {
	if c.Network == "" || c.Found == nil || c.Enough == nil || c.Interfaces == nil || c.Logger == nil {
		return nil, errors.New("discovery: Network, Found, Enough, Interfaces and Logger are required")
	}
	d := &Discovery{host: h, config: c, bootstrap: newKeeper(h, c.Logger, origins)}
	if !c.NoTable {
		var err error
		if d.table, err = newTable(h, c); err != nil {
			return nil, fmt.Errorf("discovery: start the hash table: %w", err)
		}
	}
	d.Bootstrap(c.Bootstrap)
	return d, nil
}

// Bootstrap replaces the peers to start from. They are dialled until connected,
// and again when lost, while there are too few candidates.
func (d *Discovery) Bootstrap(peers []peer.AddrInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.start = peers
	if !d.rich {
		d.bootstrap.Want(peers)
	}
}

// lean keeps connections to the bootstrap peers while they are needed, and stops keeping
// them otherwise.
func (d *Discovery) lean(needed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rich != needed {
		return
	}
	d.rich = !needed
	if needed {
		d.bootstrap.Want(d.start)
		return
	}
	d.bootstrap.Want(nil)
	for _, p := range d.start { // the table goes on asking them
		if d.table == nil && !d.host.ConnManager().IsProtected(p.ID, "") {
			_ = d.host.Network().ClosePeer(p.ID)
		}
	}
}

// leanFor is about how long a node without a table keeps connections to bootstrap peers
// that it needs no more: they have few places.
const leanFor = 2 * time.Second

// wait replaces the search when there is no table. It returns when ctx ends.
func (d *Discovery) wait(ctx context.Context) {
	for ctx.Err() == nil {
		needed, pause := !d.config.Enough(), lookEvery
		d.lean(needed)
		if needed {
			pause = leanFor
		}
		sleep(ctx, jitter(pause), nil)
	}
}

// Connect dials a peer now, for at most 10 s, whatever failed before.
func (d *Discovery) Connect(ctx context.Context, p peer.AddrInfo) error {
	return connect(ctx, d.host, p)
}

// Find looks a peer up and makes its addresses known to the host: those of a bootstrap
// peer, or those in the network's hash table.
func (d *Discovery) Find(ctx context.Context, p peer.ID) {
	d.mu.Lock()
	at := slices.IndexFunc(d.start, func(i peer.AddrInfo) bool { return i.ID == p })
	if at >= 0 {
		d.host.Peerstore().AddAddrs(p, d.start[at].Addrs, peerstore.TempAddrTTL)
	}
	d.mu.Unlock()
	if at < 0 && d.table != nil {
		d.table.lookUp(ctx, p)
	}
}

// Failure returns why a bootstrap peer could not be reached the last time. It is nil if
// the peer was reached, is not a bootstrap peer, or has not been tried.
func (d *Discovery) Failure(id peer.ID) error { return d.bootstrap.failure(id) }

// Run looks for nodes until ctx ends and returns after everything it started has
// ended. A network that cannot be reached is tried again and again. It is called
// once.
func (d *Discovery) Run(ctx context.Context) error {
	var running sync.WaitGroup
	running.Go(func() { _ = d.bootstrap.Run(ctx) })
	running.Go(func() { d.config.Interfaces.Follow(ctx, d.bootstrap.Refresh) })
	if d.table != nil {
		running.Go(func() { d.table.look(ctx, d.lean) })
	} else {
		running.Go(func() { d.wait(ctx) })
	}
	if d.config.Remembered != nil {
		running.Go(func() { rejoin(ctx, d.host, d.config) })
	}
	if d.config.MDNS {
		running.Go(func() { lookAround(ctx, d.host, d.config) })
	}
	running.Wait()
	if d.table == nil {
		return nil
	}
	return d.table.close()
}

// jitter spreads d evenly over [d/2, 3d/2), so that nodes that started
// together do not go on in step.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(max(d, 1)) }

// sleep waits for d, or less if ctx ends or something arrives on wake. It
// reports whether the whole time has passed.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
		return false
	case <-timer.C:
		return true
	}
}
