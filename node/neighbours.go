package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/discovery"
	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/storage"
)

// neighbourhood keeps the node's edges: it answers who asks for one, seeks
// those that are missing (seek.go), and remembers them. Who asks whom depends
// on public things only: who is there, and the profiles their owners declared
// public. All methods are safe for concurrent use.
type neighbourhood struct {
	task    *learner.Task
	profile []float64
	only    map[peer.ID]bool // who may become a neighbour; nil: anybody
	private private          // whose members alone may become neighbours
	host    host.Host
	store   *storage.Store
	gossip  *gossip.Gossip
	keeper  *discovery.Keeper
	history *history
	log     *slog.Logger

	restored chan struct{} // closed when restore has returned; no edge changes before
	changed  chan struct{} // holds a value after edges changed

	// changing is held while an edge comes or goes, so that links, the topics
	// followed, the keeper and the store agree in the end.
	changing sync.Mutex

	mu         sync.Mutex
	links      map[peer.ID]*link
	candidates map[peer.ID]*candidate
	asking     map[peer.ID]bool // a request to it is under way
	latest     []byte           // the message published last; nil if there is none
}

func newNeighbourhood(t *learner.Task, c *Config, h host.Host, store *storage.Store, past *history, log *slog.Logger) *neighbourhood {
	only, _ := c.onlyNeighbours() // validated when the file was read
	return &neighbourhood{
		task: t, profile: c.Profile, only: only, host: h, store: store, history: past, log: log,
		keeper:     discovery.NewKeeper(h, log),
		restored:   make(chan struct{}),
		changed:    make(chan struct{}, 1),
		links:      make(map[peer.ID]*link),
		candidates: make(map[peer.ID]*candidate),
		asking:     make(map[peer.ID]bool),
	}
}

// link is an edge both ends agreed on.
type link struct {
	weight  float64
	addrs   []multiaddr.Multiaddr
	up      bool // connected when last looked at
	met     bool // has said in this run what it holds of this node, and that was no news
	seen    time.Time
	renewed time.Time
}

// restore brings back the edges and peers of an earlier run, the message they are
// served, and what they are shown of their own.
func (h *neighbourhood) restore(latest []byte, witnesses map[string]gossip.Witness) error {
	defer close(h.restored)
	if _, err := gossip.WitnessOf(latest); err == nil { // peers refuse one without a proof
		h.serve(latest)
	}
	edges, err := h.store.Edges()
	if err != nil {
		return err
	}
	peers, err := h.store.Peers()
	if err != nil {
		return err
	}
	for _, e := range edges {
		info, err := addrInfo(e.Peer, e.Addrs)
		if err != nil {
			return err
		}
		h.mu.Lock()
		h.links[info.ID] = &link{weight: e.Weight, addrs: info.Addrs, seen: time.Now()}
		h.mu.Unlock()
		if err := h.gossip.Follow(info.ID); err != nil {
			return err
		}
	}
	for _, p := range peers {
		info, err := addrInfo(p.ID, p.Addrs)
		if err != nil {
			return err
		}
		h.note(info, time.Unix(p.LastSeen, 0))
	}
	h.update()
	return h.gossip.Remember(witnesses)
}

