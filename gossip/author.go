package gossip

import (
	"fmt"

	"github.com/libp2p/go-libp2p/core/peer"
)

// maxUnfollowed is how many authors are remembered beside those that are
// followed: one that comes back from an old copy of its directory is told so,
// even after its neighbours had given it up.
const maxUnfollowed = 128

// author is what is remembered of a peer whose models have arrived. It outlives
// Unfollow, so that nobody can replay an old message to a node that follows the
// author again.
type author struct {
	rounds  rounds
	witness Witness // of the newest model; Round 0 before the first
	turn    uint64  // of g.turn, when it was last heard
}

// arrived notes a model of an author that came by broadcast, and reports whether
// this is the first copy of its round. Rounds are signed and strictly increasing,
// so this also stops replays, for which gossipsub would otherwise need its
// sequence-number validator.
func (g *Gossip) arrived(p peer.ID, w Witness) (first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.keep(p, w).rounds.note(w.Round)
}

// served notes a model that its author served over a stream. It has no say about
// the rounds of broadcasts.
func (g *Gossip) served(p peer.ID, w Witness) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keep(p, w)
}

// keep remembers the newest witness of an author; of two with the same round the
// first, so that the author hears of the model it knows nothing of. The caller
// holds g.mu.
func (g *Gossip) keep(p peer.ID, w Witness) *author {
	a := g.heard[p]
	if a == nil {
		a = &author{}
		g.heard[p] = a
	}
	g.turn++
	a.turn = g.turn
	if w.Round > a.witness.Round {
		a.witness = w
	}
	g.forget()
	return a
}

// forget drops the authors heard longest ago that are not followed, when there
// are too many. The caller holds g.mu.
func (g *Gossip) forget() {
	for len(g.heard) > len(g.follows)+maxUnfollowed {
		var oldest peer.ID
		for p, a := range g.heard {
			followed := g.follows[topicOf(g.config.Network, p)] != nil
			if !followed && (oldest == "" || a.turn < g.heard[oldest].turn) {
				oldest = p
			}
		}
		delete(g.heard, oldest)
	}
}

// witness is what this node can show an author; nil if it has never heard it.
func (g *Gossip) witness(p peer.ID) *Witness {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.heard[p]
	if a == nil || a.witness.Round == 0 {
		return nil
	}
	w := a.witness
	return &w
}

// Witnesses are those this node can show their authors, by peer ID, to be stored
// and given back to [Gossip.Remember]. They are of the authors it follows and of
// some it followed.
func (g *Gossip) Witnesses() map[string]Witness {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make(map[string]Witness, len(g.heard))
	for p, a := range g.heard {
		if a.witness.Round > 0 {
			out[p.String()] = a.witness
		}
	}
	return out
}

// Remember takes back what [Gossip.Witnesses] gave in an earlier run. It fails
// if a key is no peer ID.
func (g *Gossip) Remember(witnesses map[string]Witness) error {
	for id, w := range witnesses {
		p, err := peer.Decode(id)
		if err != nil {
			return fmt.Errorf("gossip: a stored witness: %w", err)
		}
		g.served(p, w)
	}
	return nil
}

// window is how many rounds back a first copy is still told from a replay. A
// message may be overtaken by the few that follow it, when those come by way
// of another subscriber.
const window = 64

// rounds remembers which of an author's latest rounds have arrived. A round may
// be any number above the newest: an author that was restored jumps far ahead.
type rounds struct {
	newest uint64
	seen   uint64 // bit k: round newest-k has arrived
}

// note reports whether a round arrives for the first time.
func (r *rounds) note(round uint64) (first bool) {
	if round > r.newest {
		r.seen = r.seen<<(round-r.newest) | 1
		r.newest = round
		return true
	}
	age := r.newest - round
	first = age < window && r.seen>>age&1 == 0
	if first {
		r.seen |= 1 << age
	}
	return first
}
