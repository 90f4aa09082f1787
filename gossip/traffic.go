package gossip

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/reputation"
	"p2pnode/internal/crowd"
	"p2pnode/learner"
)

const (
	// askedAtOnce is how many messages a peer is asked for between two heartbeats.
	askedAtOnce = 256
	// graftBytes is the weight of a request to join a mesh: this network has none.
	graftBytes = 4 << 10
	// subscriptionBytes is what the beginning or end of a subscription counts, beside its
	// own bytes. A peer says each once when it connects, and then one now and then.
	subscriptionBytes = 512
	// Reads of a stream are counted readsAtOnce at a time, each as readBytes: short
	// messages cost as much as long ones.
	readsAtOnce, readBytes = 64, 64
	// A message may have fewPieces, and one more for each pieceBytes of it. Those of honest nodes
	// have 22 and more on average: a request is for a topic and the names of messages on it.
	fewPieces, pieceBytes = 64, 16
	// unfinished is how many bytes of long messages of which the end has not come yet peers that
	// are not followed may have here. What they take in memory is up to twice as much.
	unfinished = 16 << 20
)

var (
	errTooMuch = errors.New("the peer sends more than any honest node")
	errPieces  = errors.New("the peer sends a message in more pieces than any honest node")
	errRoom    = errors.New("others have the room for long messages")
)

// rooms are those of long messages that are not complete. They are safe for concurrent use.
type rooms struct {
	mu    sync.Mutex
	rooms *crowd.Rooms[*metered]
}

func newRooms(r learner.Rules) rooms {
	return rooms{rooms: crowd.NewRooms[*metered](unfinished / largestRPC(r))}
}

// enter gives a stream from an address room for a message until it leaves, and reports whether
// there is some. If there is too little, the network that has most gives some up, and a stream ends.
func (r *rooms) enter(m *metered, from netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	stays, lost := r.rooms.Enter(m, from, nil)
	for _, out := range lost {
		go out.Reset() // on a goroutine, because it waits for a peer that may read nothing
	}
	return stays
}

func (r *rooms) leave(m *metered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rooms.Leave(m)
}

// inspect looks at what a peer sent before gossipsub does; an error drops all of it. It
// counts what the peer wrote itself, and what it passed on without being asked.
func (g *Gossip) inspect(from peer.ID, rpc *pubsub.RPC) error {
	if g.offenders.struck(from) {
		g.counts.miss(RefusedPeer, len(rpc.GetPublish()))
		return errTooMuch
	}
	if !g.charge(from, reputation.Control, controlIn(rpc)) {
		g.counts.miss(TooMuch, len(rpc.GetPublish()))
		return errTooMuch
	}
	kept := rpc.Publish[:0]
	for _, m := range rpc.GetPublish() {
		if g.affords(from, m) {
			kept = append(kept, m)
		} else {
			g.counts.miss(TooMuch, 1)
		}
	}
	rpc.Publish = kept
	return nil
}

// affords reports whether to look at a message.
func (g *Gossip) affords(from peer.ID, m *pb.Message) bool {
	if g.authored(from, m.GetTopic()) {
		return g.charge(from, reputation.Models, modelsIn(len(m.GetData()), g.config.Rules))
	}
	return g.charge(from, reputation.Relayed, 1) && g.share.take(g.share.relayed, g.offenders.from(from), from, 1)
}

// authored reports whether a peer is the one that publishes on a topic. Gossipsub waits for
// it, and who holds g.mu may wait for gossipsub, so it takes no lock.
func (g *Gossip) authored(p peer.ID, topic string) bool { return topic == topicOf(g.config.Network, p) }

// controlIn is the number of bytes of gossipsub's own messages in an RPC.
func controlIn(rpc *pubsub.RPC) float64 {
	bytes := proto.Size(&rpc.RPC)
	for _, m := range rpc.GetPublish() {
		bytes -= len(m.GetData())
	}
	c := rpc.GetControl()
	return float64(bytes + graftBytes*(len(c.GetGraft())+len(c.GetPrune())) + subscriptionBytes*len(rpc.GetSubscriptions()))
}

// guardedHost is the host that gossipsub uses: it reads nothing from refused peers, and
// little from those that open streams without end.
type guardedHost struct {
	host.Host
	gossip *Gossip
	life   context.Context // life of gossipsub
}

// SetStreamHandler implements [host.Host]. The handler f is guarded; see guard.
func (h guardedHost) SetStreamHandler(id protocol.ID, f network.StreamHandler) {
	h.Host.SetStreamHandler(id, h.gossip.guard(h.life, f))
}

// SetStreamHandlerMatch implements [host.Host]. The handler f is guarded; see guard.
func (h guardedHost) SetStreamHandlerMatch(id protocol.ID, m func(protocol.ID) bool, f network.StreamHandler) {
	h.Host.SetStreamHandlerMatch(id, m, h.gossip.guard(h.life, f))
}

