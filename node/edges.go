package node

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/netedge"
	"p2pnode/peering"
	"p2pnode/storage"
)

// edge is an edge as it is stored, and the addresses of its peer.
type edge struct {
	storage.Edge
	addrs []multiaddr.Multiaddr
}

// carryOut does what the machine wants done.
func (h *neighbourhood) carryOut(ctx context.Context, out peering.Output) {
	for _, d := range out.Drops {
		h.drop(d)
	}
	for _, e := range out.Keeps {
		h.keep(e)
	}
	if out.Changed {
		h.tellLoop()
	}
	for _, c := range out.Calls {
		h.calling.Go(func() { h.call(ctx, c) })
	}
	for _, name := range out.Parts {
		// Others may want the peer.
		if id, err := peer.Decode(string(name)); err == nil && !h.host.ConnManager().IsProtected(id, "") {
			_ = h.host.Network().ClosePeer(id)
		}
	}
	if h.machine.Departure().Over {
		select {
		case <-h.left: // it was closed before
		default:
			close(h.left)
		}
	}
	if out.Alone {
		for _, p := range h.origins() {
			h.found(p)
		}
	}
}

// keep follows the peer of an edge, stays connected to it and stores the edge.
func (h *neighbourhood) keep(e peering.Edge) {
	id, err := peer.Decode(string(e.Peer))
	if err != nil {
		return // cannot fail: a request or an answer came from the peer, so it has an ID
	}
	if err := h.gossip.Follow(id); err != nil {
		h.log.Warn("cannot follow a neighbour", "peer", id, "error", err)
	}
	old := h.edges[id]
	addrs := h.whereabouts(id, old)
	now := &edge{storage.Edge{
		Peer: id.String(), Weight: e.Weight, Addrs: netedge.AddrStrings(addrs),
		Known: e.Known, Invited: e.Invited, Since: h.since(e),
	}, addrs}
	h.edges[id] = now
	if old == nil {
		h.diary.Sparsely(api.Event{Kind: api.EventMet, Text: "neighbour met", Peer: now.Peer, Weight: now.Weight})
	}
	redated := old != nil && max(old.Since-now.Since, now.Since-old.Since) > int64(clockTolerance.Seconds()) // the clock was set
	if old != nil && old.Weight == now.Weight && old.Known == now.Known && old.Invited == now.Invited && !redated &&
		slices.EqualFunc(netedge.SortedAddrs(old.addrs), addrs, multiaddr.Multiaddr.Equal) {
		return
	}
	h.remember(now)
}

// since returns when an edge was made, in Unix seconds. One of this run is dated by what the
// clock says now. It may have been behind when the edge was made and have been set since: then
// a stranger would have been a neighbour for years at the next start.
func (h *neighbourhood) since(e peering.Edge) int64 {
	if e.Since < 0 { // of an earlier run
		return h.start.Add(e.Since).Unix()
	}
	return time.Now().Add(e.Since - h.now()).Unix()
}

// whereabouts returns the addresses of a peer of which it has said itself that it is there,
// sorted; else those that are stored with its edge, and only then those that anybody may have
// named.
func (h *neighbourhood) whereabouts(id peer.ID, old *edge) []multiaddr.Multiaddr {
	if said := h.named(id); len(said) > 0 {
		return netedge.SortedAddrs(said)
	}
	if old != nil && len(old.addrs) > 0 {
		return old.addrs
	}
	return netedge.SortedAddrs(h.host.Peerstore().Addrs(id))
}

// located stores where an edge's peer says that it is. It may have connected to this node
// and not have said it yet when the edge was made. So a node that is killed before its edges
// are renewed finds its neighbours again.
func (h *neighbourhood) located(id peer.ID) {
	e := h.edges[id]
	if e == nil {
		return
	}
	addrs := h.whereabouts(id, e)
	if len(addrs) == 0 || slices.EqualFunc(e.addrs, addrs, multiaddr.Multiaddr.Equal) {
		return
	}
	e.addrs, e.Addrs = addrs, netedge.AddrStrings(addrs)
	h.remember(e)
}

