package gossip

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// maxUnfollowed is how many authors are remembered beside those that are
// followed. An author that comes back from an old copy of its directory is told
// so even by former neighbours.
const maxUnfollowed = 128

// author is what is remembered of a peer whose models have arrived. It outlives
// Unfollow, so that nobody can replay an old message to a node that follows the
// author again.
type author struct {
	rounds rounds
	recent []Witness     // witnesses of the newest models, the newest first, at most maxRecent
	turn   uint64        // value of g.turn when the author was last heard
	stood  time.Duration // the longest time that it was followed, up to when that ended last
}

// maxRecent is how many models of an author a node remembers, to notice when the author
// signs another one for the same round.
const maxRecent = 16

// note remembers a witness. Of two with the same round it keeps the first, so that an
// author that published a second model for one round is shown the first.
func (a *author) note(w Witness) {
	at, found := slices.BinarySearchFunc(a.recent, w.Round, func(r Witness, round uint64) int { return cmp.Compare(round, r.Round) })
	if !found {
		a.recent = slices.Insert(a.recent, at, w)
		a.recent = a.recent[:min(len(a.recent), maxRecent)]
	}
}

// contradicted returns the remembered model of the same round if it is a different one.
func (a *author) contradicted(w Witness) (other Witness, differs bool) {
	for _, r := range a.recent {
		if r.Round == w.Round && !bytes.Equal(r.Hash, w.Hash) {
			return r, true
		}
	}
	return Witness{}, false
}

// newest is the witness of its newest model.
func (a *author) newest() (w Witness, ok bool) {
	if len(a.recent) == 0 {
		return Witness{}, false
	}
	return a.recent[0], true
}

// arrived notes a model of an author that came by broadcast, and reports whether
// this is the first copy of its round. Rounds are signed and strictly increasing,
// so this also stops replays, for which gossipsub would otherwise need its
// sequence-number validator.
func (g *Gossip) arrived(p peer.ID, w Witness) (first bool) {
	g.compare([]heardOf{{p, w}}, func() bool { return true })
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.keep(p, w).rounds.note(w.Round)
}

// served notes a model that its author served over a stream. It does not affect
// which broadcast rounds count as new.
func (g *Gossip) served(p peer.ID, w Witness) {
	g.compare([]heardOf{{p, w}}, func() bool { return true })
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keep(p, w)
}

// keep remembers an author's witness. The caller holds g.mu.
func (g *Gossip) keep(p peer.ID, w Witness) *author {
	a := g.heard[p]
	if a == nil {
		a = &author{}
		g.heard[p] = a
	}
	g.turn++
	a.turn = g.turn
	a.note(w)
	g.forget()
	return a
}

// forget drops unfollowed authors while there are too many, starting with the one
// that was heard longest ago. The caller holds g.mu.
func (g *Gossip) forget() {
	for len(g.heard) > len(g.follows)+maxUnfollowed {
		var oldest peer.ID
		for p, a := range g.heard {
			followed := g.followOf(p) != nil
			if !followed && (oldest == "" || a.turn < g.heard[oldest].turn) {
				oldest = p
			}
		}
		delete(g.heard, oldest)
	}
}

// witness returns what this node can show an author, or nil if it has never heard
// a model of that author.
func (g *Gossip) witness(p peer.ID) *Witness {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a := g.heard[p]; a != nil {
		if w, ok := a.newest(); ok {
			return &w
		}
	}
	return nil
}

// Witnesses returns, by peer ID, the witnesses that this node can show their
// authors: those it follows and some that it used to follow. The caller stores
// them and gives them back to [Gossip.Remember] in the next run.
func (g *Gossip) Witnesses() map[string]Witness {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make(map[string]Witness, len(g.heard))
	for p, a := range g.heard {
		if w, ok := a.newest(); ok {
			out[p.String()] = w
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

// window is how many rounds back a late first copy can still be told from a
// replay. A few later messages may overtake a message when they arrive through
// another subscriber.
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
