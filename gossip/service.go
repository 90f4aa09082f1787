package gossip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-msgio"
)

// Service is what a node does for private sums: it answers short calls, serves long
// contents by name, and hears news. All of its functions are required, are called from
// many goroutines at once, and get bytes of strangers.
type Service struct {
	// OnCall answers a call of an authenticated peer, with at most [MaxCall] bytes. It
	// must return when its context ends. sound is false for what no honest peer says: the
	// peer is struck.
	OnCall func(ctx context.Context, from peer.ID, call []byte) (reply []byte, sound bool)
	// OnBlob opens what is held under a name for a peer; nil: nothing. It is closed here.
	OnBlob func(from peer.ID, name BlobName) Blob
	// OnNews takes news in, and reports whether to pass it on. It must not block.
	OnNews func(author peer.ID, news []byte) bool
}

// BlobName is what a long content is asked for by. It must follow from the content, so
// that the one who asks can tell whether what he got is it.
type BlobName [32]byte

// Blob is a long content that does not change. Its size is at least 1.
type Blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// OpenBlob opens a file as a blob. It returns nil if the file is not there, is empty, or has
// more than most bytes.
func OpenBlob(path string, most int64) Blob {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Size() == 0 || info.Size() > most {
		_ = f.Close()
		return nil
	}
	return fileBlob{f, info.Size()}
}

// fileBlob is a file with the size that it had when it was opened.
type fileBlob struct {
	*os.File
	size int64
}

// Size implements [Blob].
func (f fileBlob) Size() int64 { return f.size }

const (
	// MaxCall bounds a call, and its reply, in bytes: longer contents go as blobs.
	MaxCall = 64 << 10
	// maxNews bounds what is broadcast to everybody: names and sizes.
	maxNews = 512
)

// callQuota allows members of a committee to repeat all they have said.
func callQuota() quota { return quota{streams: 512, peerStreams: 16, peerRequests: 1024} }

func callProtocol(netName string) protocol.ID {
	return protocol.ID("/p2pnode/" + netName + "/call/1")
}

func newsTopic(netName string) string { return "p2pnode/" + netName + "/news" }

// serve begins to answer for the service, and to send files.
func (g *Gossip) serve(ctx context.Context) {
	g.blobs = server{gossip: g, protocol: blobProtocol(g.config.Network), timeout: blobTimeout, answer: g.answerBlob}
	if g.config.Service == nil {
		g.blobs.start(ctx, fileQuota())
		return
	}
	g.blobs.start(ctx, blobQuota())
	g.calls = server{gossip: g, protocol: callProtocol(g.config.Network), timeout: edgeTimeout, answer: g.answerCall}
	g.calls.start(ctx, callQuota())
}

// Call sends a call to a peer and waits for its reply, at most 10 s. It dials the peer if
// the host knows its addresses, however often that has failed before: the caller paces
// itself.
func (g *Gossip) Call(ctx context.Context, p peer.ID, call []byte) ([]byte, error) {
	reply, err := g.call(ctx, p, call)
	if err != nil {
		return nil, fmt.Errorf("gossip: call %s: %w", p, errors.Join(ctx.Err(), err))
	}
	return reply, nil
}

func (g *Gossip) call(ctx context.Context, p peer.ID, call []byte) ([]byte, error) {
	if err := g.refusal(p); err != nil {
		return nil, err
	}
	if len(call) > MaxCall {
		return nil, fmt.Errorf("a call has %d bytes, at most %d are sent", len(call), MaxCall)
	}
	ctx, cancel := context.WithTimeout(ctx, edgeTimeout)
	defer cancel()
	if s, ok := g.host.Network().(*swarm.Swarm); ok {
		// A phone that was offline would wait for minutes after it has come back.
		s.Backoff().Clear(p)
	}
	s, err := g.host.NewStream(ctx, p, callProtocol(g.config.Network))
	if err != nil {
		return nil, err
	}
	defer bound(ctx, s)()
	if err := msgio.NewVarintWriter(s).WriteMsg(call); err != nil {
		return nil, err
	}
	if err := s.CloseWrite(); err != nil {
		return nil, err
	}
	reply, err := msgio.NewVarintReaderSize(s, MaxCall).ReadMsg()
	if errors.Is(err, msgio.ErrMsgTooLarge) {
		g.strike(p)
	}
	return reply, err
}

func (g *Gossip) answerCall(ctx context.Context, s network.Stream, from peer.ID) error {
	call, err := msgio.NewVarintReaderSize(s, MaxCall).ReadMsg()
	if errors.Is(err, msgio.ErrMsgTooLarge) {
		return malformed("a call of more than %d bytes", MaxCall)
	}
	if err != nil {
		return err
	}
	reply, sound := g.config.Service.OnCall(ctx, from, call)
	if !sound {
		return malformed("a call that no honest peer makes")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return msgio.NewVarintWriter(s).WriteMsg(reply)
}

// joinNews subscribes to the network's news.
func (g *Gossip) joinNews() error {
	var err error
	if g.news, err = g.pubsub.Join(newsTopic(g.config.Network)); err != nil {
		return err
	}
	_, err = g.news.Relay()
	return err
}

// Announce tells everybody in the network, at most 512 bytes. It does not wait for
// delivery; who comes later does not hear it.
func (g *Gossip) Announce(ctx context.Context, news []byte) error {
	if g.news == nil || len(news) > maxNews {
		return fmt.Errorf("gossip: announce: %d bytes, at most %d are sent, by a node with a service", len(news), maxNews)
	}
	data, err := g.config.Signer.encodeNews(g.host.ID(), rand.Uint64(), news)
	if err == nil {
		err = g.news.Publish(ctx, data)
	}
	if err != nil {
		return fmt.Errorf("gossip: announce: %w", err)
	}
	return nil
}

// validateNews takes news in. What is too long is refused; whether the rest is worth
// passing on, the service knows.
func (g *Gossip) validateNews(data []byte) pubsub.ValidationResult {
	if len(data) > maxNews+newsHeader {
		return g.refuse(Oversized)
	}
	author, news, err := decodeNews(g.config.Network, data)
	switch {
	case err != nil:
		return g.refuse(faultOf(err))
	case author == g.host.ID():
		return g.refuse(Stale) // it comes from an earlier run, and who passes it on cannot know
	case g.offenders.Contains(author):
		return g.refuse(RefusedPeer)
	case g.config.Service == nil || !g.config.Service.OnNews(author, news):
		return g.refuse(UnwantedNews)
	}
	return pubsub.ValidationAccept
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
