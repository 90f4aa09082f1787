// Package reputation holds the offences of a node's peers: one table, with one decay. A
// peer has an allowance for each kind of action. For actions beyond it, and for each
// message that no honest node sends, it gets strikes. A peer with too many strikes is
// refused until they are forgiven. It is a state machine, values in and values out,
// without a clock.
//
// A peer answers only for what it wrote itself, and for what it does on its own
// connection. Callers must not count what it passes on in good faith.
package reputation

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/crowd"
)

// Kind is a kind of action that is counted.
type Kind int

// The kinds of actions. Their names are the same in all versions.
const (
	Malformed Kind = iota // messages that no honest node sends
	Models                // models and other messages that the peer wrote
	Relayed               // messages of others that nobody asked for
	Control               // messages about messages: what it has, wants and listens to
	Streams               // streams and requests beyond what is answered
	Kinds                 // the number of kinds
)

// String is a word for the kind.
func (k Kind) String() string {
	return [Kinds]string{"malformed", "models", "relayed", "control", "streams"}[k]
}

const (
	// Limit is the number of strikes at which a peer is refused, and forgiveness how
	// long it takes until one is forgiven.
	Limit       = 5
	forgiveness = time.Minute
	// Refusal is how long a peer is refused after its last strike: until all are forgiven.
	Refusal = Limit * forgiveness
)

// Allowance is how much of something a peer may do: Burst at once, and PerSecond more
// each second. Each Burst beyond it is a strike. If Burst is 0, each single action is a
// strike.
type Allowance struct{ Burst, PerSecond float64 }

// Table holds the offences of peers. It is not safe for concurrent use.
type Table struct {
	allowed [Kinds]Allowance
	peers   map[peer.ID]*record
	places  *crowd.Places[peer.ID]
}

// record is what is known of one peer.
type record struct {
	at      time.Time      // the time for which the fields below are true
	used    [Kinds]float64 // used part of each allowance
	strikes float64
	refused bool
	since   time.Time      // time of the first strike that is not forgiven
	counts  [Kinds]float64 // amounts beyond the allowances since then
}

// NewTable returns a table of at most most peers.
func NewTable(most int, allowed [Kinds]Allowance) *Table {
	return &Table{allowed: allowed, peers: make(map[peer.ID]*record), places: crowd.NewPlaces[peer.ID](most)}
}

// Take counts an amount of something that a peer did, whose connection comes from an
// address. within reports whether the peer may do it; if not, the caller should ignore
// it. refused reports whether the peer has become refused by it. Actions of a refused
// peer are not counted. A negative amount gives the peer credit, up to the Burst of its
// allowance.
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

// settle forgives strikes as time passes.
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
	if r.strikes -= past / forgiveness.Seconds(); r.strikes <= 0 {
		r.strikes, r.refused, r.counts = 0, false, [Kinds]float64{}
	}
}

// enter makes a record of a peer. If there are too many, one of the network with the
// most records makes room, so that fresh identities push out their own kind: first one
// with next to no offences, then one that is not refused.
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

// strikes returns a peer's strikes that are not forgiven; for a refused peer these are
// all.
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

// Score is the number that gossipsub subtracts for a peer: 0 below one strike,
// otherwise the number of strikes, and [Worst] for a refused one.
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

// Held describes the offences of a peer.
type Held struct {
	Peer    peer.ID
	Refused bool          // nothing from it is accepted
	Strikes float64       // not forgiven yet
	Since   time.Time     // of the first of them
	Until   time.Time     // when all are forgiven if there are no new ones
	Counts  [Kinds]uint64 // what it did beyond its allowances since then
}

// All lists the peers with offences, in order of their IDs.
func (t *Table) All(now time.Time) (list []Held) {
	for _, p := range slices.Sorted(maps.Keys(t.peers)) {
		r := t.peers[p]
		r.settle(&t.allowed, now)
		if r.strikes == 0 {
			continue
		}
		h := Held{
			Peer: p, Refused: r.refused, Strikes: r.strikes, Since: r.since,
			Until: now.Add(time.Duration(r.strikes * float64(forgiveness))),
		}
		for k, n := range r.counts {
			h.Counts[k] = uint64(n)
		}
		list = append(list, h)
	}
	return list
}