// guard returns a handler that strikes the peer if gossipsub ends a stream from which
// it could read: then it read something that gossipsub never sends.
func (g *Gossip) guard(life context.Context, next network.StreamHandler) network.StreamHandler {
	return func(s network.Stream) {
		from := s.Conn().RemotePeer()
		if g.offenders.struck(from) || !g.charge(from, reputation.Streams, 1) {
			_ = s.Reset()
			return
		}
		m := &metered{Stream: s, gossip: g}
		m.in = bufio.NewReader(under{m})
		next(m)
		if !m.broken && life.Err() == nil {
			g.counts.miss(Malformed, 1)
			g.strike(from)
		}
	}
}

// metered is a stream that counts a peer's short messages, and ends at one in many pieces. One
// goroutine reads from it.
type metered struct {
	network.Stream
	gossip  *Gossip
	in      *bufio.Reader
	message []byte // what of the last one is not read yet
	reads   int
	broken  bool // the last read failed
}

// Read implements [io.Reader].
func (m *metered) Read(b []byte) (int, error) {
	if m.reads++; m.reads >= readsAtOnce {
		m.reads = 0
		if !m.gossip.charge(m.Conn().RemotePeer(), reputation.Control, readsAtOnce*readBytes) {
			m.broken = true
			return 0, errors.Join(errTooMuch, m.Reset())
		}
	}
	if len(m.message) == 0 {
		if err := m.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, m.message)
	if m.message = m.message[n:]; len(m.message) == 0 {
		m.message = nil // it may be of megabytes
	}
	return n, nil
}

// under reads from the stream of a metered one.
type under struct{ *metered }

// Read implements [io.Reader].
func (u under) Read(b []byte) (int, error) {
	n, err := u.Stream.Read(b)
	u.broken = err != nil
	return n, err
}

// next reads a message with its length. Of one that is too long it reads the length only:
// gossipsub ends the stream for it.
func (m *metered) next() error {
	length, err := binary.ReadUvarint(m.in)
	if err != nil {
		return err
	}
	head := binary.AppendUvarint(nil, length)
	begin := len(head)
	if length > uint64(largestRPC(m.gossip.config.Rules)) {
		m.message = head
		return nil
	}
	if from := m.Conn().RemotePeer(); length > usualMessage && !m.gossip.following(from) {
		defer m.gossip.rooms.leave(m)
		if !m.gossip.rooms.enter(m, m.gossip.offenders.from(from)) {
			m.broken = true
			return errors.Join(errRoom, m.Reset())
		}
	}
	whole := bytes.NewBuffer(head)
	if _, err = io.CopyN(whole, m.in, int64(length)); err != nil { // grows as it arrives
		return err
	}
	body := whole.Bytes()[begin:]
	if piecesIn(body, 0) > fewPieces+len(body)/pieceBytes {
		return errPieces
	}
	m.message = whole.Bytes()
	return nil
}

// piecesIn counts what gossipsub makes of a message, which is a hundred bytes and more in memory
// for each, however short: subscriptions, models, and requests with all names in them.
func piecesIn(message []byte, depth int) (n int) {
	const publish, control = 2, 3 // the numbers of the fields
	const model = 6               // is as much in memory as this many others, and longer than they are
	for len(message) > 0 {
		field, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return n // gossipsub will not read it either
		}
		value := message[size:]
		if size = protowire.ConsumeFieldValue(field, kind, value); size < 0 {
			return n
		}
		n++
		if depth == 0 && field == publish {
			n += model - 1
		}
		if kind == protowire.BytesType && (depth == 0 && field == control || depth == 1) {
			inside, _ := protowire.ConsumeBytes(value)
			n += piecesIn(inside, depth+1)
		}
		message = value[size:]
	}
	return n
}

// scoring passes the offences of peers on to gossipsub: it asks a peer with two strikes
// for nothing and does not answer it, and ignores a refused one. Gossipsub's own
// criteria are left out: without a mesh nobody can be behind in it, many honest nodes
// may share an address, and a node on a busy machine keeps no promise in time.
func (g *Gossip) scoring() (*pubsub.PeerScoreParams, *pubsub.PeerScoreThresholds) {
	const doubtful, absent = -2, reputation.Worst / 2
	every := max(g.pulse, calmEvery)
	return &pubsub.PeerScoreParams{
			Topics:                      make(map[string]*pubsub.TopicScoreParams),
			AppSpecificScore:            g.offenders.score,
			AppSpecificWeight:           1,
			IPColocationFactorThreshold: 1, // it has no weight
			BehaviourPenaltyDecay:       pubsub.ScoreParameterDecayWithBase(reputation.Refusal, every, pubsub.DefaultDecayToZero),
			DecayInterval:               every,
			DecayToZero:                 pubsub.DefaultDecayToZero,
			RetainScore:                 reputation.Refusal,
			SeenMsgTTL:                  time.Second, // deliveries are not scored
		}, &pubsub.PeerScoreThresholds{
			GossipThreshold: doubtful, PublishThreshold: absent, GraylistThreshold: absent,
			AcceptPXThreshold: 1, OpportunisticGraftThreshold: 1, // no peer reaches these
		}
}
