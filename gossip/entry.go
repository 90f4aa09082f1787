package gossip

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
)

// MaxKnown bounds the entries of other nodes in one message.
const MaxKnown = 16

const (
	maxAddrs    = 8   // addresses of one node
	maxAddrSize = 256 // bytes of one of them
	// maxEntrySize bounds an entry, in bytes, beside its vector.
	maxEntrySize = maxAddrs*(maxAddrSize+8) + maxProof + 256
)

// Entry is what is publicly known of a node, first or second hand.
type Entry struct {
	Peer   peer.ID
	Age    uint32    // exchanges since the node itself said this
	Round  uint64    // of the release that Vector follows from; 0: it is declared, or there is none
	Std    float64   // of the privacy noise in each coordinate of Vector
	Vector []float64 // length [Config.Vector]; nil: nothing is known yet. Immutable
	// Passport is made by [NewPassport] or [Signer.Passport]; an entry that is
	// passed on keeps it, or nobody would believe it. Immutable.
	Passport []byte
}

// NewPassport returns the passport of a node of which only addresses are known. It
// holds the first eight addresses.
func NewPassport(addrs []multiaddr.Multiaddr) []byte {
	return passport(&wire.Passport{Addr: fitting(addrs)})
}

// Passport returns the passport of the signer's own entry. It holds the node's
// addresses and a signature over its round, std, vector and addresses. An entry
// without a vector gets no signature.
func (s *Signer) Passport(e Entry, addrs []multiaddr.Multiaddr) ([]byte, error) {
	w := wire.Passport{Addr: fitting(addrs)}
	if len(e.Vector) > 0 {
		var err error
		if w.Proof, err = s.key.Sign(entryStatement(s.network, &e, w.Addr)); err != nil {
			return nil, fmt.Errorf("gossip: sign the entry: %w", err)
		}
	}
	return passport(&w), nil
}

// fitting returns the first addresses that fit into a passport.
func fitting(addrs []multiaddr.Multiaddr) (out [][]byte) {
	for _, a := range addrs {
		if b := a.Bytes(); len(b) <= maxAddrSize && len(out) < maxAddrs {
			out = append(out, b)
		}
	}
	return out
}

func passport(w *wire.Passport) []byte {
	data, err := proto.Marshal(w)
	if err != nil {
		panic("gossip: bytes have no wire form: " + err.Error()) // only invalid text fails
	}
	return data
}

// Addrs returns the addresses in a passport, and none if the passport is damaged.
// A passport that came over the wire has been checked.
func Addrs(passport []byte) []multiaddr.Multiaddr {
	_, addrs, _ := readPassport(passport)
	return addrs
}

func readPassport(data []byte) (w *wire.Passport, addrs []multiaddr.Multiaddr, err error) {
	w = new(wire.Passport)
	if err := unmarshal(data, w); err != nil {
		return nil, nil, err
	}
	if len(w.Addr) > maxAddrs || len(w.Proof) > maxProof {
		return nil, nil, malformed("too many addresses, or too long a proof")
	}
	for _, b := range w.Addr {
		a, err := multiaddr.NewMultiaddrBytes(b)
		if err != nil || len(b) > maxAddrSize {
			return nil, nil, malformed("a bad address")
		}
		addrs = append(addrs, a)
	}
	return w, addrs, nil
}

// entryDomain begins what is signed about an entry.
const entryDomain = "p2pnode entry\x00"

// entryStatement returns the bytes that are signed. Every variable-length field is
// preceded by its length, except the vector, which comes last. The addresses are
// signed too: otherwise a peer that passes an entry on could send its readers to a
// victim, or make the node unreachable.
func entryStatement(network string, e *Entry, addrs [][]byte) []byte {
	text := append([]byte(entryDomain), byte(len(network)))
	text = append(text, network...)
	text = binary.BigEndian.AppendUint64(text, e.Round)
	text = binary.BigEndian.AppendUint64(text, math.Float64bits(e.Std))
	text = append(text, byte(len(addrs)))
	for _, a := range addrs {
		text = binary.BigEndian.AppendUint16(text, uint16(len(a)))
		text = append(text, a...)
	}
	for _, x := range e.Vector {
		text = binary.BigEndian.AppendUint64(text, math.Float64bits(x))
	}
	return text
}

func encodeEntries(list []Entry) []*wire.Entry {
	out := make([]*wire.Entry, len(list))
	for i := range list {
		out[i] = encodeEntry(&list[i])
		out[i].Peer = []byte(list[i].Peer)
	}
	return out
}

// encodeEntry returns the wire form of an entry, without its peer.
func encodeEntry(e *Entry) *wire.Entry {
	return &wire.Entry{Age: e.Age, Round: e.Round, Std: e.Std, Vector: e.Vector, Passport: e.Passport}
}

// entryReader checks entries of one network, whose vectors have one length. An entry
// that it has read has one form, whatever bytes it came in, so the next node accepts it
// too.
type entryReader struct {
	network string
	vector  int
	spared  func() bool // whether there is time to check a signature of somebody else
}

// own checks the entry that the sender gives of itself.
func (r entryReader) own(w *wire.Entry, from peer.ID) (Entry, error) {
	if w == nil || len(w.Peer) > 0 || w.Age > 0 {
		return Entry{}, malformed("the sender's own entry is missing, names a peer or has an age")
	}
	return r.entry(w, from)
}

func (r entryReader) known(list []*wire.Entry) ([]Entry, error) {
	if len(list) > MaxKnown {
		return nil, malformed("%d entries, more than %d", len(list), MaxKnown)
	}
	var out []Entry
	for _, w := range list {
		id, err := peer.IDFromBytes(w.Peer)
		if err != nil || len(id) > maxAuthor {
			return nil, malformed("an entry names no peer")
		}
		if len(w.Vector) > 0 && !r.spared() {
			continue
		}
		e, err := r.entry(w, id)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (r entryReader) entry(w *wire.Entry, id peer.ID) (Entry, error) {
	pass, _, err := readPassport(w.Passport)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Peer: id, Age: w.Age, Round: w.Round, Std: w.Std, Vector: w.Vector, Passport: passport(pass)}
	switch {
	case len(w.ProtoReflect().GetUnknown()) > 0:
		return Entry{}, malformed("unknown fields")
	case len(e.Vector) == 0:
		if e.Round != 0 || e.Std != 0 || len(pass.Proof) > 0 {
			return Entry{}, malformed("an entry without a vector says more than it can know")
		}
		return e, nil
	case len(e.Vector) != r.vector || slices.ContainsFunc(e.Vector, notFinite):
		return Entry{}, malformed("the vector of an entry has a wrong length or is not finite")
	case !(e.Std >= 0) || notFinite(e.Std):
		return Entry{}, malformed("the noise of an entry is negative or not finite")
	case !r.signed(&e, pass):
		return Entry{}, malformed("an entry is forged")
	}
	return e, nil
}

// signed reports whether the entry carries its node's signature. The peer ID holds
// the key to check it with.
func (r entryReader) signed(e *Entry, pass *wire.Passport) bool {
	var key crypto.PubKey
	key, err := e.Peer.ExtractPublicKey()
	if err != nil {
		return false
	}
	ok, err := key.Verify(entryStatement(r.network, e, pass.Addr), pass.Proof)
	return ok && err == nil
}
