// Package reputation is what a node holds against its peers: one table, with one decay. A
// peer has an allowance for each kind of thing that it does; beyond it, and for each message
// that no honest node sends, it gets strikes. A peer with too many is refused until they are
// forgiven. It is a state machine, values in and values out, without a clock.
//
// A peer answers only for what it wrote itself, and for what it does on its own connection.
// Callers must not count against it what it passes on in good faith.
package reputation

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/crowd"
)

// Kind is what something is counted for.
type Kind int

// What is counted. The names are the same in all versions.
const (
	Malformed Kind = iota // messages that no honest node sends
	Models                // models and other messages that the peer wrote
	Relayed               // messages of others that nobody asked it for
	Control               // messages about messages: what it has, wants and listens to
	Streams               // streams and requests beyond what is answered
	Kinds                 // how many there are
)

// String is a word for the kind.
func (k Kind) String() string {
	return [Kinds]string{"malformed", "models", "relayed", "control", "streams"}[k]
}

const (
	// Limit is how many strikes make a peer refused, and Forgiveness how long one takes to be
	// forgiven. A peer is refused until all are: five minutes.
	Limit       = 5
	Forgiveness = time.Minute
	Refusal     = Limit * Forgiveness
)

// Allowance is how much of something a peer may do: so much at once, and so much more each
// second. Each Burst beyond it is a strike. Without a Burst each single thing is.
type Allowance struct{ Burst, PerSecond float64 }

// Table is what is held against peers. It is not safe for concurrent use.
type Table struct {
	allowed [Kinds]Allowance
	peers   map[peer.ID]*record
	places  *crowd.Places[peer.ID]
}

// record is what is known of one peer.
type record struct {
	at      time.Time      // when what follows was true
	used    [Kinds]float64 // of the allowances
	strikes float64
	refused bool
	since   time.Time      // of the first strike that is not forgiven
	counts  [Kinds]float64 // what was beyond the allowances since then
}

// NewTable returns a table of at most so many peers.
func NewTable(most int, allowed [Kinds]Allowance) *Table {
	return &Table{allowed: allowed, peers: make(map[peer.ID]*record), places: crowd.NewPlaces[peer.ID](most)}
}

// Take counts an amount of something that a peer did, whose connection comes from an
// address. within reports whether it may: if not, it is to be ignored. refused reports that
// the peer has become refused by it. What a refused peer does is not counted. A negative
// amount gives the peer credit, as much as its allowance has at once.
func (t *Table) Take(p peer.ID, from netip.Addr, k Kind, amount float64, now time.Time) (within, refused bool) {
	r := t.peers[p]
	if r == nil {
		r = t.enter(p, from, now)
	}
	r.settle(&t.allowed, now)
	a := t.allowed[k]
	switch {
	case r.refused:
		return false, false
	case r.used[k]+amount <= a.Burst && a.Burst > 0:
		r.used[k] = max(r.used[k]+amount, -a.Burst)
		return true, false
	}
	if r.strikes == 0 {
		r.since = now
	}
	r.counts[k] += amount
	r.strikes += amount / max(a.Burst, 1)
	if r.strikes > Limit-1 {
		r.strikes, r.refused = Limit, true
	}
	return false, r.refused
}

// settle forgives what has become old.
func (r *record) settle(allowed *[Kinds]Allowance, now time.Time) {
	past := now.Sub(r.at).Seconds()
	if past <= 0 {
		return
	}
	r.at = now
	for k := range r.used {
		if r.used[k] > 0 {
			r.used[k] = max(0, r.used[k]-past*allowed[k].PerSecond)
		}
	}
	if r.strikes -= past / Forgiveness.Seconds(); r.strikes <= 0 {
		r.strikes, r.refused, r.counts = 0, false, [Kinds]float64{}
	}
}

// enter makes a record of a peer. When there are too many, one of the network that has the
// most makes room, so that fresh identities push out their like: first one against whom
// there is next to nothing, then one that is not refused.
func (t *Table) enter(p peer.ID, from netip.Addr, now time.Time) *record {
	r := &record{at: now}
	t.peers[p] = r
	for _, spared := range []float64{1, Limit, Limit + 1} {
		for _, out := range t.places.Enter(p, from, func(q peer.ID) bool { return q == p || t.strikes(q, now) >= spared }) {
			delete(t.peers, out)
		}
	}
	return r
}

// strikes are those of a peer that are not forgiven; a refused one has all of them.
func (t *Table) strikes(p peer.ID, now time.Time) float64 {
	r := t.peers[p]
	if r == nil {
		return 0
	}
	r.settle(&t.allowed, now)
	if r.refused {
		return Limit
	}
	return r.strikes
}

// Refused reports whether a peer is refused.
func (t *Table) Refused(p peer.ID, now time.Time) bool { return t.strikes(p, now) == Limit }

// Score is what gossipsub subtracts for a peer: 0 for one with less than a strike, the
// strikes of the others, and [Worst] of a refused one.
func (t *Table) Score(p peer.ID, now time.Time) float64 {
	switch s := t.strikes(p, now); {
	case s == Limit:
		return Worst
	case s >= 1:
		return -s
	}
	return 0
}

// Worst is the score of a refused peer.
const Worst = -100

// Held is what is held against a peer.
type Held struct {
	Peer    peer.ID
	Refused bool          // nothing of it is taken
	Strikes float64       // not forgiven yet
	Since   time.Time     // of the first of them
	Until   time.Time     // when all are forgiven, unless there are new ones
	Counts  [Kinds]uint64 // what it did beyond its allowances since then
}

// All is what is held against whom, first those who are refused, then those with the most
// strikes.
func (t *Table) All(now time.Time) (list []Held) {
	for p, r := range t.peers {
		r.settle(&t.allowed, now)
		if r.strikes == 0 {
			continue
		}
		h := Held{
			Peer: p, Refused: r.refused, Strikes: r.strikes, Since: r.since,
			Until: now.Add(time.Duration(r.strikes * float64(Forgiveness))),
		}
		for k, n := range r.counts {
			h.Counts[k] = uint64(n)
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b Held) int {
		if a.Refused != b.Refused {
			if a.Refused {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Strikes, a.Strikes), cmp.Compare(a.Peer, b.Peer))
	})
	return list
}
