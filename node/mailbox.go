package node

import (
	"context"
	"sync"
)

// mailbox holds work for the goroutine that owns something, in the order in which it was
// posted. Posting never waits, because the poster may hold locks of the network.
type mailbox struct {
	news chan struct{} // holds a value after something was posted

	mu      sync.Mutex
	waiting []func(context.Context)
	closed  bool
}

func newMailbox() mailbox { return mailbox{news: make(chan struct{}, 1)} }

// post leaves work for the owner, and reports whether it will be done. After close it
// will not be done.
func (m *mailbox) post(do func(context.Context)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.waiting = append(m.waiting, do)
	select {
	case m.news <- struct{}{}:
	default:
	}
	return true
}

// empty does the waiting work.
func (m *mailbox) empty(ctx context.Context) {
	for {
		m.mu.Lock()
		waiting := m.waiting
		m.waiting = nil
		m.mu.Unlock()
		if len(waiting) == 0 {
			return
		}
		for _, do := range waiting {
			do(ctx)
		}
	}
}

// close does the waiting work and refuses any more.
func (m *mailbox) close(ctx context.Context) {
	for {
		m.empty(ctx)
		m.mu.Lock()
		m.closed = len(m.waiting) == 0
		closed := m.closed
		m.mu.Unlock()
		if closed {
			return
		}
	}
}

// after lets one caller at a time look at what the goroutine owned, once the mailbox is
// closed.
func (m *mailbox) after(see func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	see()
}
