package diary

import (
	"maps"
	"sync"
	"time"

	"p2pnode/node/api"
)

// pace is how often events of a kind that may occur many at a time are told.
const pace = time.Minute

// gatherer adds up events of a kind until it may tell them. The zero value has none.
type gatherer struct {
	mu      sync.Mutex
	told    time.Time
	waiting *api.Event  // the sum of the events that wait; nil: none
	turn    *time.Timer // tells waiting
}

// Gather is Tell for events of a kind that may occur many at a time, for example one for
// each line of a pipe. It tells the first event at once, and those of the next minute as
// one event, with their counts added up.
func (d *Diary) Gather(e api.Event) {
	g := d.gatherer(e.Kind)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting != nil {
		merge(g.waiting, &e)
		return
	}
	wait := pace - time.Since(g.told)
	if wait <= 0 {
		g.told = time.Now()
		d.Tell(e)
		return
	}
	e.Rejected = maps.Clone(e.Rejected)
	g.waiting = &e
	g.turn = time.AfterFunc(wait, func() { d.flush(g) })
}

// Close tells the events that were gathered and not told yet.
func (d *Diary) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.gathered {
		d.flush(g)
	}
	for text, s := range d.sparse {
		d.flushMore(s, text)
	}
}

func (d *Diary) gatherer(kind api.EventKind) *gatherer {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.gathered[kind]
	if g == nil {
		g = new(gatherer)
		d.gathered[kind] = g
	}
	return g
}

func (d *Diary) flush(g *gatherer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		return
	}
	g.turn.Stop()
	d.Tell(*g.waiting)
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
	for reason, count := range e.Rejected {
		if sum.Rejected == nil {
			sum.Rejected = make(map[string]uint64)
		}
		sum.Rejected[reason] += count
	}
}
