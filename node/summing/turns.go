package summing

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"

	"p2pnode/internal/crowd"
)

// turns gives out a number of places in which uploads are fetched. While all are taken, the
// others wait. The next turn is that of the network from which the fewest are being fetched,
// of several that whose last turn is the longest ago, so that a crowd of identities which
// send slowly delays itself. It is safe for concurrent use.
type turns struct {
	mu       sync.Mutex
	free     int
	number   uint64 // of turns so far
	networks map[netip.Prefix]*visitors
	waiting  []*turn // the one that waits longest first
	room     *crowd.Places[*turn]
}

// visitors are those of one network who have a place or wait for one.
type visitors struct {
	all, placed int
	last        uint64 // number of its last turn
}

type turn struct {
	network netip.Prefix
	comes   chan bool // receives true when it is there, and false when there is no room to wait
}

// newTurns returns this many places, for which at most waiting wait.
func newTurns(places, waiting int) *turns {
	return &turns{free: places, networks: make(map[netip.Prefix]*visitors), room: crowd.NewPlaces[*turn](waiting)}
}

// take waits for a place for somebody at an address, and reports whether there is one. There
// is none if ctx ends, or if too many wait in the same network. Whoever gets a place calls
// over in the end.
func (t *turns) take(ctx context.Context, from netip.Addr) (over func(), taken bool) {
	own := &turn{crowd.Widest(from), make(chan bool, 1)}
	t.mu.Lock()
	t.enter(own, from)
	t.mu.Unlock()
	over = func() { t.over(own) }
	select {
	case taken = <-own.comes:
		return over, taken
	case <-ctx.Done():
	}
	t.mu.Lock()
	waited := t.giveUp(own)
	t.mu.Unlock()
	if !waited && <-own.comes {
		over()
	}
	return nil, false
}

// enter gives somebody a place, or room to wait. The caller holds t.mu.
func (t *turns) enter(own *turn, from netip.Addr) {
	n := t.networks[own.network]
	if n == nil {
		n = &visitors{}
		t.networks[own.network] = n
	}
	n.all++
	if t.free > 0 { // nobody waits then
		t.free--
		t.begin(own)
		return
	}
	t.waiting = append(t.waiting, own)
	for _, out := range t.room.Enter(own, from, nil) {
		t.giveUp(out)
		out.comes <- false
	}
}

// begin gives a free place to one who does not wait any more. The caller holds t.mu.
func (t *turns) begin(next *turn) {
	t.number++
	n := t.networks[next.network]
	n.placed++
	n.last = t.number
	next.comes <- true
}

// giveUp takes one out of those that wait, and reports whether it was among them. The caller
// holds t.mu.
func (t *turns) giveUp(out *turn) bool {
	i := slices.Index(t.waiting, out)
	if i < 0 {
		return false
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	t.room.Leave(out)
	t.leave(out)
	return true
}

// leave forgets one who neither has a place nor waits. The caller holds t.mu.
func (t *turns) leave(out *turn) {
	n := t.networks[out.network]
	if n.all--; n.all == 0 {
		delete(t.networks, out.network)
	}
}

// over gives a place back.
func (t *turns) over(out *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.networks[out.network].placed--
	t.leave(out)
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	next := slices.MinFunc(t.waiting, func(a, b *turn) int { // the first of the least
		x, y := t.networks[a.network], t.networks[b.network]
		return cmp.Or(cmp.Compare(x.placed, y.placed), cmp.Compare(x.last, y.last))
	})
	i := slices.Index(t.waiting, next)
	t.waiting = slices.Delete(t.waiting, i, i+1)
	t.room.Leave(next)
	t.begin(next)
}
