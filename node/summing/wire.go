package summing

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"p2pnode/gossip"
	"p2pnode/sums"
)

// callKind says what a call wants.
type callKind byte

const (
	callSay    callKind = 1 + iota // body: a member's message
	callOffer                      // body: the reference of a member's message
	callUpload                     // body: the digest of an entry, whose upload the caller serves
	callAsk                        // body: the digest of an entry, or nothing; the reply is news
)

const (
	digestSize = len(sums.Digest{})
	callHeader = 1 + digestSize
)

func encodeCall(kind callKind, sum sums.Digest, body []byte) []byte {
	b := append(make([]byte, 0, callHeader+len(body)), byte(kind))
	return append(append(b, sum[:]...), body...)
}

func decodeCall(b []byte) (kind callKind, sum sums.Digest, body []byte, ok bool) {
	if len(b) < callHeader {
		return 0, sums.Digest{}, nil, false
	}
	return callKind(b[0]), sums.Digest(b[1:callHeader]), b[callHeader:], true
}

// reference names a blob by the hash of its content.
type reference struct {
	name gossip.BlobName
	size int64
}

const referenceSize = len(gossip.BlobName{}) + 8

func referenceOf(content []byte) reference {
	return reference{sha256.Sum256(content), int64(len(content))}
}

func (r reference) bytes() []byte {
	if r.size == 0 {
		return nil
	}
	return binary.BigEndian.AppendUint64(r.name[:], uint64(r.size))
}

// decodeReference reads a reference. No bytes are the zero reference.
func decodeReference(b []byte) (reference, error) {
	if len(b) == 0 {
		return reference{}, nil
	}
	if len(b) != referenceSize {
		return reference{}, errGarbage
	}
	size := binary.BigEndian.Uint64(b[referenceSize-8:])
	if size < 1 || size > gossip.MaxBlob {
		return reference{}, errGarbage
	}
	return reference{gossip.BlobName(b), int64(size)}, nil
}

// check is for [gossip.Gossip.Fetch].
func (r reference) check(content []byte) error {
	if referenceOf(content) != r {
		return errors.New("summing: the content is not what its name says")
	}
	return nil
}

// errLong says that somebody names what is longer than it can be.
var errLong = errors.New("summing: this is longer than it can be")

var errGarbage = errors.New("summing: these bytes are no answer")

// news is what a peer says of a sum.
type news struct {
	opening  []byte    // the certified opening; nil: the sum is not open
	accept   []byte    // a member's message that it holds the entry in question
	decision reference // the certified list
	result   reference
	dead     bool // a member says that it erased its keys and knows no result
	absent   bool // the peer takes no part in the sum, or not yet
}

// The marks of what is not there.
const (
	markDead   = 1
	markAbsent = 2
)

func (n *news) bytes() []byte {
	var b, mark []byte
	switch {
	case n.dead:
		mark = []byte{markDead}
	case n.absent:
		mark = []byte{markAbsent}
	}
	for _, part := range [][]byte{n.opening, n.accept, n.decision.bytes(), n.result.bytes(), mark} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return b
}

func decodeNews(b []byte) (*news, error) {
	var parts [5][]byte
	for i := range parts {
		if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
			return nil, errGarbage
		}
		n := binary.BigEndian.Uint32(b)
		if n > 0 {
			parts[i] = b[4 : 4+n]
		}
		b = b[4+n:]
	}
	n := &news{opening: parts[0], accept: parts[1]}
	switch mark := parts[4]; {
	case len(b) > 0 || len(mark) > 1:
		return nil, errGarbage
	case len(mark) == 1 && mark[0] != markDead && mark[0] != markAbsent:
		return nil, errGarbage
	case len(mark) == 1:
		n.dead, n.absent = mark[0] == markDead, mark[0] == markAbsent
	}
	var first, second error
	n.decision, first = decodeReference(parts[2])
	n.result, second = decodeReference(parts[3])
	return n, errors.Join(first, second)
}
