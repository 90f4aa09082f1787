package crowd

import (
	"net/netip"
	"time"
)

// Work is an amount of work in each window of time that is shared by those who ask for it.
// While the whole amount suffices, everybody gets what he asks for; then nobody gets more
// than an equal part of it. It is not safe for concurrent use.
type Work struct {
	most   int
	window time.Duration

	since  time.Time
	total  int
	spent  map[string]int
	before int // how many asked in the window before
}

// maxAsking bounds who is remembered in one window; whoever comes then gets nothing beyond
// the whole amount.
const maxAsking = 4096

// NewWork returns so much work in each window.
func NewWork(most int, window time.Duration) *Work {
	return &Work{most: most, window: window, spent: make(map[string]int)}
}

// Take asks for an amount of work for an address, and reports whether it is granted. Those
// on this machine are told apart by name, because they have one address.
func (w *Work) Take(from netip.Addr, name string, amount int, now time.Time) bool {
	if past := now.Sub(w.since); past >= w.window || past < 0 {
		w.before = len(w.spent)
		if past >= 2*w.window {
			w.before = 0
		}
		w.since, w.total = now, 0
		clear(w.spent)
	}
	if from.IsValid() && !from.IsLoopback() {
		name = Narrowest(from).String()
	}
	own, known := w.spent[name]
	if !known && len(w.spent) >= maxAsking {
		own = w.most
	}
	if w.total+amount > w.most && own+amount > w.most/max(w.before, len(w.spent), 1) {
		return false
	}
	w.total += amount
	if known || len(w.spent) < maxAsking {
		w.spent[name] = own + amount
	}
	return true
}
