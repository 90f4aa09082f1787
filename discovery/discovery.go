// Package discovery finds the other nodes of a network and keeps connections to
// those that were chosen as neighbours. It knows addresses and connections
// only; who becomes a neighbour is decided elsewhere.
package discovery

import (
	"context"
	"errors"
	"log/slog"
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
	// Found is called for every sighting, repeats included, from many
	// goroutines at once. It must not block. Required.
	Found func(peer.AddrInfo)
	// Enough reports whether there are candidates enough; until then the node
	// looks often. Required.
	Enough func() bool
	// Slow is the time between looks once there are enough. 0: five minutes.
	Slow time.Duration
	// Logger is required.
	Logger *slog.Logger
}

// Run looks for nodes until ctx ends and returns nil after everything it
// started has ended. It returns an error only for a configuration that cannot
// work; a network that cannot be reached is tried again and again.
func Run(ctx context.Context, h host.Host, c Config) error {
	if c.Network == "" || c.Found == nil || c.Enough == nil || c.Logger == nil {
		return errors.New("discovery: Network, Found, Enough and Logger are required")
	}
	<-ctx.Done()
	return nil
}
