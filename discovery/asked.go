package discovery

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/protocol"

	"p2pnode/internal/crowd"
)

const (
	// maxAsked bounds one message to the hash table, in bytes: an announcement with
	// sixteen addresses, or a key. Libp2p's bound is 4 MiB, and it allocates that
	// memory as soon as a message announces it.
	maxAsked = 16 << 10
	// tableWork is how many messages the hash table takes in each tableWindow before
	// the askers have to share them.
	tableWork   = 2048
	tableWindow = 10 * time.Second
)

var (
	errAskedMuch = errors.New("discovery: the peer asks the hash table too much")
	errLong      = fmt.Errorf("discovery: a message to the hash table has more than %d bytes", maxAsked)
)

// asked is a host whose handlers accept a bounded number of messages of bounded size
// from strangers, as do the streams that it opens; see answer.
type asked struct {
	host.Host

	mu    sync.Mutex
	work  *crowd.Work // messages
	named *crowd.Work // nodes and addresses in answers
}

func newAsked(h host.Host) *asked {
	return &asked{Host: h, work: crowd.NewWork(tableWork, tableWindow), named: crowd.NewWork(namedWork, tableWindow)}
}

// SetStreamHandler implements [host.Host].
func (a *asked) SetStreamHandler(p protocol.ID, handle network.StreamHandler) {
	a.Host.SetStreamHandler(p, func(s network.Stream) { handle(&question{Stream: s, at: a}) })
}

// take reports whether there is time for this amount of a peer's work.
func (a *asked) take(w *crowd.Work, c network.Conn, amount int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return w.Take(crowd.Of(c.RemoteMultiaddr()), string(c.RemotePeer()), amount, time.Now())
}

// question is a stream of messages that each begin with their length as a varint.
type question struct {
	network.Stream
	at     *asked
	length uint64 // of the message, as far as it was read
	shift  uint   // bits of length that were read
	left   uint64 // bytes of the message that were not read
}

// Read implements [io.Reader]. It fails if a message is too long, or if there are too
// many.
func (q *question) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if q.left > 0 {
		n, err := q.Stream.Read(p[:min(uint64(len(p)), q.left)])
		q.left -= uint64(n)
		return n, err
	}
	n, err := io.ReadFull(q.Stream, p[:1])
	if n == 0 {
		return 0, err
	}
	q.length |= uint64(p[0]&0x7f) << q.shift
	q.shift += 7
	switch {
	case q.length > maxAsked || q.shift > 7*3:
		return 0, errLong
	case p[0]&0x80 != 0:
	case !q.at.take(q.at.work, q.Conn(), 1):
		return 0, errAskedMuch
	default:
		q.left, q.length, q.shift = q.length, 0, 0
	}
	return n, nil
}
