package node

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner/graph"
)

// The pace of the search for neighbours.
const (
	seekEvery  = time.Second      // between looks while there is something to be done
	seekPause  = 10 * time.Second // between two exchanges at most, while neighbours are missing
	askTimeout = 10 * time.Second // for one request over a stream
	sulk       = 20 * time.Second // before a peer that declined or failed is asked again
	renewAfter = 2 * time.Second  // an edge is renewed, at the earliest, after a release that gives it another weight
	meetEvery  = 3 * time.Second  // the same, until the first answer of the run
	deadAfter  = time.Hour        // an edge nobody answers on is given up
	patience   = 3                // requests without an answer before a candidate is forgotten
	newWeight  = 0.1              // the relative change of a weight that is worth a renewal
)

// run looks for neighbours until ctx ends. It waits for no answer: a peer that
// takes its time holds up nobody else.
func (h *neighbourhood) run(ctx context.Context) error {
	defer h.watch()()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var requests sync.WaitGroup
	defer requests.Wait()
	for {
		for _, id := range h.dead(h.now()) {
			h.unlink(id, "unreachable")
		}
		h.settle()
		for _, e := range h.due(h.now()) {
			requests.Go(func() {
				defer h.answered(e)
				h.ask(ctx, e)
			})
		}
		h.part(h.now())
		timer.Reset(h.rest())
		select {
		case <-ctx.Done():
			return nil
		case <-h.woken:
		case <-timer.C:
		}
	}
}

// rest is how long run need not look unless it is woken: a moment while neighbours are
// missing, something has just changed or is under way.
func (h *neighbourhood) rest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pace.pause < h.power.look || len(h.asking)+len(h.leaving)+len(h.guests) > 0 || h.missing() {
		return seekEvery
	}
	for _, l := range h.links {
		if l.up && !l.met {
			return seekEvery
		}
	}
	return h.power.look
}

// errand is one request to make.
type errand struct {
	to    peer.AddrInfo
	kind  gossip.EdgeKind
	turn  uint64         // of a farewell
	known []gossip.Entry // of an exchange
	link  graph.Link     // what is hoped for; zero unless it is a new edge
}

// due lists the requests to make now, of which answered must be told: edges whose
// peer came back, that are old or whose weight has changed are renewed, those that
// were given up are said farewell, and candidates are asked. Of each peer there is one
// request at a time.
func (h *neighbourhood) due(now time.Time) []errand {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.farewells()
	if h.departure != nil {
		return out
	}
	out = append(out, h.renewals(now)...)
	missing := h.missing()
	longest := h.power.renew
	if missing && !h.sated() {
		longest = seekPause
	}
	step := h.pace.due(now, longest, h.random.Float64())
	if step || missing {
		out = append(out, h.choose(now)...)
	}
	if !step {
		return out
	}
	if e, ok := h.partner(); ok {
		h.asking[e.to.ID] = e
		out = append(out, e)
	}
	return out
}

// farewells lists the peers to tell that their edges were given up. The caller holds
// h.mu.
func (h *neighbourhood) farewells() []errand {
	var out []errand
	for id, turn := range h.leaving {
		if _, busy := h.asking[id]; !busy {
			h.asking[id] = errand{to: peer.AddrInfo{ID: id}, kind: gossip.EdgeDrop, turn: turn}
			out = append(out, h.asking[id])
			delete(h.leaving, id)
		}
	}
	return out
}

// renewals lists the edges to ask for again. The caller holds h.mu.
func (h *neighbourhood) renewals(now time.Time) []errand {
	var out []errand
	for id, l := range h.links {
		up := h.connected(id)
		if up {
			l.seen = now
		}
		_, busy := h.asking[id]
		switch {
		case !up:
			l.up = false
		case busy: // one that came back meanwhile is asked after that
		case !l.up || now.Sub(l.asked) > h.renewal(l):
			l.up, l.asked = true, now
			h.asking[id] = errand{to: peer.AddrInfo{ID: id}, kind: gossip.EdgeAsk}
			out = append(out, h.asking[id])
		}
	}
	return out
}

// renewal is how old an edge may become before it is renewed. The caller holds
// h.mu.
func (h *neighbourhood) renewal(l *link) time.Duration {
	switch {
	case !l.met:
		return meetEvery
	case l.doubt:
		return sulk
	case h.moved(l):
		return renewAfter
	}
	return h.power.renew
}

