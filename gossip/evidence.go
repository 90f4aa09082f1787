package gossip

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip/internal/wire"
)

// Evidence shows that an author signed two different models for one round. An honest
// node never does: a round is paid for and its model is on disk before it is published,
// and a restored node goes on far above every round it can have used. So the author
// lies, or its directory was copied and both copies run. Both signatures are the
// author's, so evidence says nothing about the peer that passed it on, and nobody else
// can forge it.
type Evidence struct {
	Author        peer.ID
	First, Second Witness   // of one round, ordered by their hashes
	Since         time.Time // when this node learned of it; not sent
	// Stood is how long this node had followed the author then, in this run; not sent.
	Stood time.Duration
}

const (
	maxEvidence     = 128 // authors about whom evidence is kept
	maxCarried      = 8   // pieces of evidence in one message
	maxHeard        = 16  // witnesses of others in one message
	maxAuthor       = 64  // bytes of an author's ID; those of Ed25519 have 38
	maxWitness      = 16 + sha256.Size + maxProof
	maxEvidenceSize = maxCarried*(2*maxWitness+maxAuthor+32) + maxHeard*(maxWitness+maxAuthor+16)
	// strangeChecks is how many pieces about authors that this node has never heard it
	// checks in each strangeWindow; it skips the others. Identities cost nothing, so
	// anybody can make any number of them.
	strangeChecks = 64
	strangeWindow = time.Minute
)

// NewEvidence returns the evidence that two witnesses are against an author, in one
// form whichever comes first. It returns an error unless they are of one round, of
// different models, and both signed by the author for the network.
func NewEvidence(network string, author peer.ID, a, b Witness) (Evidence, error) {
	order := bytes.Compare(a.Hash, b.Hash)
	switch {
	case a.Round != b.Round || a.Round == 0:
		return Evidence{}, fmt.Errorf("gossip: no evidence against %s: the two models are not of one round", author)
	case order == 0:
		return Evidence{}, fmt.Errorf("gossip: no evidence against %s: the two models are the same", author)
	case !signedBy(network, author, a) || !signedBy(network, author, b):
		return Evidence{}, fmt.Errorf("gossip: no evidence against %s: it did not sign both models", author)
	case order > 0:
		a, b = b, a
	}
	return Evidence{Author: author, First: a, Second: b}, nil
}

// signedBy reports whether the proof in the witness is the author's signature. The
// author's ID holds its key.
func signedBy(network string, author peer.ID, w Witness) bool {
	if len(author) > maxAuthor || len(w.Hash) != sha256.Size || len(w.Proof) > maxProof {
		return false
	}
	key, err := author.ExtractPublicKey()
	if err != nil {
		return false
	}
	ok, err := key.Verify(statement(network, w.Round, w.Hash), w.Proof)
	return ok && err == nil
}

// evidence holds what is known about authors that signed two models for one round. It
// is safe for concurrent use.
type evidence struct {
	mu      sync.Mutex
	against map[peer.ID]*proven
	turn    uint64    // number of pieces kept so far
	checked int       // pieces about strangers checked since that time
	since   time.Time // begin of the present window
}

type proven struct {
	Evidence
	heard bool // this node has heard the author itself
	turn  uint64
}

// has reports whether there is evidence against a peer.
func (e *evidence) has(p peer.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.against[p]
	return ok
}

// add keeps a checked piece, and reports whether it does, and has none about its author yet.
// If there are too many, authors that this node has never heard make room first, and then
// those that it had followed for the shortest time: anybody can become a neighbour for a
// moment with any number of identities.
func (e *evidence) add(piece Evidence, heard bool) (kept bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.against[piece.Author]; ok {
		return false
	}
	if e.against == nil {
		e.against = make(map[peer.ID]*proven)
	}
	e.turn++
	e.against[piece.Author] = &proven{piece, heard, e.turn}
	if len(e.against) > maxEvidence {
		list := e.sorted()
		delete(e.against, list[len(list)-1].Author)
	}
	_, kept = e.against[piece.Author]
	return kept
}

