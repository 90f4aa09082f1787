package discovery

import (
	"context"
	"log/slog"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Keeper keeps connections to a changing set of wanted peers: it dials them
// when they are not connected, with growing pauses, protects their connections
// from being trimmed, and closes connections that no longer answer.
type Keeper struct {
	host host.Host
	log  *slog.Logger
}

// NewKeeper returns a keeper that wants nobody yet.
func NewKeeper(h host.Host, logger *slog.Logger) *Keeper { return &Keeper{host: h, log: logger} }

// Want replaces the set of wanted peers. Connections to peers that are no
// longer wanted stay open but lose their protection. It may be called at any
// time, before and during Run, from any goroutine; it does not block.
func (k *Keeper) Want(peers []peer.AddrInfo) {}

// Run keeps the connections until ctx ends and returns nil after everything it
// started has ended.
func (k *Keeper) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
