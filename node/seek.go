package node

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
)

// The pace of the search for neighbours.
const (
	seekEvery  = time.Second      // while neighbours are missing
	askTimeout = 10 * time.Second // for one request over a stream
	sulk       = 20 * time.Second // before a peer that declined or failed is asked again
	renewEvery = time.Minute      // an edge is asked for again, which heals one known at one end only
	meetEvery  = 3 * time.Second  // the same, until the first answer of the run
	deadAfter  = time.Hour        // an edge nobody answers on is given up
	patience   = 3                // requests without an answer before a candidate is forgotten
)

// run looks for neighbours until ctx ends. It waits for no answer: a peer that
// takes its time holds up nobody else.
func (h *neighbourhood) run(ctx context.Context) error {
	ticker := time.NewTicker(seekEvery)
	defer ticker.Stop()
	came, stop := h.arrivals()
	defer stop()
	var requests sync.WaitGroup
	defer requests.Wait()
	for {
		for _, id := range h.dead(time.Now()) {
			h.unlink(id, "unreachable")
		}
		for _, e := range h.due(time.Now()) {
			requests.Go(func() {
				defer h.answered(e)
				h.ask(ctx, e)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-came:
		case <-ticker.C:
		}
	}
}

// errand is one request to make.
type errand struct {
	to   peer.AddrInfo
	kind gossip.EdgeKind
}

// due lists the requests to make now, of which answered must be told: edges whose
// peer came back or that are old are renewed, and candidates are asked while
// neighbours are missing. Of each peer there is one request at a time.
func (h *neighbourhood) due(now time.Time) []errand {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []errand
	live := 0
	for id, l := range h.links {
		up := h.connected(id)
		if up {
			live++
			l.seen = now
		}
		pause := renewEvery
		if !l.met {
			pause = meetEvery
		}
		switch {
		case !up:
			l.up = false
		case h.asking[id]: // one that came back meanwhile is asked after that
		case !l.up || now.Sub(l.renewed) > pause:
			l.up, l.renewed = true, now
			out = append(out, errand{peer.AddrInfo{ID: id}, gossip.EdgeAsk})
		}
	}
	out = append(out, h.seek(now, h.task.Graph.Degree-live)...)
	for _, e := range out {
		h.asking[e.to.ID] = true
	}
	return out
}

// answered notes that a request is over.
func (h *neighbourhood) answered(e errand) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.asking, e.to.ID)
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
	excess := len(h.links) - h.most()
	for i, id := range away {
		if i >= excess && now.Sub(h.links[id].seen) <= deadAfter {
			return away[:i]
		}
	}
	return away
}

// seek picks the candidates to ask for missing edges: those whose profile is
// nearest, and at random among equals. Profiles that are not known yet are
// asked for first, of twice as many peers as are wanted; meanwhile only the
// nearest known candidate is asked, so that peers who never answer hold nothing
// up. Whoever is being asked already counts as found.
func (h *neighbourhood) seek(now time.Time, missing int) []errand {
	var known, unknown []errand
	asking := 0
	for id, c := range h.candidates {
		to := peer.AddrInfo{ID: id, Addrs: c.addrs}
		switch {
		case h.asking[id]:
			asking++
		case now.Before(c.after) || !h.suits(id):
		case c.weight == 0 && h.task.Graph.Rule == "profile":
			unknown = append(unknown, errand{to, gossip.EdgeHello})
		default:
			known = append(known, errand{to, gossip.EdgeAsk})
		}
	}
	if missing -= asking; missing <= 0 {
		return nil
	}
	for _, list := range [][]errand{known, unknown} {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	slices.SortStableFunc(known, func(a, b errand) int {
		return cmp.Compare(h.candidates[b.to.ID].weight, h.candidates[a.to.ID].weight)
	})
	probes := min(len(unknown), max(0, 2*h.task.Graph.Degree-len(known)-len(h.links)-asking))
	if probes > 0 {
		missing = 1
	}
	return append(known[:min(missing, len(known))], unknown[:probes]...)
}

// ask makes one request and takes in the answer.
func (h *neighbourhood) ask(ctx context.Context, e errand) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	reply, err := h.request(ctx, e)
	if err == nil {
		if h.history.check(reply.Witness) != nil {
			return // the loop ends the run
		}
		h.meet(e.to.ID)
	}
	weight := h.weight(e.to.ID, reply.Profile)
	if err == nil && e.kind == gossip.EdgeAsk && reply.Accepted && weight > 0 {
		h.changing.Lock()
		defer h.changing.Unlock()
		h.link(e.to.ID, weight, reply.Latest)
		return
	}
	if err != nil {
		h.log.Debug("edge request failed", "peer", e.to.ID, "error", err)
	} else if e.kind == gossip.EdgeAsk && h.linked(e.to.ID) {
		h.unlink(e.to.ID, "declined")
	}
	h.settle(e, weight, err)
}

func (h *neighbourhood) request(ctx context.Context, e errand) (gossip.EdgeReply, error) {
	if err := h.host.Connect(ctx, e.to); err != nil {
		return gossip.EdgeReply{}, err
	}
	return h.gossip.Ask(ctx, e.to.ID, gossip.EdgeRequest{Kind: e.kind, Profile: h.profile, Latest: h.served()})
}