// sorted returns the pieces: first those about authors that this node has heard, each
// part with those first that stood longest, of several the newest. The caller holds e.mu.
func (e *evidence) sorted() []*proven {
	return slices.SortedFunc(maps.Values(e.against), func(a, b *proven) int {
		if a.heard != b.heard {
			if a.heard {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Stood, a.Stood), cmp.Compare(b.turn, a.turn))
	})
}

// carried returns the pieces for one message: half of them the first of those sorted,
// the rest at random, so that every piece spreads.
func (e *evidence) carried() []Evidence {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.sorted()
	if rest := list[min(len(list), maxCarried/2):]; len(list) > maxCarried {
		rand.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	}
	out := make([]Evidence, 0, maxCarried)
	for _, p := range list[:min(len(list), maxCarried)] {
		out = append(out, p.Evidence)
	}
	return out
}

// worth reports whether a piece that a peer sent is worth checking.
func (e *evidence) worth(author peer.ID, heard bool, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.against[author]; ok {
		return false
	}
	if heard {
		return true
	}
	if now.Sub(e.since) >= strangeWindow {
		e.since, e.checked = now, 0
	}
	e.checked++
	return e.checked <= strangeChecks
}

// Evidence returns what this node has against authors that signed two models for one
// round, the oldest first. This node accepts nothing from them, and sends them nothing.
// The caller stores the result and passes it to [Gossip.RememberEvidence] in the next
// run.
func (g *Gossip) Evidence() []Evidence {
	g.evidence.mu.Lock()
	defer g.evidence.mu.Unlock()
	kept := slices.SortedFunc(maps.Values(g.evidence.against), func(a, b *proven) int { return cmp.Compare(a.turn, b.turn) })
	out := make([]Evidence, len(kept))
	for i, p := range kept {
		out[i] = p.Evidence
	}
	return out
}

// RememberEvidence restores what [Gossip.Evidence] returned in an earlier run in the
// same network. It returns an error if a piece proves nothing.
func (g *Gossip) RememberEvidence(list []Evidence) error {
	for _, e := range list {
		checked, err := NewEvidence(g.config.Network, e.Author, e.First, e.Second)
		if err != nil {
			return err
		}
		checked.Since, checked.Stood = e.Since, e.Stood
		g.evidence.add(checked, g.hasHeard(e.Author))
	}
	return nil
}

// convict takes two different models of one round that this node has seen. One of them
// may come from a peer that never checked its proof, so they prove nothing yet.
func (g *Gossip) convict(author peer.ID, a, b Witness) {
	if piece, err := NewEvidence(g.config.Network, author, a, b); err == nil {
		g.believe(piece, true)
	}
}

// believe keeps a checked piece, tells the owner, and disconnects the author.
func (g *Gossip) believe(piece Evidence, heard bool) {
	piece.Since, piece.Stood = time.Now(), g.stood(piece.Author)
	if !g.evidence.add(piece, heard) {
		return
	}
	if g.config.OnEvidence != nil {
		g.config.OnEvidence(piece)
	}
	signal(g.refused)
}

// hasHeard reports whether models of an author have arrived here, or are expected.
func (g *Gossip) hasHeard(p peer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.heard[p] != nil || g.followOf(p) != nil
}

// stood returns how long this node has followed an author at a stretch, in this run.
func (g *Gossip) stood(p peer.ID) (longest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a := g.heard[p]; a != nil {
		longest = a.stood
	}
	if f := g.followOf(p); f != nil {
		longest = max(longest, time.Since(f.since))
	}
	return longest
}

