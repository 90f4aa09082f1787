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
	// the askers have to share them. Each answeredWork bytes of answers count as one more:
	// a long one takes milliseconds.
	tableWork    = 2048
	tableWindow  = 10 * time.Second
	answeredWork = 2 << 10
	// answersAtOnce bounds the messages to which answers are made or written. An honest
	// asker reads, so this takes a moment. While it lasts, an answer holds some two hundred
	// kilobytes, and another 256 of what the asker sends meanwhile. answerTimeout bounds
	// how long an asker may leave an answer unread.
	answersAtOnce = 16
	answerTimeout = 10 * time.Second
)

var (
	errAskedMuch = errors.New("discovery: the peer asks the hash table too much")
	errLong      = fmt.Errorf("discovery: a message to the hash table has more than %d bytes", maxAsked)
)

// asked is a host whose handlers accept a bounded number of messages of bounded size
// from strangers, as do the streams that it opens; see answer.
type asked struct {
	host.Host

	mu        sync.Mutex
	work      *crowd.Work // messages
	named     *crowd.Work // nodes and addresses in answers
	answering *crowd.Rooms[*question]
}

func newAsked(h host.Host) *asked {
	return &asked{
		Host: h, work: crowd.NewWork(tableWork, tableWindow), named: crowd.NewWork(namedWork, tableWindow),
		answering: crowd.NewRooms[*question](answersAtOnce),
	}
}

// SetStreamHandler implements [host.Host].
func (a *asked) SetStreamHandler(p protocol.ID, handle network.StreamHandler) {
	a.Host.SetStreamHandler(p, func(s network.Stream) {
		q := &question{Stream: s, at: a}
		defer a.answered(q)
		handle(q)
	})
}

// take reports whether there is time for this amount of a peer's work.
func (a *asked) take(w *crowd.Work, c network.Conn, amount int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return w.Take(crowd.Of(c.RemoteMultiaddr()), string(c.RemotePeer()), amount, time.Now())
}

// charge counts work that was done for a peer.
func (a *asked) charge(c network.Conn, amount int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.work.Charge(crowd.Of(c.RemoteMultiaddr()), string(c.RemotePeer()), amount, time.Now())
}

// answers takes a place for the answer to one more message, and reports whether there is
// one. If all are taken, the network with the most of them gives one up.
func (a *asked) answers(q *question) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken, lost := a.answering.Enter(q, crowd.Of(q.Conn().RemoteMultiaddr()), nil)
	for _, out := range lost {
		go out.Reset() // on a goroutine, because it waits for a peer that reads nothing
	}
	return taken
}

// answered gives the place back.
func (a *asked) answered(q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answering.Leave(q)
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
		if q.left == 0 && !q.at.answers(q) {
			return 0, errAskedMuch
		}
		return n, err
	}
	q.at.answered(q)
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

// Write implements [io.Writer]. It fails if the peer does not read for too long.
func (q *question) Write(p []byte) (int, error) {
	q.at.charge(q.Conn(), len(p)/answeredWork)
	if err := q.SetWriteDeadline(time.Now().Add(answerTimeout)); err != nil {
		return 0, err
	}
	return q.Stream.Write(p)
}
