package reach

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/pb"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/util"

	"p2pnode/internal/crowd"
)

const (
	// MostCircuits is how many connections a relay carries at once.
	MostCircuits = 512
	// CircuitsEach is how many connections to one peer it carries at once.
	CircuitsEach = 64
	// askedEach is how many connections to one peer may be asked for in each askedWindow
	// before the networks of those who ask must share, since each costs the peer a handshake.
	askedEach   = 32
	askedWindow = 10 * time.Second
	// circuitsFromOne is how many connections a peer may have to another one: a new one while
	// the relay has not seen the end of the one before.
	circuitsFromOne = 2
	// maxRequest bounds the message that asks for a place or a connection, in bytes.
	maxRequest = 4096
)

// relayHost is the host that libp2p's relay gets: requests go through the service first.
type relayHost struct {
	host.Host
	service *Service
}

// SetStreamHandler implements [host.Host].
func (h *relayHost) SetStreamHandler(name protocol.ID, handle network.StreamHandler) {
	if name == proto.ProtoIDv2Hop {
		relays := handle
		handle = func(s network.Stream) { h.service.asked(s, relays) }
	}
	h.Host.SetStreamHandler(name, handle)
}

// circuit is a stream on which a peer has asked the relay for something. If that is a
// connection to another peer, the stream then carries it.
type circuit struct {
	network.Stream
	bytes   io.Reader // of the stream, the request included, for libp2p reads it once more
	service *Service
	to      *reservation // of the peer to which it leads; nil: it leads nowhere
	ends    sync.Once
}

// Read implements [network.Stream].
func (c *circuit) Read(b []byte) (int, error) { return c.bytes.Read(b) }

// Close implements [network.Stream].
func (c *circuit) Close() error {
	c.end()
	return c.Stream.Close()
}

// Reset implements [network.Stream].
func (c *circuit) Reset() error {
	c.end()
	return c.Stream.Reset()
}

// end gives the places of a connection back: libp2p closes or resets the stream when the
// connection is over.
func (c *circuit) end() { c.ends.Do(func() { c.service.ended(c) }) }

// asked reads what a peer asks for, and leaves it to libp2p, unless it is a connection for
// which there is no place.
func (s *Service) asked(stream network.Stream, relays network.StreamHandler) {
	_ = stream.SetReadDeadline(time.Now().Add(relay.StreamTimeout)) // without it nothing can be read either
	var request pb.HopMessage
	messages := util.NewDelimitedReader(stream, maxRequest)
	err := messages.ReadMsg(&request)
	messages.Close()
	var again bytes.Buffer
	if err == nil {
		err = util.NewDelimitedWriter(&again).WriteMsg(&request)
	}
	if err != nil {
		_ = stream.Reset()
		return
	}
	c := &circuit{Stream: stream, bytes: io.MultiReader(&again, stream), service: s}
	if request.GetType() == pb.HopMessage_CONNECT && !s.enters(c, peer.ID(request.GetPeer().GetId())) {
		status := pb.HopMessage{Type: pb.HopMessage_STATUS.Enum(), Status: pb.Status_RESOURCE_LIMIT_EXCEEDED.Enum()}
		_ = stream.SetWriteDeadline(time.Now().Add(relay.StreamTimeout))
		_ = util.NewDelimitedWriter(stream).WriteMsg(&status) // a peer that does not hear it finds the stream closed
		_ = stream.Close()
		return
	}
	relays(c)
}

// enters reports whether there is a place for a connection to a peer. Somebody of the most
// crowded network may lose hers for it. A connection that libp2p is going to refuse takes none.
func (s *Service) enters(c *circuit, to peer.ID) bool {
	from, at := c.Conn().RemotePeer(), c.Conn().RemoteMultiaddr()
	if IsRelayed(at) || !s.AllowConnect(from, at, to) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.reserved[to]
	if r == nil {
		return true
	}
	address := crowd.Of(at)
	if r.from[from] >= circuitsFromOne || !r.asked.Take(crowd.Widest(address).Addr(), string(from), 1, time.Now()) {
		return false
	}
	c.to = r
	r.from[from]++
	lost := r.circuits.Enter(c, address, nil)
	if len(lost) == 0 || lost[0] != c {
		lost = append(lost, s.carried.Enter(c, address, nil)...)
	}
	if slices.Contains(lost, c) {
		s.leaves(c)
		return false
	}
	for _, out := range lost {
		go out.Reset() // on a goroutine, because it waits for s.mu
	}
	return true
}

// ended notes that a connection is over.
func (s *Service) ended(c *circuit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.to != nil {
		s.leaves(c)
	}
}

// leaves takes the places of a connection back. The caller holds s.mu.
func (s *Service) leaves(c *circuit) {
	from := c.Conn().RemotePeer()
	if c.to.from[from]--; c.to.from[from] == 0 {
		delete(c.to.from, from)
	}
	c.to.circuits.Leave(c)
	s.carried.Leave(c)
}