// tell returns the witnesses of this node's neighbours that it sends to a peer in an
// exchange: the newest of each, and then older ones at random. Two nodes to which an
// author told different things find out when they compare their witnesses. Who is a
// neighbour of whom is public.
func (g *Gossip) tell(to peer.ID) (list []heardOf) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var older []heardOf
	for _, f := range g.follows { // in random order
		a := g.heard[f.peer]
		if a == nil || f.peer == to {
			continue
		}
		for i, w := range a.recent {
			if i == 0 {
				list = append(list, heardOf{f.peer, w})
			} else {
				older = append(older, heardOf{f.peer, w})
			}
		}
	}
	rand.Shuffle(len(older), func(i, j int) { older[i], older[j] = older[j], older[i] })
	list = append(list, older...)
	return list[:min(len(list), maxHeard)]
}

// heardOf is a witness of an author's model.
type heardOf struct {
	author  peer.ID
	witness Witness
}

// compare looks for models of the same round among a peer's witnesses of others and
// this node's. It believes and keeps nothing else of them, so a forged one changes
// nothing. spared reports whether there is time to check the signatures of two that
// differ.
func (g *Gossip) compare(list []heardOf, spared func() bool) {
	for _, h := range list {
		if other, differs := g.other(h); differs && spared() {
			g.convict(h.author, other, h.witness)
		}
	}
}

// other returns this node's model of the same author and round if it is a different
// one.
func (g *Gossip) other(h heardOf) (other Witness, differs bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.heard[h.author]
	if a == nil {
		return Witness{}, false
	}
	return a.contradicted(h.witness)
}

func encodeHeard(list []heardOf) []*wire.Heard {
	out := make([]*wire.Heard, len(list))
	for i := range list {
		out[i] = &wire.Heard{Author: []byte(list[i].author), Witness: encodeWitness(&list[i].witness)}
	}
	return out
}

func decodeHeard(list []*wire.Heard) ([]heardOf, error) {
	if len(list) > maxHeard {
		return nil, malformed("%d witnesses of others, more than %d", len(list), maxHeard)
	}
	out := make([]heardOf, len(list))
	for i, h := range list {
		author, err := decodeAuthor(h.Author)
		if err != nil {
			return nil, err
		}
		if len(h.ProtoReflect().GetUnknown()) > 0 {
			return nil, malformed("unknown fields")
		}
		w, err := shapeOf(h.Witness)
		if err != nil {
			return nil, err
		}
		out[i] = heardOf{author, w}
	}
	return out, nil
}

func encodeEvidence(list []Evidence) []*wire.Evidence {
	out := make([]*wire.Evidence, len(list))
	for i := range list {
		e := &list[i]
		out[i] = &wire.Evidence{Author: []byte(e.Author), First: encodeWitness(&e.First), Second: encodeWitness(&e.Second)}
	}
	return out
}

// takeEvidence takes in the evidence that a peer passed on. It returns an error only if
// the evidence is malformed or forged: an honest peer checks what it passes on.
func (g *Gossip) takeEvidence(list []*wire.Evidence) error {
	if len(list) > maxCarried {
		return malformed("%d pieces of evidence, more than %d", len(list), maxCarried)
	}
	for _, w := range list {
		author, err := decodeAuthor(w.Author)
		if err != nil {
			return err
		}
		if len(w.ProtoReflect().GetUnknown()) > 0 {
			return malformed("unknown fields")
		}
		first, err := shapeOf(w.First)
		if err != nil {
			return err
		}
		second, err := shapeOf(w.Second)
		if err != nil {
			return err
		}
		heard := g.hasHeard(author)
		if !g.evidence.worth(author, heard, time.Now()) {
			continue
		}
		piece, err := NewEvidence(g.config.Network, author, first, second)
		if err != nil {
			return malformed("the evidence is forged")
		}
		g.believe(piece, heard)
	}
	return nil
}

func decodeAuthor(data []byte) (peer.ID, error) {
	id, err := peer.IDFromBytes(data)
	if err != nil || len(data) > maxAuthor {
		return "", malformed("a witness names no author")
	}
	return id, nil
}

// errConvicted says why nothing is sent to a peer.
var errConvicted = errors.New("the peer signed two different models for one round")
