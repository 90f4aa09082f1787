package diary

import (
	"maps"
	"sync"
	"time"

	"p2pnode/node/api"
)

// pace is how often events of a kind that may occur many at a time are told.
const pace = time.Minute

// gatherer adds up events of a kind until it may tell them.
type gatherer struct {
	tell func(sum api.Event, count int)

	mu      sync.Mutex
	told    time.Time
	waiting *api.Event  // the sum of the events that wait; nil: none
	count   int         // how many wait
	turn    *time.Timer // tells waiting
}

// Gather is Tell for events of a kind that may occur many at a time, for example one for
// each line of a pipe. It tells the first event at once, and those of the next minute as
// one event, with their counts added up.
func (d *Diary) Gather(e api.Event) {
	d.gatherer(e.Kind, func(sum api.Event, _ int) { d.Tell(sum) }).add(e)
}

// TellEach is Tell for events that may occur many at a time and of which readers want each:
// only the log has the first at once, and those of the next minute as one line, with their
// counts added up.
func (d *Diary) TellEach(e api.Event) {
	d.keep(e)
	d.gatherer(e.Kind, func(sum api.Event, count int) {
		var times []any
		if count > 1 {
			times = []any{"times", count}
		}
		d.write(&sum, times...)
	}).add(e)
}

// add tells an event, or lets it wait for its turn.
func (g *gatherer) add(e api.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting != nil {
		merge(g.waiting, &e)
		g.count++
		return
	}
	wait := pace - time.Since(g.told)
	if wait <= 0 {
		g.told = time.Now()
		g.tell(e, 1)
		return
	}
	e.Rejected = maps.Clone(e.Rejected)
	g.waiting, g.count = &e, 1
	g.turn = time.AfterFunc(wait, g.flush)
}

// Close tells the events that were gathered and not told yet.
func (d *Diary) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.gathered {
		g.flush()
	}
	for text, s := range d.sparse {
		d.flushMore(s, text)
	}
}

// gatherer returns the gatherer of a kind, whose events are always told in the same way.
func (d *Diary) gatherer(kind api.EventKind, tell func(sum api.Event, count int)) *gatherer {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.gathered[kind]
	if g == nil {
		g = &gatherer{tell: tell}
		d.gathered[kind] = g
	}
	return g
}

func (g *gatherer) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		return
	}
	g.turn.Stop()
	g.tell(*g.waiting, g.count)
	g.told, g.waiting = time.Now(), nil
}

// merge adds the counts of e to those of sum. A fit replaces an earlier fit.
func merge(sum, e *api.Event) {
	if e.Kind == api.EventFitted { // only the last one counts
		*sum = *e
		return
	}
	sum.Records += e.Records
	sum.Replaced += e.Replaced
	sum.Same += e.Same
	sum.Missing = e.Missing
	sum.Round = e.Round
	sum.Share += e.Share
	for reason, count := range e.Rejected {
		if sum.Rejected == nil {
			sum.Rejected = make(map[string]uint64)
		}
		sum.Rejected[reason] += count
	}
}
