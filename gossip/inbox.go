package gossip

import (
	"slices"
	"strings"
	"sync"

	"p2pnode/learner"
)

// Inbox holds the newest message of each sender until the learner takes it. A
// newer model supersedes an older one, so nothing of value is lost and the
// inbox never grows beyond one message per followed peer. All methods are safe
// for concurrent use.
type Inbox struct {
	mu     sync.Mutex
	newest map[learner.ID]learner.Message
	wake   chan struct{}
}

func newInbox() *Inbox {
	return &Inbox{newest: make(map[learner.ID]learner.Message), wake: make(chan struct{}, 1)}
}

// put keeps m unless a message of the same or a later round is already waiting.
func (b *Inbox) put(m learner.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, ok := b.newest[m.From]; ok && old.Round >= m.Round {
		return
	}
	b.newest[m.From] = m
	signal(b.wake)
}

// drop forgets what waits from one sender.
func (b *Inbox) drop(from learner.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.newest, from)
}

// Wake receives a value after messages have arrived. One value may stand for
// many messages; call [Inbox.Take] after each.
func (b *Inbox) Wake() <-chan struct{} { return b.wake }

// Take empties the inbox and returns what was in it, sorted by sender.
func (b *Inbox) Take() []learner.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := make([]learner.Message, 0, len(b.newest))
	for _, m := range b.newest {
		taken = append(taken, m)
	}
	clear(b.newest)
	slices.SortFunc(taken, func(a, b learner.Message) int { return strings.Compare(string(a.From), string(b.From)) })
	return taken
}

// signal leaves one value in a channel of capacity 1.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
