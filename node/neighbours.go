package node

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/discovery"
	"p2pnode/discovery/members"
	"p2pnode/gossip"
	"p2pnode/internal/turn"
	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/node/datadir"
	"p2pnode/node/diary"
	"p2pnode/node/netedge"
	"p2pnode/peering"
	"p2pnode/storage"
)

// neighbourhood drives the state machine that decides which peers are neighbours, as the
// loop drives the agent. Only the goroutine of run steps the machine, in the order of the
// events, and carries out what the steps return (edges.go). Other goroutines post their
// inputs, so they may call answer, found, serve, expel, depart and look.
type neighbourhood struct {
	machine  *peering.Neighbourhood
	config   peering.Config
	vector   int                                                // the length of the public vector of a node
	observe  func(time.Duration, peering.Input, peering.Output) // nil, or a test's recorder
	private  datadir.Private
	origins  func() []peer.AddrInfo              // the peers to contact if no others are known
	named    func(peer.ID) []multiaddr.Multiaddr // the addresses of a peer that it said itself
	live     func() *datadir.Config
	host     host.Host
	store    edgeStore
	gossip   *gossip.Gossip
	signer   *gossip.Signer
	keeper   *discovery.Keeper
	history  *history
	audience *audience
	log      *slog.Logger
	diary    *diary.Diary

	posted  mailbox
	changed chan struct{}          // holds a value after edges changed
	latest  atomic.Pointer[[]byte] // the newest published message; nil if there is none
	left    chan struct{}          // closed when every neighbour was told that the node leaves

	// The fields below belong to the goroutine of run.
	now     func() time.Duration // the machine's clock; replaced only in tests
	start   time.Time            // the zero of that clock
	due     time.Duration        // when the machine wants its next tick
	next    time.Duration        // when it gets it
	edges   map[peer.ID]*edge    // the edges as they are stored, or will be
	unsaved map[peer.ID]bool     // peers whose edges have changed and are not stored yet
	saved   time.Duration        // the time at which edges were stored last
	list    *members.Signed      // the list of members that the machine knows
	calling sync.WaitGroup       // requests under way
}

// edgeStore is the part of the node's store that the neighbourhood may use. Nothing here
// knows of records.
type edgeStore interface {
	Edges() ([]storage.Edge, error)
	SaveEdges(gone []string, edges ...storage.Edge) error
	Peers() ([]storage.Peer, error)
}

// restore makes the machine and restores what an earlier run stored: the edges and peers,
// the node's public vector (the profile that its owner declared, or the estimate of its
// releases), and the newest published message.
func (h *neighbourhood) restore(profile []float64, latest []byte, e *learner.Estimate) error {
	edges, err := h.store.Edges()
	if err != nil {
		return err
	}
	peers, err := h.store.Peers()
	if err != nil {
		return err
	}
	if err := h.recall(edges); err != nil {
		return err
	}
	for _, p := range peers {
		info, err := netedge.AddrInfo(p.ID, p.Addrs)
		if err != nil {
			return err
		}
		h.found(info)
	}
	if len(profile) > 0 {
		h.declare(graph.End{Vector: profile})
	}
	if _, err := gossip.WitnessOf(latest); err == nil { // peers refuse a message without a proof
		h.serve(latest, e)
	}
	h.shun()
	return nil
}

// recall makes the machine with the edges of an earlier run.
func (h *neighbourhood) recall(edges []storage.Edge) error {
	for _, e := range edges {
		info, err := netedge.AddrInfo(e.Peer, e.Addrs)
		if err != nil {
			return err
		}
		h.edges[info.ID] = &edge{e, info.Addrs}
		since := min(0, time.Unix(e.Since, 0).Sub(h.start)) // a time after the start means that the clock was ahead then
		if e.Since > 0 && e.Since < storage.Earliest.Unix() {
			since = 0 // the clock was not set then
		}
		h.config.Edges = append(h.config.Edges, peering.Edge{
			Peer: gossip.ID(info.ID), Weight: e.Weight, Known: e.Known, Invited: e.Invited, Since: since,
		})
		if err := h.gossip.Follow(info.ID); err != nil {
			return err
		}
	}
	h.machine = peering.New(h.config)
	h.stayConnected()
	return nil
}

// run drives the machine until ctx ends. It never waits for an answer, so a slow peer
// does not delay the others.
func (h *neighbourhood) run(ctx context.Context) error {
	defer h.watch()()
	defer h.calling.Wait()
	defer h.save()
	defer h.posted.close(ctx)
	h.checkMembers(ctx, true)
	h.posted.empty(ctx)
	for _, p := range h.host.Network().Peers() {
		h.moved(ctx, p, false)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.posted.news:
			h.posted.empty(ctx)
		case <-timer.C:
			if h.now() >= h.saveAt() {
				h.save()
			} else {
				h.step(ctx, peering.Tick{})
			}
		}
		timer.Reset(min(h.next, h.saveAt()) - h.now())
	}
}

// step passes an input to the machine and carries out what follows.
func (h *neighbourhood) step(ctx context.Context, in peering.Input) peering.Output {
	h.checkMembers(ctx, false)
	return h.stepAlone(ctx, in)
}