// serve sets what comers are given: a message that has been published. One
// that is stored but waits for its slot is not to be had early.
func (h *neighbourhood) serve(message []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest = message
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

// weight is W_ij, computed alike at both ends from public things; 0 means that
// the two do not belong together.
func (h *neighbourhood) weight(id peer.ID, profile []float64) float64 {
	if !h.suits(id) {
		return 0
	}
	if h.task.Graph.Rule != "profile" {
		return 1
	}
	return learner.ProfileWeight(h.profile, profile, h.task.Graph.Gamma)
}

// most is how many edges a node has at most: twice as many as it seeks itself,
// so that late comers find a place.
func (h *neighbourhood) most() int { return 2 * h.task.Graph.Degree }

// answer is the other end's side of an edge request.
func (h *neighbourhood) answer(ctx context.Context, from peer.ID, q gossip.EdgeRequest) gossip.EdgeReply {
	select {
	case <-h.restored:
	case <-ctx.Done():
		return gossip.EdgeReply{Reason: "not ready"}
	}
	if h.history.check(q.Witness) != nil {
		<-ctx.Done() // the run ends; a refusal would cost the edge
		return gossip.EdgeReply{}
	}
	h.meet(from)
	reply := gossip.EdgeReply{Profile: h.profile, Latest: h.served()}
	if q.Kind == gossip.EdgeHello {
		return reply
	}
	h.changing.Lock()
	defer h.changing.Unlock()
	weight := h.weight(from, q.Profile)
	switch {
	case weight == 0:
		reply.Reason = "the two do not belong together"
	case h.full() && !h.linked(from):
		reply.Reason = "enough neighbours"
	case h.fresh(from):
		reply.Accepted = true // as it is: nobody makes this node write at will
	default:
		reply.Accepted = true
		h.link(from, weight, q.Latest)
	}
	return reply
}

// full reports whether as many neighbours as allowed are there; those that are
// away keep nobody out, dead sees to them.
func (h *neighbourhood) full() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	up := 0
	for _, l := range h.links {
		if l.up {
			up++
		}
	}
	return up >= h.most()
}

func (h *neighbourhood) linked(id peer.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.links[id] != nil
}

// fresh reports whether the edge to a peer was renewed a moment ago.
func (h *neighbourhood) fresh(id peer.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.links[id]
	return l != nil && time.Since(l.renewed) < seekEvery
}

// link adds or renews the edge to a peer that was met and agreed to it, and takes
// in the model it sent along. The caller holds h.changing.
func (h *neighbourhood) link(id peer.ID, weight float64, latest []byte) {
	if err := h.gossip.Follow(id); err != nil {
		h.log.Warn("cannot follow a neighbour", "peer", id, "error", err)
		return
	}
	now := time.Now()
	addrs := sortedAddrs(h.host.Peerstore().Addrs(id))
	h.mu.Lock()
	old := h.links[id]
	if old != nil && len(addrs) == 0 {
		addrs = old.addrs
	}
	h.links[id] = &link{weight: weight, addrs: addrs, up: true, met: true, seen: now, renewed: now}
	delete(h.candidates, id)
	h.mu.Unlock()
	same := old != nil && old.weight == weight && slices.EqualFunc(sortedAddrs(old.addrs), addrs, multiaddr.Multiaddr.Equal)
	if !same {
		h.update() // before the model, or the agent would drop it as a stranger's
	}
	if len(latest) > 0 {
		if _, err := h.gossip.Hear(id, latest); err != nil {
			h.log.Debug("neighbour's stored model dropped", "peer", id, "error", err)
		}
	}
	if same {
		return
	}
	if err := h.store.SaveEdge(storage.Edge{Peer: id.String(), Weight: weight, Addrs: addrStrings(addrs)}); err != nil {
		h.log.Error("cannot remember an edge", "peer", id, "error", err)
	}
}

// unlink gives an edge up.
func (h *neighbourhood) unlink(id peer.ID, reason string) {
	h.log.Info("edge dropped", "peer", id, "reason", reason)
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	delete(h.links, id)
	h.mu.Unlock()
	err := errors.Join(h.gossip.Unfollow(id), h.store.DeleteEdge(id.String()))
	if err != nil {
		h.log.Error("cannot forget an edge", "peer", id, "error", err)
	}
	h.update()
}

// update tells the keeper whom to stay connected to, and the loop to look
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
}

// look tells the loop to look at the edges again.
func (h *neighbourhood) look() {
	select {
	case h.changed <- struct{}{}:
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

// connected reports whether there is a connection to the peer.
func (h *neighbourhood) connected(id peer.ID) bool {
	return h.host.Network().Connectedness(id) == network.Connected
}
