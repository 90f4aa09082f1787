package gossip

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip/reputation"
	"p2pnode/learner"
)

// maxOffenders is the number of peers about which offences are remembered.
const maxOffenders = 2048

// What a peer may do before it gets strikes: many times what an honest one does.
const (
	// modelBurst and modelPace count models; a model of more than a unit of bytes
	// counts as several.
	modelBurst, modelPace = 512, 64
	modelUnit             = 8 << 10
	largestAtOnce         = 8 // models of the largest size, at once
	// directedPart is how many messages to this node alone count as one model: their
	// signatures are not checked, and some learners send many.
	directedPart = 32
	// relayBurst and relayPace count messages of others that the peer was not asked
	// for. In this network nobody forwards a message without being asked.
	relayBurst, relayPace = 512, 16
	// controlBurst and controlPace count bytes of gossipsub beside the messages.
	controlBurst, controlPace = 256 << 10, 64 << 10
	// streamBurst and streamPace count streams of gossipsub, of which a connection has
	// one, and requests beyond those that are answered, where the quota is modest.
	streamBurst, streamPace = 64, 2
	// unansweredStreams is the weight of a stream that this host has not even opened,
	// because all strangers together open too many. A few of these can happen to an
	// honest newcomer.
	unansweredStreams = 4
)

func allowances() (a [reputation.Kinds]reputation.Allowance) {
	a[reputation.Models] = reputation.Allowance{Burst: modelBurst, PerSecond: modelPace}
	a[reputation.Relayed] = reputation.Allowance{Burst: relayBurst, PerSecond: relayPace}
	a[reputation.Control] = reputation.Allowance{Burst: controlBurst, PerSecond: controlPace}
	a[reputation.Streams] = reputation.Allowance{Burst: streamBurst, PerSecond: streamPace}
	return a
}

// modelsIn is the number of models that a message of this size counts as.
func modelsIn(size int, r learner.Rules) float64 {
	return max(1, float64(size)/float64(max(modelUnit, largestAtOnce*largest(r)/modelBurst)))
}

// offenders holds the offences of peers, for many goroutines, and the blacklist of
// gossipsub.
type offenders struct {
	member func(peer.ID) bool       // peers that are not members are always refused; nil: every peer is a member
	from   func(peer.ID) netip.Addr // the address from which a peer is connected

	mu    sync.Mutex
	table *reputation.Table
}

// newOffenders returns an empty table; from is nil where peers have no connections.
func newOffenders(member func(peer.ID) bool, from func(peer.ID) netip.Addr) *offenders {
	if from == nil {
		from = func(peer.ID) netip.Addr { return netip.Addr{} }
	}
	return &offenders{member: member, from: from, table: reputation.NewTable(maxOffenders, allowances())}
}

// take counts what a peer did, as [reputation.Table.Take] does.
func (o *offenders) take(p peer.ID, k reputation.Kind, amount float64) (within, refused bool) {
	from := o.from(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.table.Take(p, from, k, amount, time.Now())
}

// Contains implements [pubsub.Blacklist]: it reports whether a peer is refused. Gossipsub
// also asks about the authors of messages, which do not name any.
func (o *offenders) Contains(p peer.ID) bool {
	if p == "" {
		return false
	}
	return o.member != nil && !o.member(p) || o.struck(p)
}

// struck reports whether a peer is refused because of its offences. A peer that is not
// a member may become one: it connects to get the list of members, and does not repeat
// what it sent meanwhile.
func (o *offenders) struck(p peer.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.table.Refused(p, time.Now())
}

// Add implements [pubsub.Blacklist]: it refuses a peer at once.
func (o *offenders) Add(p peer.ID) bool {
	o.take(p, reputation.Malformed, reputation.Limit)
	return true
}

// Refuses reports whether a peer is refused for what it did.
func (g *Gossip) Refuses(p peer.ID) bool { return g.offenders.struck(p) }

// The reasons why a peer is asked nothing.
var (
	errStranger = errors.New("the peer is not a member of the private network, by the list of members that this node has; the list may still be on its way")
	errOffender = errors.New("the peer is refused for its bad messages")
)

// refusal says why a peer is refused; nil if it is not.
func (g *Gossip) refusal(p peer.ID) error {
	switch {
	case g.evidence.has(p):
		return errConvicted
	case g.config.Member != nil && !g.config.Member(p):
		return errStranger
	case g.offenders.struck(p):
		return errOffender
	}
	return nil
}

// AddressOf returns the address from which a peer is connected; not valid without a
// connection.
func (g *Gossip) AddressOf(p peer.ID) netip.Addr { return g.offenders.from(p) }

// Unanswered counts a stream that a peer opened and for which the host had no place.
func (g *Gossip) Unanswered(p peer.ID) { g.charge(p, reputation.Streams, unansweredStreams) }

// Flooded counts a neighbour that sent far more packets than this host read. No honest one does,
// so it is refused at once.
func (g *Gossip) Flooded(p peer.ID) {
	g.charge(p, reputation.Streams, (reputation.Limit+1)*streamBurst)
}

// score is what gossipsub adds to its own score of a peer.
func (o *offenders) score(p peer.ID) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.table.Score(p, time.Now())
}

// Held returns the offences held against peers now, in order of their IDs. No peer is
// blamed for what it only passed on.
func (g *Gossip) Held() []reputation.Held {
	g.offenders.mu.Lock()
	defer g.offenders.mu.Unlock()
	return g.offenders.table.All(time.Now())
}

// charge counts what a peer did on its own connection or wrote itself, and reports
// whether that is within its allowance. If the peer becomes refused by it, it is
// disconnected.
func (g *Gossip) charge(p peer.ID, k reputation.Kind, amount float64) (within bool) {
	within, refused := g.offenders.take(p, k, amount)
	if refused {
		g.log.Debug("refusing a peer", "peer", p, "for", k, "minutes", reputation.Refusal.Minutes())
		if g.config.OnRefuse != nil {
			for _, h := range g.Held() {
				if h.Peer == p {
					g.config.OnRefuse(h)
				}
			}
		}
		signal(g.refused)
	}
	return within
}

// strike counts a message that no honest peer sends.
func (g *Gossip) strike(p peer.ID) { g.charge(p, reputation.Malformed, 1) }