// remember stays connected to the peer of an edge and stores the edge, so that it
// survives a restart.
func (h *neighbourhood) remember(e *edge) {
	h.stayConnected()
	if id, err := peer.Decode(e.Peer); err == nil {
		h.change(id)
	}
}

// edgesEvery is the shortest time between two writes of edges. Strangers can make and end
// many edges, and each write waits for the disk.
const edgesEvery = time.Second

// change notes that the edge to a peer has changed, and stores it unless others were stored
// a moment ago.
func (h *neighbourhood) change(id peer.ID) {
	h.unsaved[id] = true
	if h.now() >= h.saveAt() {
		h.save()
	}
}

// saveAt is the time at which changed edges will be stored.
func (h *neighbourhood) saveAt() time.Duration {
	if len(h.unsaved) == 0 {
		return never
	}
	return h.saved + edgesEvery
}

// never is later than anything.
const never = time.Duration(math.MaxInt64)

// save stores the changed edges.
func (h *neighbourhood) save() {
	if len(h.unsaved) == 0 {
		return
	}
	var gone []string
	var edges []storage.Edge
	for id := range h.unsaved {
		if e := h.edges[id]; e != nil {
			edges = append(edges, e.Edge)
		} else {
			gone = append(gone, id.String())
		}
	}
	clear(h.unsaved)
	h.saved = h.now()
	if err := h.store.SaveEdges(gone, edges...); err != nil {
		h.log.Error("cannot remember the neighbours", "error", err)
	}
}

// drop undoes keep.
func (h *neighbourhood) drop(d peering.Drop) {
	id, err := peer.Decode(string(d.Peer))
	if err != nil {
		return
	}
	h.diary.Sparsely(api.Event{Kind: api.EventLeft, Text: "neighbour left", Peer: id.String(), Reason: d.Reason})
	delete(h.edges, id)
	if err := h.gossip.Unfollow(id); err != nil {
		h.log.Error("cannot stop following a peer", "peer", id, "error", err)
	}
	h.change(id)
	h.stayConnected()
}

// stayConnected tells the keeper which peers to stay connected to.
func (h *neighbourhood) stayConnected() {
	want := make([]peer.AddrInfo, 0, len(h.edges))
	for id, e := range h.edges {
		want = append(want, peer.AddrInfo{ID: id, Addrs: e.addrs})
	}
	h.keeper.Want(want)
}

// tellLoop makes the loop look at the edges again.
func (h *neighbourhood) tellLoop() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// neighbour is an edge, and whether models are sent over it.
type neighbour struct {
	peering.Edge
	id    peer.ID
	live  bool
	since int64 // Unix seconds; 0: unknown
}

// neighbours returns the edges, sorted by peer. An edge is live while its other end is
// subscribed to this node's models and has said what it holds of this node. Before it has
// said that, the directory may be an old copy, which would release again what was
// released already.
func (h *neighbourhood) neighbours() []neighbour {
	var edges []peering.Edge
	ids := make(map[learner.ID]peer.ID)
	h.look(func(m *peering.Neighbourhood) {
		edges = m.Edges()
		for id, e := range h.edges {
			ids[learner.ID(e.Peer)] = id
		}
	})
	listening := h.gossip.Listeners()
	out := make([]neighbour, len(edges))
	for i, e := range edges {
		id := ids[e.Peer]
		_, listens := slices.BinarySearch(listening, id)
		out[i] = neighbour{Edge: e, id: id, live: e.Met && listens, since: max(0, h.since(e))}
	}
	return out
}

// forAgent returns the edges for the agent. None is live while nothing may be released to
// the peers that listen.
func (h *neighbourhood) forAgent() []learner.Edge {
	list := h.neighbours()
	silent := h.waits(list) != ""
	out := make([]learner.Edge, len(list))
	for i, n := range list {
		out[i] = learner.Edge{Peer: n.Peer, Weight: n.Weight, Live: n.live && !silent}
	}
	return out
}
