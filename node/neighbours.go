package node

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery"
	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/storage"
)

// neighbourhood keeps the node's edges: it answers who asks for one (edge.go),
// learns whom there is (exchange.go), asks those that suit best (seek.go), and
// remembers what was agreed. Who asks whom and when depends on public things only: who
// is there, what was declared or published, and a random source. All methods are safe
// for concurrent use.
type neighbourhood struct {
	task    *learner.Task
	only    map[peer.ID]bool       // who may become a neighbour; nil: anybody
	private private                // whose members alone may become neighbours
	origins func() []peer.AddrInfo // the peers to start from: whom to turn to with nobody else known
	host    host.Host
	store   edgeStore
	gossip  *gossip.Gossip
	signer  *gossip.Signer
	keeper  *discovery.Keeper
	history *history
	log     *slog.Logger
	now     func() time.Time // the clock; a test's own in tests only

	restored chan struct{} // closed when restore has returned; no edge changes before
	changed  chan struct{} // holds a value after edges changed
	woken    chan struct{} // holds a value when run is to look at once
	power    power

	// changing is held while an edge comes or goes, so that links, the topics
	// followed, the keeper and the store agree in the end.
	changing sync.Mutex

	mu        sync.Mutex
	links     map[peer.ID]*link
	leaving   map[peer.ID]uint64      // given up, the other end is still to be told: turn of the edge
	departure *departure              // nil unless the node leaves all its neighbours
	view      *graph.View             // whom it knows
	friends   map[peer.ID]graph.Entry // named by the owner or the task, beside the view
	contacts  map[peer.ID]*contact
	asking    map[peer.ID]errand    // a request to it is under way
	guests    map[peer.ID]time.Time // connected for a request, then
	pace      pace
	window    window
	random    *rand.Rand
	end       graph.End // what is public of this node
	latest    []byte    // the message published last; nil if there is none
	changes   uint64    // edges that came or went
}

// edgeStore is what the neighbourhood may use of the node's store. Nothing here
// knows of records.
type edgeStore interface {
	Edges() ([]storage.Edge, error)
	SaveEdge(storage.Edge) error
	DeleteEdge(peer string) error
	Peers() ([]storage.Peer, error)
}

// newNeighbourhood takes the sources of its random choices and of its view's.
func newNeighbourhood(n *Node, h host.Host, past *history, signer *gossip.Signer, choices, view rand.Source) *neighbourhood {
	t := n.files.task
	only, _ := n.files.config.onlyNeighbours() // validated when the file was read
	hood := &neighbourhood{
		task: t, only: only, private: n.private, origins: n.bootstrap, host: h, store: n.store, signer: signer, history: past, log: n.log, now: time.Now,
		keeper:   discovery.NewKeeper(h, n.log),
		restored: make(chan struct{}),
		changed:  make(chan struct{}, 1),
		woken:    make(chan struct{}, 1),
		power:    n.power(),
		links:    make(map[peer.ID]*link),
		leaving:  make(map[peer.ID]uint64),
		view:     graph.NewView(gossip.ID(h.ID()), t.Graph, graph.LimitsFor(t.Graph.Degree), rand.New(view)),
		friends:  make(map[peer.ID]graph.Entry),
		contacts: make(map[peer.ID]*contact),
		asking:   make(map[peer.ID]errand),
		guests:   make(map[peer.ID]time.Time),
		random:   rand.New(choices),
	}
	if t.Graph.Rule == "profile" {
		hood.declare(graph.End{Vector: n.files.config.Profile})
	}
	return hood
}

// restore brings back the edges and peers of an earlier run, the message they are
// served, and what they are shown of their own.
func (h *neighbourhood) restore(latest []byte, e *learner.Estimate, witnesses map[string]gossip.Witness) error {
	defer close(h.restored)
	if _, err := gossip.WitnessOf(latest); err == nil { // peers refuse one without a proof
		h.serve(latest, e)
	}
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
		info, err := addrInfo(p.ID, p.Addrs)
		if err != nil {
			return err
		}
		h.found(info)
	}
	h.update()
	return h.gossip.Remember(witnesses)
}

// recall takes back the edges of an earlier run.
func (h *neighbourhood) recall(edges []storage.Edge) error {
	for _, e := range edges {
		info, err := addrInfo(e.Peer, e.Addrs)
		if err != nil {
			return err
		}
		old := terms{weight: e.Weight, known: e.Known}
		h.mu.Lock()
		h.links[info.ID] = &link{terms: old, since: time.Unix(e.Since, 0), invited: e.Invited, addrs: info.Addrs, seen: h.now()}
		h.mu.Unlock()
		if err := h.gossip.Follow(info.ID); err != nil {
			return err
		}
	}
	return nil
}

// serve sets what comers are given and told: a message that has been published, and
// the estimate that it belongs to, if there is one. A message that is stored but waits
// for its slot is not to be had early.
func (h *neighbourhood) serve(message []byte, e *learner.Estimate) {
	h.mu.Lock()
	h.latest = message
	h.mu.Unlock()
	if e != nil && publicVector(h.task) == len(e.Vector) {
		h.declare(graph.End{Round: e.Round, Vector: e.Vector, Std: e.Std})
	}
}

// declare sets what is public of this node. Now others may suit it better.
func (h *neighbourhood) declare(end graph.End) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end = end
	h.view.SetOwn(end)
	h.pace.hurry()
	h.wake()
}

// served is nothing once a peer has contradicted this node's history.
func (h *neighbourhood) served() []byte {
	if h.history.contradiction() != nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest
}

// update tells the keeper whom to stay connected to, and the loop and run to look
// again.
func (h *neighbourhood) update() {
	h.mu.Lock()
	want := make([]peer.AddrInfo, 0, len(h.links))
	for id, l := range h.links {
		want = append(want, peer.AddrInfo{ID: id, Addrs: l.addrs})
	}
	h.mu.Unlock()
	h.keeper.Want(want)
	h.look()
	h.wake()
}

// look tells the loop to look at the edges again.
func (h *neighbourhood) look() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// wake tells run to look again.
func (h *neighbourhood) wake() {
	select {
	case h.woken <- struct{}{}:
	default:
	}
}

// edges is what the agent needs to know, sorted by peer. An edge is live while
// its other end is subscribed to this node's models, once that has said what it
// holds of this node: before, the directory may be an old copy, and what it would
// release was released already.
func (h *neighbourhood) edges() []learner.Edge {
	listening := h.gossip.Listeners()
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]learner.Edge, 0, len(h.links))
	for id, l := range h.links {
		out = append(out, learner.Edge{
			Peer:   gossip.ID(id),
			Weight: l.weight,
			Live:   l.met && slices.Contains(listening, id),
		})
	}
	slices.SortFunc(out, func(a, b learner.Edge) int { return strings.Compare(string(a.Peer), string(b.Peer)) })
	return out
}

// story tells how an edge came to its weight, and since when there is one, in Unix
// seconds.
func (h *neighbourhood) story(id peer.ID) (known bool, since int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.links[id]
	if l == nil || l.since.Unix() <= 0 {
		return l != nil && l.known, 0
	}
	return l.known, l.since.Unix()
}

// connected reports whether there is a connection to the peer.
func (h *neighbourhood) connected(id peer.ID) bool {
	return h.host.Network().Connectedness(id) == network.Connected
}
