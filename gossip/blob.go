package gossip

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// A blob is asked for by name and place, 32 and 8 bytes, big-endian. The answer is its
// size, 8 bytes, 0 if it is not held, and then its bytes from that place to the end.

const (
	// MaxBlob bounds a blob, in bytes.
	MaxBlob = 80 << 20
	// blobChunk is read or written within chunkTimeout: at least 13 kbit/s.
	blobChunk    = 16 << 10
	chunkTimeout = 10 * time.Second
	// blobTimeout bounds one answer. What is left is asked for again.
	blobTimeout = 10 * time.Minute
	// FetchRoom bounds the bytes that wait in memory for the rest of their blobs, of all that
	// is being fetched.
	FetchRoom = 256 << 20
	// fetchBegin is the number of bytes for which memory is allocated before they
	// arrive: most uploads have fewer.
	fetchBegin = 256 << 10
	// fetchPause is between two rounds that ask all peers.
	fetchPause = 100 * time.Millisecond
)

// blobQuota allows a member of a committee to fetch a thousand contributions that it
// missed from another one, in a minute.
func blobQuota() quota {
	return quota{streams: 256, peerStreams: 8, peerRequests: 512, bytes: 1 << 30, peerBytes: 256 << 20}
}

func blobProtocol(netName string) protocol.ID {
	return protocol.ID("/p2pnode/" + netName + "/blob/1")
}

