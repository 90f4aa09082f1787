package ticket

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// The content of a ticket is a sequence of fields: a tag, the length of the value as a
// uvarint, the value. Tags never decrease. Those of lists occur once for each element,
// other known tags at most once. If this version does not know a tag below skippable, it
// cannot read the ticket, because joining without the field would be wrong; it ignores
// unknown tags from skippable on.
const (
	tagNetwork   = 1 // 16 bytes
	tagTask      = 2 // compressed; or there is tagTaskHash
	tagTaskHash  = 3 // 32 bytes
	tagPeer      = 4 // a list: the peer's ID, then its addresses without the ID, each preceded by its length
	tagKeyPrint  = 5 // 8 bytes
	tagMembers   = 6
	tagAuthority = 7  // a list: peer IDs
	tagKey       = 32 // 32 bytes
	tagSeed      = 33 // 32 bytes
	tagExpires   = 34 // Unix seconds, a uvarint
	skippable    = 128
)

const (
	networkSize = 16
	printSize   = 8
)

// field is one field of a ticket's content.
type field struct {
	tag   byte
	value []byte
}

// content returns the bytes of a checked ticket.
func (t *Ticket) content() ([]byte, error) {
	network, err := hex.DecodeString(t.Network)
	if err != nil {
		return nil, fmt.Errorf("%w (its network's name is not valid)", errInvalid)
	}
	print, err := hex.DecodeString(t.KeyPrint)
	if err != nil {
		return nil, fmt.Errorf("%w (the fingerprint of its network key is not valid)", errInvalid)
	}
	fields := []field{{tagNetwork, network}, t.taskField()}
	for _, p := range t.Peers {
		fields = append(fields, field{tagPeer, appendPeer(nil, p)})
	}
	fields = append(fields, field{tagKeyPrint, print}, field{tagMembers, []byte(t.Members)})
	for _, a := range t.Authorities {
		fields = append(fields, field{tagAuthority, []byte(a)})
	}
	fields = append(fields, field{tagKey, t.Key}, field{tagSeed, t.Seed})
	if !t.Expires.IsZero() {
		fields = append(fields, field{tagExpires, binary.AppendUvarint(nil, uint64(t.Expires.Unix()))})
	}
	var out []byte
	for _, f := range fields {
		if len(f.value) > 0 {
			out = appendBytes(append(out, f.tag), f.value)
		}
	}
	return out, nil
}

// taskField returns the field with the task, or with its hash if the task is long.
func (t *Ticket) taskField() field {
	if t.Task == nil {
		return field{tagTaskHash, t.TaskHash[:]}
	}
	if packed := pack(t.Task); len(packed) <= maxCarried {
		return field{tagTask, packed}
	}
	sum := sha256.Sum256(t.Task)
	return field{tagTaskHash, sum[:]}
}

func appendBytes(to, value []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(value))), value...)
}

func appendPeer(to []byte, p peer.AddrInfo) []byte {
	to = appendBytes(to, []byte(p.ID))
	for _, a := range p.Addrs {
		to = appendBytes(to, a.Bytes())
	}
	return to
}

// cutBytes splits off a value that is preceded by its length.
func cutBytes(from []byte) (value, rest []byte, ok bool) {
	length, n := binary.Uvarint(from)
	if n <= 0 || length > uint64(len(from)-n) {
		return nil, nil, false
	}
	from = from[n:]
	return from[:length], from[length:], true
}

// parse reads the content of a ticket.
func parse(content []byte) (*Ticket, error) {
	var fields []field
	for len(content) > 0 {
		value, rest, ok := cutBytes(content[1:])
		if !ok {
			return nil, fmt.Errorf("%w (it ends too early)", errInvalid)
		}
		fields = append(fields, field{content[0], value})
		content = rest
	}
	if !slices.IsSortedFunc(fields, func(a, b field) int { return cmp.Compare(a.tag, b.tag) }) {
		return nil, fmt.Errorf("%w (its fields are out of order)", errInvalid)
	}
	t := new(Ticket)
	for i, f := range fields {
		repeated := i > 0 && fields[i-1].tag == f.tag
		if repeated && f.tag < skippable && f.tag != tagPeer && f.tag != tagAuthority {
			return nil, fmt.Errorf("%w (it has field %d twice)", errInvalid, f.tag)
		}
		if err := t.take(f); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// take reads one field.
func (t *Ticket) take(f field) (err error) {
	ok := true
	switch f.tag {
	case tagNetwork:
		t.Network, ok = hex.EncodeToString(f.value), len(f.value) == networkSize
	case tagTask:
		t.Task, err = unpack(f.value)
		t.TaskHash = sha256.Sum256(t.Task)
	case tagTaskHash:
		ok = t.Task == nil && len(f.value) == HashSize
		copy(t.TaskHash[:], f.value)
	case tagPeer:
		var p peer.AddrInfo
		p, err = parsePeer(f.value)
		t.Peers = append(t.Peers, p)
	case tagKeyPrint:
		t.KeyPrint, ok = hex.EncodeToString(f.value), len(f.value) == printSize
	case tagMembers:
		t.Members, ok = string(f.value), len(f.value) > 0
	case tagAuthority:
		var id peer.ID
		id, err = peer.IDFromBytes(f.value)
		t.Authorities = append(t.Authorities, id)
	case tagKey:
		t.Key, ok = bytes.Clone(f.value), len(f.value) == keySize
	case tagSeed:
		t.Seed, ok = bytes.Clone(f.value), len(f.value) == keySize
	case tagExpires:
		t.Expires, ok = parseTime(f.value)
	default:
		if f.tag < skippable {
			return errNewer
		}
	}
	if err != nil {
		return fmt.Errorf("%w (field %d: %w)", errInvalid, f.tag, err)
	}
	if !ok {
		return fmt.Errorf("%w (field %d)", errInvalid, f.tag)
	}
	return nil
}

// lastTime is the end of the year 9999. A later time has no text.
const lastTime = 253402300799

func parseTime(value []byte) (time.Time, bool) {
	seconds, n := binary.Uvarint(value)
	if n != len(value) || seconds == 0 || seconds > lastTime {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0).UTC(), true
}

func parsePeer(value []byte) (p peer.AddrInfo, err error) {
	id, rest, ok := cutBytes(value)
	if !ok {
		return p, errors.New("a node's ID ends too early")
	}
	if p.ID, err = peer.IDFromBytes(id); err != nil {
		return p, err
	}
	for len(rest) > 0 {
		var text []byte
		if text, rest, ok = cutBytes(rest); !ok {
			return p, errors.New("an address ends too early")
		}
		a, err := multiaddr.NewMultiaddrBytes(text)
		if err != nil {
			return p, err
		}
		p.Addrs = append(p.Addrs, a)
	}
	return p, nil
}
