package discovery

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Serve keeps the hash tables of networks, so that their nodes can find each other
// through this host, until ctx ends. It does not announce the host itself, which takes no
// part in these networks. It keeps connections to bootstrap, other hosts like this one.
func Serve(ctx context.Context, h host.Host, networks []string, bootstrap []peer.AddrInfo, log *slog.Logger) error {
	for _, network := range networks {
		table, err := newTable(h, Config{Network: network, Logger: log})
		if err != nil {
			return fmt.Errorf("discovery: start the hash table of %s: %w", network, err)
		}
		defer table.close()
	}
	others := newKeeper(h, log, origins)
	others.Want(bootstrap)
	var running sync.WaitGroup
	running.Go(func() { _ = others.Run(ctx) })
	running.Wait()
	return nil
}