func (g *Gossip) answerBlob(_ context.Context, s network.Stream, from peer.ID) error {
	if err := s.SetReadDeadline(time.Now().Add(chunkTimeout)); err != nil {
		return err
	}
	var request [len(BlobName{}) + 8]byte
	if _, err := io.ReadFull(s, request[:]); err != nil {
		return err
	}
	place := binary.BigEndian.Uint64(request[len(BlobName{}):])
	blob := g.held(from, BlobName(request[:len(BlobName{})]))
	if blob == nil {
		return g.writeChunk(s, from, make([]byte, 8))
	}
	defer blob.Close()
	size := blob.Size()
	if place >= uint64(size) {
		return malformed("byte %d of a blob of %d", place, size)
	}
	if err := g.writeChunk(s, from, binary.BigEndian.AppendUint64(nil, uint64(size))); err != nil {
		return err
	}
	rest := io.NewSectionReader(blob, int64(place), size-int64(place))
	for chunk := make([]byte, blobChunk); ; {
		n, err := rest.Read(chunk)
		if n > 0 {
			if err := g.writeChunk(s, from, chunk[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what is held: %w", err)
		}
	}
}

// held opens what is held under a name for a peer; nil: nothing.
func (g *Gossip) held(from peer.ID, name BlobName) Blob {
	if g.config.Files != nil {
		if file := g.config.Files(name); file != nil {
			return file
		}
	}
	if g.config.Service != nil {
		return g.config.Service.OnBlob(from, name)
	}
	return nil
}

func (g *Gossip) writeChunk(s network.Stream, to peer.ID, chunk []byte) error {
	if err := s.SetWriteDeadline(time.Now().Add(chunkTimeout)); err != nil {
		return err
	}
	n, err := s.Write(chunk)
	g.blobs.sent(to, s, n)
	return err
}

// errNotHeld: the peer has nothing under the name.
var errNotHeld = errors.New("the peer does not hold it")

// Fetch gets the blob of a name, of exactly size bytes, from any of the peers. check is an
// error unless the bytes are what the name says. The peers are asked in turn; what one of
// them has sent is not asked for again when its connection breaks. A peer whose bytes are
// others is struck. It dials peers whose addresses the host knows.
//
// It returns when the blob is whole, when ctx ends, or when no peer had another byte. So
// many blobs at a time are fetched as 256 MiB hold; the others wait.
func (g *Gossip) Fetch(ctx context.Context, name BlobName, size int64, from []peer.ID, check func([]byte) error) ([]byte, error) {
	if size < 1 || size > MaxBlob {
		return nil, fmt.Errorf("gossip: fetch %d bytes, choose 1 to %d", size, MaxBlob)
	}
	if err := g.room.Acquire(ctx, size); err != nil {
		return nil, fmt.Errorf("gossip: fetch: %w", err)
	}
	defer g.room.Release(size)
	f := fetch{gossip: g, name: name, size: size, check: check, peers: slices.Clone(from)}
	for {
		progress, err := f.round(ctx)
		if err == nil {
			return f.data, nil
		}
		if !progress || ctx.Err() != nil {
			return nil, fmt.Errorf("gossip: fetch: %w", errors.Join(ctx.Err(), err))
		}
		pause(ctx, fetchPause)
	}
}

// fetch is a blob on its way.
type fetch struct {
	gossip *Gossip
	name   BlobName
	size   int64
	check  func([]byte) error
	peers  []peer.ID // that did not send anything wrong
	data   []byte    // so far
	by     []peer.ID // who sent it
	// apart says that the bytes of several peers did not fit together: from then on
	// each peer begins at the first one.
	apart bool
}

// round asks every peer for what is missing, until nothing is. progress: some byte came
// that a further round can build on.
func (f *fetch) round(ctx context.Context) (progress bool, err error) {
	err = errors.New("there is nobody to ask")
	last := f.apart // a round in which each peer begins anew is not repeated
	for _, p := range slices.Clone(f.peers) {
		if ctx.Err() != nil {
			return progress, ctx.Err()
		}
		if f.apart && !slices.Contains(f.by, p) {
			f.data, f.by = f.data[:0], nil
		}
		before := len(f.data)
		broken := f.more(ctx, p)
		if len(f.data) > before {
			progress = true
			if !slices.Contains(f.by, p) {
				f.by = append(f.by, p)
			}
		}
		if errors.Is(broken, errMalformed) {
			f.refuse(p)
		}
		if broken == nil {
			if broken = f.check(f.data); broken == nil {
				return true, nil
			}
			f.wrong()
		}
		err = fmt.Errorf("from %s: %w", p, broken)
	}
	return progress && (!last || len(f.peers) == 1), err
}

// wrong drops bytes that are not what was asked for.
func (f *fetch) wrong() {
	if len(f.by) == 1 {
		f.refuse(f.by[0])
	} else {
		f.apart = true
	}
	f.data, f.by = f.data[:0], nil
}

// refuse asks a peer no more.
func (f *fetch) refuse(p peer.ID) {
	f.gossip.strike(p)
	f.peers = slices.DeleteFunc(f.peers, func(q peer.ID) bool { return q == p })
}

// more takes what one peer has of the rest; nil when nothing is missing.
func (f *fetch) more(ctx context.Context, p peer.ID) error {
	g := f.gossip
	if err := g.refusal(p); err != nil {
		return err
	}
	s, size, err := askBlob(ctx, g.host, p, g.config.Network, f.name, uint64(len(f.data)))
	if err != nil {
		return err
	}
	defer bound(ctx, s)()
	switch size {
	case uint64(f.size):
		return f.read(s)
	case 0:
		return errNotHeld
	}
	return malformed("a blob of another size")
}

// askBlob asks a peer for a blob from a position on. It returns the blob's stream and
// its size. If there is no error, the caller closes the stream.
func askBlob(ctx context.Context, h host.Host, p peer.ID, netName string, name BlobName, place uint64) (network.Stream, uint64, error) {
	opening, cancel := context.WithTimeout(ctx, edgeTimeout)
	defer cancel()
	s, err := h.NewStream(opening, p, blobProtocol(netName))
	if err != nil {
		return nil, 0, err
	}
	var size [8]byte
	defer context.AfterFunc(ctx, func() { _ = s.Reset() })()
	if err = s.SetDeadline(time.Now().Add(chunkTimeout)); err == nil {
		_, err = s.Write(binary.BigEndian.AppendUint64(name[:], place))
	}
	if err == nil {
		_, err = io.ReadFull(s, size[:])
	}
	if err != nil {
		return nil, 0, errors.Join(err, s.Reset())
	}
	return s, binary.BigEndian.Uint64(size[:]), nil
}

// read appends arriving bytes until none is missing. Memory grows with what has
// arrived, from fetchBegin bytes.
func (f *fetch) read(s network.Stream) error {
	var err error
	f.data, err = readRest(s, f.data, f.size)
	return err
}

// deadlineReader is a stream that waits for bytes until a deadline.
type deadlineReader interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

// readRest appends arriving bytes to data until it has the given size.
func readRest(s deadlineReader, data []byte, size int64) ([]byte, error) {
	data = slices.Grow(data, int(min(size-int64(len(data)), fetchBegin)))
	for chunk := make([]byte, blobChunk); int64(len(data)) < size; {
		if err := s.SetReadDeadline(time.Now().Add(chunkTimeout)); err != nil {
			return data, err
		}
		n, err := io.ReadFull(s, chunk[:min(int64(len(chunk)), size-int64(len(data)))])
		data = append(data, chunk[:n]...)
		if err != nil {
			return data, err
		}
	}
	return data, nil
}
