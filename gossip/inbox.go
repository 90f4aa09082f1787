package gossip

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"p2pnode/learner"
)

// Inbox holds the newest messages of each sender until the learner takes them, as
// many of each kind as its depth. Newer ones supersede older ones, so the inbox
// never grows beyond its depth for each sender and kind. All methods are safe for
// concurrent use.
type Inbox struct {
	depth int

	mu     sync.Mutex
	newest map[source][]learner.Message // sorted by round and attempt, one each
	wake   chan struct{}
}

// source is where messages that supersede each other come from.
type source struct {
	from learner.ID
	kind learner.Kind
}

func newInbox(depth int) *Inbox {
	return &Inbox{depth: depth, newest: make(map[source][]learner.Message), wake: make(chan struct{}, 1)}
}

// put keeps m unless the inbox already holds it, or holds as many newer messages
// as its depth.
func (b *Inbox) put(m learner.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := source{m.From, m.Kind}
	waiting := b.newest[key]
	i, found := slices.BinarySearchFunc(waiting, m, byRound)
	if found || i == 0 && len(waiting) == b.depth {
		return
	}
	waiting = slices.Insert(waiting, i, m)
	b.newest[key] = waiting[max(0, len(waiting)-b.depth):]
	signal(b.wake)
}

func byRound(a, b learner.Message) int {
	return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Attempt, b.Attempt))
}

// drop forgets the waiting messages of one sender.
func (b *Inbox) drop(from learner.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.newest {
		if key.from == from {
			delete(b.newest, key)
		}
	}
}

// Wake receives a value after messages have arrived. One value may stand for
// many messages; call [Inbox.Take] after each.
func (b *Inbox) Wake() <-chan struct{} { return b.wake }

// Take empties the inbox and returns what was in it, sorted by sender, round,
// attempt and kind.
func (b *Inbox) Take() []learner.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := make([]learner.Message, 0, len(b.newest))
	for _, waiting := range b.newest {
		taken = append(taken, waiting...)
	}
	clear(b.newest)
	slices.SortFunc(taken, func(a, b learner.Message) int {
		return cmp.Or(strings.Compare(string(a.From), string(b.From)), byRound(a, b), cmp.Compare(a.Kind, b.Kind))
	})
	return taken
}

// signal leaves one value in a channel of capacity 1.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
