package attack

import (
	"encoding/binary"
	"math"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"google.golang.org/protobuf/encoding/protowire"

	"p2pnode/gossip"
)

// The attacker's messages are encoded by hand, so that they can say what an honest node
// cannot. The numbers of the fields are those of gossip/internal/wire/wire.proto.

func edgeProtocol(network string) protocol.ID { return protocol.ID("/p2pnode/" + network + "/edge/1") }
func tableProtocol(network string) protocol.ID {
	return protocol.ID("/p2pnode/" + network + "/kad/1.0.0")
}

// topicOf is the topic on which a peer publishes its models.
func topicOf(network string, owner peer.ID) string {
	const characters = 16 // number of characters of its ID
	id := owner.String()
	return "p2pnode/" + network + "/m/" + id[len(id)-characters:]
}

// entry is what an attacker claims about a node: about itself, or another one.
type entry struct {
	peer     peer.ID // "": the sender itself
	round    uint64
	std      float64
	vector   []float64
	passport []byte
}

func (e *entry) encode() (b []byte) {
	if e.peer != "" {
		b = bytesField(b, 1, []byte(e.peer))
	}
	if e.round > 0 {
		b = numberField(b, 3, e.round)
	}
	if e.std != 0 {
		b = protowire.AppendTag(b, 4, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, math.Float64bits(e.std))
	}
	if len(e.vector) > 0 {
		var packed []byte
		for _, x := range e.vector {
			packed = protowire.AppendFixed64(packed, math.Float64bits(x))
		}
		b = bytesField(b, 5, packed)
	}
	return bytesField(b, 6, e.passport)
}

// request is an attacker's request for an edge.
type request struct {
	kind  gossip.EdgeKind
	own   entry
	known []entry
	turn  uint64
}

func (r *request) encode() []byte {
	b := numberField(nil, 1, gossip.Version)
	b = numberField(b, 2, uint64(r.kind))
	return r.tail(b)
}

// tail encodes the fields that requests and replies have in common, after field 2; in a
// reply their numbers are higher by one.
func (r *request) tail(b []byte) []byte {
	b = bytesField(b, 3, r.own.encode())
	for i := range r.known {
		b = bytesField(b, 4, r.known[i].encode())
	}
	return numberField(b, 5, r.turn)
}

// encodeReply encodes an answer that accepts, or one with known peers.
func (r *request) encodeReply() []byte {
	b := numberField(nil, 1, gossip.Version)
	b = numberField(b, 2, uint64(gossip.EdgeAccepted))
	b = bytesField(b, 4, r.own.encode())
	for i := range r.known {
		b = bytesField(b, 5, r.known[i].encode())
	}
	return numberField(b, 6, r.turn)
}

// reply is a victim's answer.
type reply struct {
	answer gossip.EdgeAnswer
	own    entry
	known  []entry
	turn   uint64
}

// decodeMessage reads a request or a reply, whose field numbers are higher by shift. It
// skips fields that it does not understand.
func decodeMessage(data []byte, shift protowire.Number) (r reply) {
	fields(data, func(n protowire.Number, v uint64, b []byte) {
		switch n - shift {
		case 2 - shift:
			r.answer = gossip.EdgeAnswer(v)
		case 3:
			r.own = decodeEntry(b)
		case 4:
			r.known = append(r.known, decodeEntry(b))
		case 5:
			r.turn = v
		}
	})
	return r
}

func decodeEntry(data []byte) (e entry) {
	fields(data, func(n protowire.Number, v uint64, b []byte) {
		switch n {
		case 1:
			e.peer = peer.ID(b)
		case 3:
			e.round = v
		case 4:
			e.std = math.Float64frombits(v)
		case 5:
			for len(b) >= 8 {
				e.vector = append(e.vector, math.Float64frombits(binary.LittleEndian.Uint64(b)))
				b = b[8:]
			}
		case 6:
			e.passport = b
		}
	})
	return e
}

// fields calls each with the fields of a message: the number of each, and its value or
// its bytes.
func fields(data []byte, each func(protowire.Number, uint64, []byte)) {
	for len(data) > 0 {
		n, kind, size := protowire.ConsumeTag(data)
		if size < 0 {
			return
		}
		data = data[size:]
		var v uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(data)
		case protowire.Fixed64Type:
			v, size = protowire.ConsumeFixed64(data)
		case protowire.BytesType:
			b, size = protowire.ConsumeBytes(data)
		default:
			size = protowire.ConsumeFieldValue(n, kind, data)
		}
		if size < 0 {
			return
		}
		each(n, v, b)
		data = data[size:]
	}
}

func numberField(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func bytesField(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

// provide is a message of the hash table that names a provider: field 1 is the kind, 2
// the key, 9 a provider with its ID and addresses.
func provide(key []byte, who peer.ID, addrs [][]byte) []byte {
	provider := bytesField(nil, 1, []byte(who))
	for _, a := range addrs {
		provider = bytesField(provider, 2, a)
	}
	const addProvider = 2
	b := numberField(nil, 1, addProvider)
	b = bytesField(b, 2, key)
	return bytesField(b, 9, provider)
}