// moved reports whether what this node has published since would give the edge
// another weight: once for each release at most, because the renewal takes it in. An
// edge to a peer of which nothing was known is asked for again too, since that peer may
// have published meanwhile. The caller holds h.mu.
func (h *neighbourhood) moved(l *link) bool {
	if h.end.Round == l.own.Round {
		return false
	}
	if !l.known && h.end.Vector != nil {
		return true
	}
	w := graph.Weight(h.task.Graph, h.end, l.theirs)
	return math.Abs(w-l.weight) > newWeight*l.weight
}

// missing reports whether fewer neighbours are there, or being asked, than the task
// wants. The caller holds h.mu.
func (h *neighbourhood) missing() bool {
	there := 0
	for _, l := range h.hopes() {
		if l.Up {
			there++
		}
	}
	return there < h.task.Graph.Degree
}

// sated reports whether to know more peers would not help to find neighbours: each
// exchange takes a connection of its own. The caller holds h.mu.
func (h *neighbourhood) sated() bool {
	return h.task.Graph.Rule == "random" && h.view.Len() >= 2*h.task.Graph.Degree
}

// graphLinks are the edges as the choice of neighbours sees them. The caller holds
// h.mu.
func (h *neighbourhood) graphLinks() []graph.Link {
	out := make([]graph.Link, 0, len(h.links))
	for id, l := range h.links {
		out = append(out, graph.Link{Peer: gossip.ID(id), Weight: l.weight, Known: l.known, Up: l.up, Theirs: l.invited})
	}
	slices.SortFunc(out, func(a, b graph.Link) int { return strings.Compare(string(a.Peer), string(b.Peer)) })
	return out
}

// hopes are the edges and those that are being asked for. The caller holds h.mu.
func (h *neighbourhood) hopes() []graph.Link {
	out := h.graphLinks()
	for id, e := range h.asking {
		if e.link.Peer != "" && h.links[id] == nil {
			out = append(out, e.link)
		}
	}
	return out
}

// choose lists the candidates to ask for an edge. The caller holds h.mu.
func (h *neighbourhood) choose(now time.Time) []errand {
	candidates := h.candidates(2*h.task.Graph.Degree, now)
	var out []errand
	hopes := h.hopes()
	room := h.window.room(now, len(hopes)-len(h.links))
	asks := graph.Choose(h.task.Graph, h.end, hopes, candidates).Ask
	for _, name := range asks[:min(room, len(asks))] {
		c := candidates[slices.IndexFunc(candidates, func(e graph.Entry) bool { return e.Peer == name })]
		to, err := dialable(c)
		if err != nil {
			continue
		}
		e := errand{to: to, kind: gossip.EdgeAsk, link: graph.Link{
			Peer: name, Weight: graph.Weight(h.task.Graph, h.end, c.End), Known: graph.Known(h.task.Graph, h.end, c.End), Up: true,
		}}
		h.asking[to.ID] = e
		out = append(out, e)
	}
	return out
}

// settle gives up the edges that better ones have pushed out.
func (h *neighbourhood) settle() {
	h.changing.Lock()
	defer h.changing.Unlock()
	h.mu.Lock()
	drop := graph.Choose(h.task.Graph, h.end, h.graphLinks(), nil).Drop
	h.mu.Unlock()
	for _, name := range drop {
		h.replace(name)
	}
}

// answered notes that a request is over.
func (h *neighbourhood) answered(e errand) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.asking, e.to.ID)
	if _, more := h.leaving[e.to.ID]; more {
		h.wake()
	}
	h.departed()
}

// dead lists the edges nobody has answered on for long, and when there are more
// edges than allowed those of the peers that have been away longest.
func (h *neighbourhood) dead(now time.Time) []peer.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	var away []peer.ID
	for id, l := range h.links {
		if !l.up {
			away = append(away, id)
		}
	}
	slices.SortFunc(away, func(a, b peer.ID) int { return h.links[a].seen.Compare(h.links[b].seen) })
	excess := len(h.links) - graph.Most(h.task.Graph)
	for i, id := range away {
		if i >= excess && now.Sub(h.links[id].seen) <= deadAfter {
			return away[:i]
		}
	}
	return away
}
