package crowd

import (
	"net/netip"
	"time"
)

// Work is an amount of work in each window of time that all askers share. While the
// whole amount is enough, every asker gets what it asks for; after that, none gets more
// than an equal part. It is not safe for concurrent use.
type Work struct {
	most   int
	window time.Duration

	since  time.Time
	total  int
	spent  map[string]int
	before int // number of askers in the window before
}

// maxAsking bounds the number of remembered askers in one window; later askers get
// nothing beyond the whole amount.
const maxAsking = 4096

// NewWork returns a Work with this amount in each window.
func NewWork(most int, window time.Duration) *Work {
	return &Work{most: most, window: window, spent: make(map[string]int)}
}

// Take asks for an amount of work for an address, and reports whether it is granted.
// Askers on this machine are distinguished by name, because they share one address.
func (w *Work) Take(from netip.Addr, name string, amount int, now time.Time) bool {
	name, own := w.asker(from, name, now)
	if !w.grants(own, amount) {
		return false
	}
	w.spend(name, own, amount)
	return true
}

// Grants reports whether Take would grant it, and takes nothing.
func (w *Work) Grants(from netip.Addr, name string, amount int, now time.Time) bool {
	_, own := w.asker(from, name, now)
	return w.grants(own, amount)
}

func (w *Work) grants(own, amount int) bool {
	return w.total+amount <= w.most || own+amount <= w.most/max(w.before, len(w.spent), 1)
}

// Charge counts an amount of work that was done for an address, of which nobody could say
// before how much it would be.
func (w *Work) Charge(from netip.Addr, name string, amount int, now time.Time) {
	name, own := w.asker(from, name, now)
	w.spend(name, own, amount)
}

// asker returns the name by which an asker is counted, and how much it had in this window.
func (w *Work) asker(from netip.Addr, name string, now time.Time) (as string, own int) {
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
	return name, own
}

func (w *Work) spend(name string, own, amount int) {
	w.total += amount
	if _, known := w.spent[name]; known || len(w.spent) < maxAsking {
		w.spent[name] = own + amount
	}
}

// Parts is work that addresses share, and networks: an address that has had its part may still
// take one from its network (see [Widest]). By addresses alone, one network with many of them would
// leave all others a part of nothing; by networks alone, one address would leave nothing to
// those beside it. It is not safe for concurrent use.
type Parts struct{ addresses, networks *Work }

// NewParts returns Parts with this amount in each window, and as much again for networks.
func NewParts(most int, window time.Duration) *Parts {
	return &Parts{NewWork(most, window), NewWork(most, window)}
}

// Take asks as [Work.Take] does.
func (p *Parts) Take(from netip.Addr, name string, amount int, now time.Time) bool {
	network := Widest(from).Addr()
	if !p.addresses.Take(from, name, amount, now) {
		return p.networks.Take(network, name, amount, now)
	}
	p.networks.Charge(network, name, amount, now)
	return true
}

// Grants asks as [Work.Grants] does.
func (p *Parts) Grants(from netip.Addr, name string, amount int, now time.Time) bool {
	return p.addresses.Grants(from, name, amount, now) || p.networks.Grants(Widest(from).Addr(), name, amount, now)
}
