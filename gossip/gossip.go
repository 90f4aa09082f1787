// Package gossip carries shared models between neighbours, and the requests by
// which two nodes agree to be neighbours. Models are broadcast: every node
// publishes on a topic of its own, its neighbours subscribe to it, and every
// message ends with its author's signature and is checked before anything else sees it.
// Edge requests, and messages of a learner to one peer, go over direct, encrypted
// streams. So do the calls and the long contents, or blobs, of private sums, which are
// fetched by name from anybody who has them; news of them is broadcast to everybody.
//
// The settings of gossipsub are those that lost nothing in measurement: the
// publisher sends to every subscriber itself (flood publishing, no mesh), a
// summary of recent messages repairs broken links, and queues are long enough
// for everybody to publish at once.
package gossip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/sync/semaphore"

	"p2pnode/gossip/reputation"
	"p2pnode/internal/crowd"
	"p2pnode/learner"
)

// Config says what a [Gossip] needs. All fields but Vector, Pulse, Member, Service and
// Files are required.
type Config struct {
	// Network names the task; nodes of different networks never exchange
	// anything. It is part of every topic, so 16 to 64 characters of a hash.
	Network string
	Signer  *Signer       // of the host's identity, for the same network
	Rules   learner.Rules // what this node takes from its neighbours
	Depth   int           // how many messages of a sender and kind the inbox holds: 1 if only the newest counts
	Vector  int           // coordinates of what entries say of a node; 0: they say nothing
	Logger  *slog.Logger
	// Pulse is the time between gossipsub's heartbeats, in which subscribers tell
	// each other what they have heard; 0 means a second.
	Pulse time.Duration
	// Member reports whether a peer may take part. Messages of other peers are
	// refused, also when a member passes them on. It is called from many goroutines
	// at once. Optional; nil means that everybody may take part.
	Member func(peer.ID) bool
	// OnEdge answers a request from an authenticated peer. It is called from many
	// goroutines at once and must return when its context ends: 10 s after the
	// request, or earlier when Run ends. An answer returned later is not sent.
	// Latest has not been decoded yet: pass it to [Gossip.Hear] after accepting.
	OnEdge func(ctx context.Context, from peer.ID, r EdgeRequest) EdgeReply
	// Service is what this node does beside that for private sums. Optional.
	Service *Service
	// Files opens a public file of the task by its SHA-256, for newcomers who ask with
	// [FetchFile]; it returns nil if there is none. It is called from many goroutines
	// at once, and gossip closes what it opens. Optional.
	Files func(name BlobName) Blob
	// OnReject is called for each message that no honest node would have sent. OnRefuse
	// is called when a peer has become refused, with the offences held against it. Both
	// are called from many goroutines at once and must not wait. Optional.
	OnReject func(Reason)
	OnRefuse func(reputation.Held)
	// OnEvidence is called once for each author that is found to have signed two different
	// models for one round; this node may be one. It is called from many goroutines at once
	// and must not wait. Optional.
	OnEvidence func(Evidence)
}

// Stats counts messages since [New].
type Stats struct {
	Published uint64 // by this node
	Expected  uint64 // sum over published messages of the listeners at that moment
	Delivered uint64 // first copies accepted by the validator, from followed peers
	Rejected  uint64 // malformed or forged
	Ignored   uint64 // stale, or from a peer no longer followed
	Dropped   uint64 // not sent or not checked because a queue was full, or a stream failed

	DirectSent  uint64 // directed messages, written to a stream
	DirectTaken uint64 // directed messages accepted from followed peers
}

// Gossip is one node's place in the network. All methods are safe for
// concurrent use.
type Gossip struct {
	config    Config
	host      host.Host
	log       *slog.Logger
	stop      context.CancelFunc
	pubsub    *pubsub.PubSub
	mine      *pubsub.Topic // published on, never subscribed to
	audience  *pubsub.TopicEventHandler
	listeners chan struct{}
	inbox     *Inbox
	offenders *offenders
	share     share
	rooms     rooms
	evidence  evidence
	refused   chan struct{} // some peer has just become refused
	edges     server
	calls     server
	blobs     server
	room      *semaphore.Weighted // bytes that may be on their way here
	news      *pubsub.Topic       // nil without a service
	direct    direct
	counts    counters
	ran       atomic.Bool   // Run was called
	pulse     time.Duration // between heartbeats
	// watchEvery is about the time between looks of the watchdog while all neighbours listen.
	watchEvery time.Duration

	mu      sync.Mutex
	follows map[string]*follow // by topic
	topics  map[peer.ID]string // topics of the followed peers; computing their names takes long
	heard   map[peer.ID]*author
	turn    uint64 // counts arrived models; the author with the oldest is forgotten first
}

