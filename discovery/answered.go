package discovery

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	pb "github.com/libp2p/go-libp2p-kad-dht/pb"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multiaddr"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// maxAnswer bounds one answer of the hash table of another node, in bytes. Libp2p's
	// bound is 4 MiB, and every stranger that connects is asked once: what a hundred of
	// them answer at the same time would not fit into the memory of a small device.
	maxAnswer = 128 << 10
	// maxNamed bounds the nodes and addresses that one answer names: what this node would
	// name at most, see providers and [NewPeerstore].
	maxNamed = (1 + maxAddrs) * (maxTold + bucketSize + 1)
	// arrived is how much a peer can send on a stream before it is read, in bytes.
	arrived = 256 << 10
	// namedWork is how many nodes and addresses may be named in all answers of a
	// tableWindow before those who answer have to share them. Each takes a few hundred
	// bytes for two minutes.
	namedWork = 16 << 10
)

var (
	errAnsweredLong = fmt.Errorf("discovery: the answer of a hash table has more than %d bytes or names more than %d nodes and addresses", maxAnswer, maxNamed)
	errAnsweredMuch = errors.New("discovery: the hash tables of others answer too much")
)

// NewStream implements [host.Host]. Of the answers on the stream only those of bounded
// size can be read.
func (a *asked) NewStream(ctx context.Context, p peer.ID, over ...protocol.ID) (network.Stream, error) {
	s, err := a.Host.NewStream(ctx, p, over...)
	if err != nil {
		return nil, err
	}
	return &answer{Stream: s, at: a}, nil
}

// answer is a stream of messages that each begin with their length as a varint. A message
// can be read when it is whole and was checked. One goroutine reads at a time.
type answer struct {
	network.Stream
	at   *asked
	rest bytes.Reader // of the message that is being read
}

// Read implements [io.Reader]. It fails if a message is too long or names too much. After
// one message the stream is closed: kad-dht would keep it as long as the peer is connected,
// and with it what the peer sends unasked. It opens another one for its next question.
func (a *answer) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if a.rest.Len() == 0 {
		message, err := a.next()
		if errors.Is(err, errAnsweredLong) || errors.Is(err, errAnsweredMuch) {
			a.drop()
		}
		if err != nil {
			return 0, err
		}
		a.rest.Reset(message)
	}
	n, err := a.rest.Read(p)
	if a.rest.Len() == 0 {
		_ = a.Close()
	}
	return n, err
}

// next reads one more message, with its length.
func (a *answer) next() ([]byte, error) {
	length, err := binary.ReadUvarint(oneByOne{a.Stream})
	if err != nil {
		return nil, err
	}
	if length > maxAnswer {
		return nil, errAnsweredLong
	}
	framed := binary.AppendUvarint(nil, length)
	head := len(framed)
	framed = append(framed, make([]byte, length)...)
	if _, err := io.ReadFull(a.Stream, framed[head:]); err != nil {
		return nil, err
	}
	named := named(framed[head:])
	switch {
	case named > maxNamed:
		return nil, errAnsweredLong
	case !a.at.take(a.at.named, a.Conn(), named):
		return nil, errAnsweredMuch
	}
	message := believed(framed[head:], a.Conn().RemoteMultiaddr())
	return append(binary.AppendUvarint(nil, uint64(len(message))), message...), nil
}

// believed is a message of the hash table without the addresses that one who is at this address
// cannot know; see knowable. What cannot be decoded is refused later.
func believed(message []byte, from multiaddr.Multiaddr) []byte {
	known := knowable(from)
	var m pb.Message
	if known == nil || proto.Unmarshal(message, &m) != nil {
		return message
	}
	dropped := false
	for _, node := range slices.Concat(m.CloserPeers, m.ProviderPeers) {
		all := len(node.Addrs)
		node.Addrs = slices.DeleteFunc(node.Addrs, func(raw []byte) bool {
			a, err := multiaddr.NewMultiaddrBytes(raw)
			return err == nil && !known(a)
		})
		dropped = dropped || len(node.Addrs) < all
	}
	if !dropped {
		return message
	}
	fewer, err := proto.Marshal(&m)
	if err != nil { // it was decoded a moment ago
		return nil
	}
	return fewer
}

// drop resets the stream and forgets what has arrived on it. Kad-dht keeps a stream that
// failed, and with it up to 256 KiB, as long as its peer is connected.
func (a *answer) drop() {
	_ = a.SetReadDeadline(time.Now())
	_, _ = io.CopyN(io.Discard, a.Stream, arrived) // until nothing is left
	_ = a.Reset()
}

// oneByOne reads a length without reading beyond it.
type oneByOne struct{ io.Reader }

// ReadByte implements [io.ByteReader].
func (r oneByOne) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r.Reader, b[:])
	return b[0], err
}

// The numbers of the fields in which a message of the hash table names nodes, and in which
// a node has its addresses.
const closerPeers, providerPeers, addrsOfPeer protowire.Number = 8, 9, 2

// named counts the nodes in a message and their addresses, until there are too many. What
// cannot be decoded is not counted: it is refused later.
func named(message []byte) (n int) {
	each(message, func(field protowire.Number, node []byte) bool {
		if field != closerPeers && field != providerPeers {
			return true
		}
		n++
		each(node, func(field protowire.Number, _ []byte) bool {
			if field == addrsOfPeer {
				n++
			}
			return n <= maxNamed
		})
		return n <= maxNamed
	})
	return n
}

// each calls f with the fields of a message that hold bytes, until f returns false.
func each(message []byte, f func(protowire.Number, []byte) bool) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(field, kind, message); n < 0 {
			return
		}
		if kind == protowire.BytesType {
			if value, _ := protowire.ConsumeBytes(message); !f(field, value) {
				return
			}
		}
		message = message[n:]
	}
}
