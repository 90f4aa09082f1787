package gossip

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
)

// MaxFile bounds a public file of a task, in bytes.
const MaxFile = 16 << 20

// fileQuota allows each of a few newcomers at a time to fetch the largest file, and to
// continue after a broken connection.
func fileQuota() quota {
	return quota{streams: 32, peerStreams: 2, peerRequests: 16, bytes: 64 << 20, peerBytes: MaxFile}
}

// FetchFile gets a public file of a network's task from a peer, by its SHA-256. It is
// for newcomers, who cannot join the network before they have the task: h only needs
// the peer's addresses. It bounds how much the peer can send, and how slowly: no chunk
// of 16 KiB may take longer than ten seconds.
func FetchFile(ctx context.Context, h host.Host, from peer.ID, netName string, name BlobName) ([]byte, error) {
	s, size, err := askBlob(ctx, h, from, netName, name, 0)
	if err != nil {
		return nil, fmt.Errorf("gossip: fetch a file: %w", err)
	}
	defer bound(ctx, s)()
	data, err := readFile(s, size, name)
	if err != nil {
		return nil, fmt.Errorf("gossip: fetch a file: %w", errors.Join(ctx.Err(), err))
	}
	return data, nil
}

// readFile reads a file of an announced size and checks its hash.
func readFile(from deadlineReader, size uint64, name BlobName) ([]byte, error) {
	switch {
	case size == 0:
		return nil, errNotHeld
	case size > MaxFile:
		return nil, fmt.Errorf("it would have %d bytes, at most %d are taken", size, MaxFile)
	}
	data, err := readRest(from, nil, int64(size))
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(data) != name {
		return nil, errors.New("the peer sent another one than was asked for")
	}
	return data, nil
}