type counters struct {
	published, expected, delivered, directSent, directTaken atomic.Uint64

	by [reasons]atomic.Uint64

	onReject func(Reason) // nil: nothing is called
}

// miss counts messages that were not accepted or not sent.
func (c *counters) miss(r Reason, messages int) {
	c.by[r].Add(uint64(messages))
	if r.Outcome() == Rejected && c.onReject != nil {
		c.onReject(r)
	}
}

// follow is a subscription to one neighbour's topic. The validator is the
// subscriber: it hands accepted messages to the inbox, so that gossipsub needs
// to keep no channel and no goroutine for each neighbour.
type follow struct {
	peer  peer.ID
	id    learner.ID
	topic *pubsub.Topic
	leave pubsub.RelayCancelFunc
	since time.Time

	arrived uint64 // the newest round that was put into the inbox
	holds   uint64 // the newest round of this node that the peer says it has
}

// admits reports whether a peer may take part at all.
func (g *Gossip) admits(p peer.ID) bool {
	return (p == g.host.ID() || !g.evidence.has(p)) && (g.config.Member == nil || g.config.Member(p))
}

// ID is the learner's name for a peer.
func ID(p peer.ID) learner.ID { return learner.ID(p.String()) }

// New joins the network on a running host. The caller must call [Gossip.Run],
// which ends what New started, and closes the host afterwards.
func New(h host.Host, c Config) (*Gossip, error) {
	if c.Network == "" || c.Signer == nil || c.Logger == nil || c.OnEdge == nil {
		return nil, errors.New("gossip: Network, Signer, Logger and OnEdge are required")
	}
	if c.Depth < 1 || c.Vector < 0 {
		return nil, errors.New("gossip: Depth must be at least 1, and Vector not negative")
	}
	if err := checkRules(c.Rules); err != nil {
		return nil, err
	}
	g := &Gossip{
		config:    c,
		host:      h,
		log:       c.Logger,
		listeners: make(chan struct{}, 1),
		inbox:     newInbox(c.Depth),
		refused:   make(chan struct{}, 1),
		follows:   make(map[string]*follow),
		topics:    make(map[peer.ID]string),
		heard:     make(map[peer.ID]*author),
		pulse:     cmp.Or(c.Pulse, time.Second),
		room:      semaphore.NewWeighted(FetchRoom),
		share:     newShare(),
		rooms:     newRooms(c.Rules),
	}
	g.offenders = newOffenders(g.admits, func(p peer.ID) netip.Addr { return crowd.From(h.Network(), p) })
	g.counts.onReject = c.OnReject
	g.watchEvery = max(g.pulse, calmEvery)
	ctx, stop := context.WithCancel(context.Background())
	if err := g.join(ctx); err != nil {
		stop()
		return nil, fmt.Errorf("gossip: join the network: %w", err)
	}
	g.stop = stop
	g.edges = server{gossip: g, protocol: edgeProtocol(c.Network), timeout: edgeTimeout, answer: g.answerEdge}
	g.edges.start(ctx, edgeQuota(g.maxEdgeSize()))
	g.direct.start(ctx, g)
	g.serve(ctx)
	return g, nil
}

func (g *Gossip) join(ctx context.Context) error {
	var err error
	if g.pubsub, err = newPubSub(ctx, g); err != nil {
		return err
	}
	if g.mine, err = g.pubsub.Join(topicOf(g.config.Network, g.host.ID())); err != nil {
		return err
	}
	if g.audience, err = g.mine.EventHandler(); err != nil || g.config.Service == nil {
		return err
	}
	return g.joinNews()
}

// Run serves until ctx ends: edge requests, directed messages, changes of the
// listeners, the watchdog. It returns nil after the goroutines of this package have ended;
// those of gossipsub, which offers no way to wait for them, end soon after,
// at the latest when the host is closed. A Gossip cannot run twice: a second call returns
// an error at once and leaves the first one alone.
func (g *Gossip) Run(ctx context.Context) error {
	if g.ran.Swap(true) {
		return errors.New("gossip: already running, or has run; make another one with New")
	}
	var running sync.WaitGroup
	running.Go(func() { g.watchListeners(ctx) })
	running.Go(func() { g.watch(ctx) })
	<-ctx.Done()
	g.edges.shut()
	g.direct.shut()
	if g.config.Service != nil {
		g.calls.shut()
	}
	g.blobs.shut()
	running.Wait()
	g.audience.Cancel()
	g.stop()
	return nil
}

