package netedge

import (
	"context"
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery"
	"p2pnode/gossip"
	"p2pnode/node/datadir"
)

// FetchFile fetches a public file of a network's task by its SHA-256, from the first of
// the given nodes that has it. It is for a machine that has no node of that network yet:
// it connects with the identity key and the network key of closed, and listens on no
// address.
func FetchFile(ctx context.Context, key crypto.PrivKey, closed datadir.PrivateNetwork, network string, from []peer.AddrInfo, sum [32]byte) (data []byte, err error) {
	h, err := libp2p.New(append(closed.Options(), libp2p.Identity(key), libp2p.NoListenAddrs, libp2p.EnableRelay(),
		libp2p.UserAgent("p2pnode"), libp2p.DisableMetrics())...)
	if err != nil {
		return nil, fmt.Errorf("node: start the libp2p host: %w", err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	var failed error
	for _, p := range from {
		err := h.Connect(ctx, p)
		if err == nil {
			data, err = gossip.FetchFile(ctx, h, p.ID, network, sum)
		}
		if err == nil {
			return data, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %s", p.ID, discovery.Reason(err)))
	}
	return nil, failed
}
