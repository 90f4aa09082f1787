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

// maxCandidates bounds the peers a node remembers beside its neighbours.
const maxCandidates = 512

// neighbourhood keeps the node's edges: it answers who asks for one, seeks
// those that are missing (seek.go), and remembers them. Who asks whom depends
// on public things only: who is there, and the profiles their owners declared
// public. All methods are safe for concurrent use.
type neighbourhood struct {
	task    *learner.Task
	profile []float64
	host    host.Host
	store   *storage.Store
	gossip  *gossip.Gossip
	keeper  *discovery.Keeper
	latest  func() []byte // the stored outgoing message; nil if there is none
	log     *slog.Logger

	changed chan struct{} // holds a value after edges changed

	mu         sync.Mutex
	links      map[peer.ID]*link
	candidates map[peer.ID]*candidate
}

// link is an edge both ends agreed on.
type link struct {
	weight  float64
	addrs   []multiaddr.Multiaddr
	up      bool // connected when last looked at
	seen    time.Time
	renewed time.Time
}

// candidate is a peer of this task that is no neighbour yet.
type candidate struct {
	addrs  []multiaddr.Multiaddr
	weight float64   // 0 before its profile is known
	after  time.Time // not to be asked before
}

// restore brings back the edges and peers of an earlier run.
func (h *neighbourhood) restore() error {
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
		h.found(info)
	}
	h.update()
	return nil
}

// found takes note of a peer of this task.
func (h *neighbourhood) found(info peer.AddrInfo) {
	if info.ID == h.host.ID() || len(info.Addrs) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[info.ID]; l != nil {
		l.addrs = info.Addrs
	} else if c := h.candidates[info.ID]; c != nil {
		c.addrs = info.Addrs
	} else if len(h.candidates) < maxCandidates {
		h.candidates[info.ID] = &candidate{addrs: info.Addrs}
	}
}

// enough reports whether the search for peers can slow down.
func (h *neighbourhood) enough() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.links)+len(h.candidates) >= 4*h.task.Graph.Degree
}

// weight is W_ij, computed alike at both ends from public things; 0 means that
// the two do not belong together.
func (h *neighbourhood) weight(profile []float64) float64 {
	if h.task.Graph.Rule != "profile" {
		return 1
	}
	return learner.ProfileWeight(h.profile, profile, h.task.Graph.Gamma)
}

// answer is the other end's side of an edge request. A node takes on twice as
// many edges as it seeks itself, so that late comers find a place.
func (h *neighbourhood) answer(_ context.Context, from peer.ID, q gossip.EdgeRequest) gossip.EdgeReply {
	reply := gossip.EdgeReply{Profile: h.profile, Latest: h.latest()}
	if q.Kind == gossip.EdgeHello {
		return reply
	}
	weight := h.weight(q.Profile)
	h.mu.Lock()
	_, linked := h.links[from]
	full := len(h.links) >= 2*h.task.Graph.Degree
	h.mu.Unlock()
	switch {
	case weight == 0:
		reply.Reason = "the profiles are too different"
	case full && !linked:
		reply.Reason = "enough neighbours"
	default:
		reply.Accepted = true
		h.link(from, weight, q.Latest)
	}
	return reply
}

// link adds or renews the edge to a peer that agreed to it, and takes in the
// model it sent along.
func (h *neighbourhood) link(id peer.ID, weight float64, latest []byte) {
	if err := h.gossip.Follow(id); err != nil {
		h.log.Warn("cannot follow a neighbour", "peer", id, "error", err)
		return
	}
	if len(latest) > 0 {
		if _, err := h.gossip.Hear(id, latest); err != nil {
			h.log.Debug("neighbour's stored model dropped", "peer", id, "error", err)
		}
	}
	now := time.Now()
	h.mu.Lock()
	old := h.links[id]
	l := &link{weight: weight, addrs: h.host.Peerstore().Addrs(id), up: true, seen: now, renewed: now}
	if old != nil && len(l.addrs) == 0 {
		l.addrs = old.addrs
	}
	h.links[id] = l
	delete(h.candidates, id)
	h.mu.Unlock()
	if old != nil && old.weight == weight && slices.EqualFunc(old.addrs, l.addrs, multiaddr.Multiaddr.Equal) {
		return
	}
	if err := h.store.SaveEdge(storage.Edge{Peer: id.String(), Weight: weight, Addrs: addrStrings(l.addrs)}); err != nil {
		h.log.Error("cannot remember an edge", "peer", id, "error", err)
	}
	h.update()
}

// unlink gives an edge up.
func (h *neighbourhood) unlink(id peer.ID, reason string) {
	h.log.Info("edge dropped", "peer", id, "reason", reason)
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
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// edges is what the agent needs to know, sorted by peer. An edge is live while
// its other end is subscribed to this node's models.
func (h *neighbourhood) edges() []learner.Edge {
	listening := h.gossip.Listeners()
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]learner.Edge, 0, len(h.links))
	for id, l := range h.links {
		out = append(out, learner.Edge{
			Peer:   learner.ID(id.String()),
			Weight: l.weight,
			Live:   slices.Contains(listening, id),
		})
	}
	slices.SortFunc(out, func(a, b learner.Edge) int { return strings.Compare(string(a.Peer), string(b.Peer)) })
	return out
}

// connected reports whether there is a connection to the peer.
func (h *neighbourhood) connected(id peer.ID) bool {
	return h.host.Network().Connectedness(id) == network.Connected
}

// addrInfo reads back what addrStrings and peer.ID.String wrote.
func addrInfo(id string, addrs []string) (peer.AddrInfo, error) {
	p, err := peer.Decode(id)
	if err != nil {
		return peer.AddrInfo{}, err
	}
	info := peer.AddrInfo{ID: p}
	for _, a := range addrs {
		m, err := multiaddr.NewMultiaddr(a)
		if err != nil {
			return peer.AddrInfo{}, err
		}
		info.Addrs = append(info.Addrs, m)
	}
	return info, nil
}

func addrStrings(addrs []multiaddr.Multiaddr) []string {
	out := make([]string, len(addrs))
	for i, a := range addrs {
		out[i] = a.String()
	}
	return out
}
