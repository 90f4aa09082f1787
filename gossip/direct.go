package gossip

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-msgio"

	"p2pnode/gossip/reputation"
	"p2pnode/learner"
)

const (
	// directQueue bounds the messages that wait for one peer. It has room for many
	// times the four newest rounds of every kind that a learner sends.
	directQueue = 64
	// directTimeout bounds the opening of a stream, and each write.
	directTimeout = 10 * time.Second
	// directIdle is how long a sender keeps a stream open without sending anything.
	// directSilence is how long a receiver keeps it; it is longer, so that the
	// sender closes first.
	directIdle    = time.Minute
	directSilence = 2 * directIdle
	// maxReaders bounds the streams that strangers can hold open here, and readerMemory
	// the messages that wait on them for their ends, in bytes. Followed peers always have
	// their place.
	maxReaders   = 256
	readerMemory = 16 << 20
)

// readersFor is how many streams strangers can hold open for messages of this size.
func readersFor(size int) int { return min(maxReaders, readerMemory/size) }

func directProtocol(netName string) protocol.ID {
	return protocol.ID("/p2pnode/" + netName + "/direct/1")
}

// Send queues a directed message for the peer named in m.To and does not wait for
// delivery. Messages to one peer keep their order. When a connection breaks, the
// messages on it are lost, as on any network. Send fails if m is not a valid
// directed message, or if too many messages already wait for that peer.
func (g *Gossip) Send(m learner.Message) error {
	to, err := peer.Decode(string(m.To))
	if err != nil {
		return fmt.Errorf("gossip: send to %q: %w", m.To, err)
	}
	data, err := encodeDirected(m)
	if err != nil {
		return err
	}
	return g.direct.send(to, data)
}

// direct carries directed messages over encrypted streams, one for each peer and
// direction. A stream is opened with the first message, so that something is
// written on it at once, and is opened again when it fails.
type direct struct {
	gossip *Gossip
	ctx    context.Context // ends with shut
	cancel context.CancelFunc

	mu      sync.Mutex // also orders running.Add before running.Wait
	running sync.WaitGroup
	queues  map[peer.ID]chan []byte
	readers map[peer.ID]network.Stream
}

func (d *direct) start(ctx context.Context, g *Gossip) {
	d.gossip = g
	d.ctx, d.cancel = context.WithCancel(ctx)
	d.queues = make(map[peer.ID]chan []byte)
	d.readers = make(map[peer.ID]network.Stream)
	g.host.SetStreamHandler(directProtocol(g.config.Network), d.handle)
}

// shut stops receiving and sending, and returns when all goroutines have ended.
func (d *direct) shut() {
	d.gossip.host.RemoveStreamHandler(directProtocol(d.gossip.config.Network))
	d.mu.Lock()
	d.cancel()
	d.mu.Unlock()
	d.running.Wait()
}

func (d *direct) send(to peer.ID, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ctx.Err(); err != nil {
		return fmt.Errorf("gossip: send to %s: %w", to, err)
	}
	queue := d.queues[to]
	if queue == nil {
		queue = make(chan []byte, directQueue)
		d.queues[to] = queue
		d.running.Go(func() { d.drain(to, queue) })
	}
	select {
	case queue <- data:
		return nil
	default:
		d.gossip.counts.miss(QueueFull, 1)
		return fmt.Errorf("gossip: send to %s: %d messages are already waiting", to, directQueue)
	}
}

// drain sends what is queued for a peer until there has been nothing for a while.
func (d *direct) drain(to peer.ID, queue <-chan []byte) {
	out := &outStream{direct: d, to: to}
	defer out.close()
	idle := time.NewTimer(directIdle)
	defer idle.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case data := <-queue:
			out.send(data)
			idle.Reset(directIdle)
		case <-idle.C:
			d.mu.Lock()
			unused := len(queue) == 0
			if unused {
				delete(d.queues, to) // nothing is queued without the lock
			}
			d.mu.Unlock()
			if unused {
				return
			}
			idle.Reset(directIdle)
		}
	}
}

// outStream is the stream to one peer, open while done is set.
type outStream struct {
	direct *direct
	to     peer.ID
	stream network.Stream
	done   func() // closes it
}