func (h *neighbourhood) stepAlone(ctx context.Context, in peering.Input) peering.Output {
	now := h.now()
	out := h.machine.Step(now, in)
	if h.observe != nil {
		h.observe(now, in, out)
	}
	h.schedule(now, out.Next)
	h.carryOut(ctx, out)
	return out
}

// schedule notes when the machine wants its next tick. It gets it then, or at a turn if
// nothing but the time asks for it.
func (h *neighbourhood) schedule(now, due time.Duration) {
	switch look := h.config.Look; {
	case due == h.due && now < h.next: // noted before
	case due-now >= look:
		h.next = now + turn.Wait(look)
	default:
		h.next = due
	}
	h.due = due
}

// checkMembers tells the machine who the members are, if the list has changed or a
// membership may have ended.
func (h *neighbourhood) checkMembers(ctx context.Context, ended bool) {
	if h.private.Book == nil {
		return
	}
	if list := h.private.Book.List(); ended || list != h.list {
		h.list = list
		h.stepAlone(ctx, peering.Members{Peers: h.private.Members()})
	}
}

// found notes a peer of this task that discovery has seen.
func (h *neighbourhood) found(info peer.AddrInfo) {
	if info.ID == h.host.ID() || len(info.Addrs) == 0 {
		return
	}
	h.posted.post(func(ctx context.Context) {
		if !h.private.Member(info.ID) {
			return
		}
		if e := h.edges[info.ID]; e != nil && len(e.addrs) == 0 {
			e.addrs = info.Addrs // anybody may have named them, so they replace none
		}
		// The view keeps what the peer says of itself, with the addresses that the peer
		// named.
		h.host.Peerstore().AddAddrs(info.ID, info.Addrs, peerstore.AddressTTL)
		h.step(ctx, seen(info))
	})
}

// serve sets the published message that late comers get, and the estimate that belongs to
// it, if there is one. It must not be called before the message's slot.
func (h *neighbourhood) serve(message []byte, e *learner.Estimate) {
	h.latest.Store(&message)
	if e != nil && len(e.Vector) == h.vector {
		h.declare(graph.End{Round: e.Round, Vector: e.Vector, Std: e.Std})
	}
}

// declare sets the public vector of this node.
func (h *neighbourhood) declare(end graph.End) {
	h.posted.post(func(ctx context.Context) { h.step(ctx, peering.Declared{End: end}) })
}

// served returns the message for late comers. It is empty once a peer has contradicted this
// node's history.
func (h *neighbourhood) served() []byte {
	latest := h.latest.Load()
	if latest == nil || h.history.contradiction() != nil {
		return nil
	}
	return *latest
}

// expel drops the edges to peers that are no longer members.
func (h *neighbourhood) expel() {
	h.posted.post(func(ctx context.Context) { h.checkMembers(ctx, true) })
}

// shun drops the edges to peers that signed two models for one round, and looks for others.
func (h *neighbourhood) shun() {
	h.posted.post(func(ctx context.Context) {
		var liars []learner.ID
		for _, e := range h.gossip.Evidence() {
			liars = append(liars, gossip.ID(e.Author))
		}
		h.step(ctx, peering.Refused{Peers: liars})
	})
}

// identified notes that a peer has said at which addresses it is.
func (h *neighbourhood) identified(id peer.ID) {
	h.posted.post(func(context.Context) { h.located(id) })
}

// watch tells the machine when connections come and go, until stop is called.
func (h *neighbourhood) watch() (stop func()) {
	post := func(id peer.ID, lost bool) {
		h.posted.post(func(ctx context.Context) { h.moved(ctx, id, lost) })
	}
	events := &network.NotifyBundle{
		ConnectedF:    func(_ network.Network, c network.Conn) { post(c.RemotePeer(), false) },
		DisconnectedF: func(_ network.Network, c network.Conn) { post(c.RemotePeer(), true) },
	}
	h.host.Network().Notify(events)
	return func() { h.host.Network().StopNotify(events) }
}

// moved handles a connection to a peer that was made or lost. Events may arrive late or
// in another order, so moved looks at the present state.
func (h *neighbourhood) moved(ctx context.Context, id peer.ID, lost bool) {
	if h.edges[id] == nil {
		return
	}
	up := h.connected(id)
	if lost || !up {
		h.step(ctx, peering.Lost{Peer: gossip.ID(id)})
	}
	if up {
		h.step(ctx, peering.Connected{Peer: gossip.ID(id)})
	}
}

// connected reports whether there is a connection to the peer.
func (h *neighbourhood) connected(id peer.ID) bool {
	return h.host.Network().Connectedness(id) == network.Connected
}

// look lets f look at the machine between two steps. f must change nothing.
func (h *neighbourhood) look(f func(*peering.Neighbourhood)) {
	done := make(chan struct{})
	if h.posted.post(func(context.Context) { f(h.machine); close(done) }) {
		<-done
		return
	}
	h.posted.after(func() { f(h.machine) })
}

// enough reports whether the search for peers can slow down.
func (h *neighbourhood) enough() (enough bool) {
	h.look(func(m *peering.Neighbourhood) { enough = m.Enough() })
	return enough
}

// depart ends all edges. left is closed when run has told their other ends.
func (h *neighbourhood) depart() {
	h.posted.post(func(ctx context.Context) { h.step(ctx, peering.Leave{}) })
}
