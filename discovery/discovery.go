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
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Config says how to look for nodes.
type Config struct {
	// Network names the task; only nodes of the same network find each other.
	// Required.
	Network string
	// Bootstrap peers are dialled until connected, and again when lost.
	Bootstrap []peer.AddrInfo
	// Client makes this node ask others but answer nobody: for phones, and for
	// all but a few nodes of a large network in one place. A network needs at
	// least one node that is no client.
	Client bool
	// MDNS also looks on the local network.
	MDNS bool
	// Found is called for every sighting, repeats included, from several
	// goroutines. It must not block. Required.
	Found func(peer.AddrInfo)
	// Enough reports whether there are candidates enough; until then the node
	// looks often. Required.
	Enough func() bool
	// Logger is required.
	Logger *slog.Logger
}

// Run looks for nodes until ctx ends and returns after everything it started
// has ended. It returns an error only for a configuration that cannot work; a
// network that cannot be reached is tried again and again.
func Run(ctx context.Context, h host.Host, c Config) error {
	if c.Network == "" || c.Found == nil || c.Enough == nil || c.Logger == nil {
		return errors.New("discovery: Network, Found, Enough and Logger are required")
	}
	table, err := newTable(h, c)
	if err != nil {
		return fmt.Errorf("discovery: start the hash table: %w", err)
	}
	bootstrap := newKeeper(h, c.Logger, "bootstrap")
	bootstrap.Want(c.Bootstrap)

	var running sync.WaitGroup
	running.Go(func() { _ = bootstrap.Run(ctx) })
	running.Go(func() { table.look(ctx) })
	if c.MDNS {
		running.Go(func() { lookAround(ctx, h, c) })
	}
	running.Wait()
	return table.close()
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