// send writes a message, on a new stream if the open one fails.
func (o *outStream) send(data []byte) {
	reused := o.done != nil
	err := o.write(data)
	if err != nil && reused {
		err = o.write(data)
	}
	counts := &o.direct.gossip.counts
	if err != nil {
		counts.miss(StreamFailed, 1)
		o.direct.gossip.log.Debug("directed message lost", "peer", o.to, "error", err)
		return
	}
	counts.directSent.Add(1)
}

func (o *outStream) write(data []byte) error {
	if o.done == nil {
		if err := o.open(); err != nil {
			return err
		}
	}
	err := o.stream.SetWriteDeadline(time.Now().Add(directTimeout))
	if err == nil {
		err = msgio.NewVarintWriter(o.stream).WriteMsg(data)
	}
	if err != nil {
		_ = o.stream.Reset()
		o.close()
	}
	return err
}

// open uses an existing connection and does not dial. The driver that knows the
// peer's addresses keeps the connections, and the message would be old by then.
func (o *outStream) open() error {
	ctx, cancel := context.WithTimeout(network.WithNoDial(o.direct.ctx, "directed message"), directTimeout)
	defer cancel()
	s, err := o.direct.gossip.host.NewStream(ctx, o.to, directProtocol(o.direct.gossip.config.Network))
	if err != nil {
		return err
	}
	o.stream, o.done = s, bound(o.direct.ctx, s)
	return nil
}

func (o *outStream) close() {
	if o.done != nil {
		o.done()
		o.done = nil
	}
}

// handle takes in the messages of one peer, on a goroutine of the host.
func (d *direct) handle(s network.Stream) {
	from := s.Conn().RemotePeer()
	if d.gossip.offenders.Contains(from) || !d.enter(from, s) {
		_ = s.Reset()
		return
	}
	defer d.leave(from, s)
	defer bound(d.ctx, s)()
	reader := msgio.NewVarintReaderSize(s, largestDirected(d.gossip.config.Rules))
	for {
		if err := s.SetReadDeadline(time.Now().Add(directSilence)); err != nil {
			break
		}
		data, err := reader.ReadMsg()
		if errors.Is(err, msgio.ErrMsgTooLarge) {
			d.gossip.reject(from, Oversized)
		}
		if err != nil || !d.gossip.take(from, data) {
			break
		}
		reader.ReleaseMsg(data)
	}
	_ = s.Reset()
}

// enter reports whether the peer may hold this stream open. A new stream replaces
// the peer's older one: the peer has lost that, even if this side has not noticed.
func (d *direct) enter(from peer.ID, s network.Stream) bool {
	followed := d.gossip.following(from)
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.readers[from]
	if d.ctx.Err() != nil || old == nil && !followed && len(d.readers) >= readersFor(largestDirected(d.gossip.config.Rules)) {
		return false
	}
	if old != nil {
		go old.Reset() // on a goroutine, because it waits for a peer that may read nothing
	}
	d.readers[from] = s
	d.running.Add(1)
	return true
}

func (d *direct) leave(from peer.ID, s network.Stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readers[from] == s {
		delete(d.readers, from)
	}
	d.running.Done()
}

// take puts a directed message into the inbox, and reports whether its sender may
// go on sending. A message from a peer that is not followed is ignored without a
// penalty: the peer may have made the edge a moment before this side does.
func (g *Gossip) take(from peer.ID, data []byte) bool {
	if g.offenders.Contains(from) {
		return false
	}
	if !g.charge(from, reputation.Models, modelsIn(len(data), g.config.Rules)/directedPart) {
		g.counts.miss(TooMuch, 1)
		return true
	}
	if !g.following(from) {
		if len(data) == 0 {
			g.reject(from, Malformed)
			return false
		}
		g.counts.miss(NotFollowed, 1)
		return true
	}
	m, err := decodeDirected(data, ID(from), ID(g.host.ID()), g.config.Rules)
	if err != nil {
		g.log.Debug("directed message rejected", "peer", from, "error", err)
		g.reject(from, Malformed)
		return false
	}
	g.counts.directTaken.Add(1)
	g.inbox.put(m)
	return true
}

// reject counts a directed message against its sender.
func (g *Gossip) reject(from peer.ID, r Reason) {
	g.counts.miss(r, 1)
	g.strike(from)
}

func (g *Gossip) following(p peer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.followOf(p) != nil
}