// Inbox is where messages of followed peers arrive.
func (g *Gossip) Inbox() *Inbox { return g.inbox }

// Follow subscribes to the models of a peer. It does not connect to it.
// Following twice is the same as once.
func (g *Gossip) Follow(p peer.ID) error {
	name := topicOf(g.config.Network, p)
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.follows[name]; ok {
		return nil
	}
	if p == g.host.ID() {
		return errors.New("gossip: a node does not follow itself")
	}
	topic, err := g.pubsub.Join(name)
	if err != nil {
		return fmt.Errorf("gossip: follow %s: %w", p, err)
	}
	leave, err := topic.Relay()
	if err != nil {
		return fmt.Errorf("gossip: follow %s: %w", p, errors.Join(err, topic.Close()))
	}
	g.follows[name] = &follow{peer: p, id: ID(p), topic: topic, leave: leave, since: time.Now()}
	g.topics[p] = name
	return nil
}

// Unfollow ends the subscription and forgets what waits in the inbox. It does
// not disconnect.
func (g *Gossip) Unfollow(p peer.ID) error {
	name := topicOf(g.config.Network, p)
	g.mu.Lock()
	defer g.mu.Unlock()
	f, ok := g.follows[name]
	if !ok {
		return nil
	}
	if a := g.heard[p]; a != nil {
		a.stood = max(a.stood, time.Since(f.since))
	}
	delete(g.follows, name)
	delete(g.topics, p)
	g.inbox.drop(f.id)
	f.leave()
	if err := f.topic.Close(); err != nil {
		return fmt.Errorf("gossip: unfollow %s: %w", p, err)
	}
	return nil
}

// followOf is the subscription to a peer's topic; nil: there is none. The caller holds g.mu.
func (g *Gossip) followOf(p peer.ID) *follow { return g.follows[g.topics[p]] }

// Publish sends an encoded model to all listeners. It does not wait for delivery,
// and succeeds when nobody listens. Publishing the same bytes again does no harm:
// peers that have heard them ignore the copy. Publish fails, and sends nothing, if data is
// not what this node's [Signer] encoded or breaks this node's rules for models, which are
// its neighbours' too: they would refuse the node for it.
func (g *Gossip) Publish(ctx context.Context, data []byte) error {
	if _, _, err := g.open(g.host.ID(), data); err != nil {
		return fmt.Errorf("gossip: publish: neighbours would refuse the node for this, pass a model of the task as Signer.Encode returns it: %w", err)
	}
	expected := len(g.mine.ListPeers())
	if err := g.mine.Publish(ctx, data); err != nil {
		return fmt.Errorf("gossip: publish: %w", err)
	}
	g.counts.published.Add(1)
	g.counts.expected.Add(uint64(expected))
	return nil
}

// Listeners returns the connected peers that subscribe to this node's models,
// sorted. Any peer may subscribe, so intersect the list with the neighbours.
func (g *Gossip) Listeners() []peer.ID {
	peers := g.mine.ListPeers()
	slices.Sort(peers)
	return peers
}

// ListenersChanged receives a value after [Gossip.Listeners] has changed.
func (g *Gossip) ListenersChanged() <-chan struct{} { return g.listeners }

func (g *Gossip) watchListeners(ctx context.Context) {
	for {
		if _, err := g.audience.NextPeerEvent(ctx); err != nil {
			return
		}
		signal(g.listeners)
	}
}

// Stats returns the counters as they are now.
func (g *Gossip) Stats() Stats {
	c := &g.counts
	s := Stats{
		Published: c.published.Load(),
		Expected:  c.expected.Load(),
		Delivered: c.delivered.Load(),

		DirectSent:  c.directSent.Load(),
		DirectTaken: c.directTaken.Load(),
	}
	for r, n := range g.Reasons() {
		switch r.Outcome() {
		case Rejected:
			s.Rejected += n
		case Ignored:
			s.Ignored += n
		case Dropped:
			s.Dropped += n
		}
	}
	return s
}

// Reasons returns how often messages were not accepted or not sent, for each reason,
// including those that never happened.
func (g *Gossip) Reasons() map[Reason]uint64 {
	out := make(map[Reason]uint64, reasons)
	for r := range reasons {
		out[r] = g.counts.by[r].Load()
	}
	return out
}
