package diary

import (
	"maps"
	"sync"
	"time"

	"p2pnode/node/api"
)

// pace is how often events of a kind that may come many at a time are told.
const pace = time.Minute

// gatherer adds up events of a kind until their turn. The zero value has none.
type gatherer struct {
	mu      sync.Mutex
	told    time.Time
	waiting *api.Event  // nil: none
	turn    *time.Timer // of waiting
}

// Gather is Tell for events of a kind that may come many at a time, one for each line of a
// pipe for example. The first is told at once, and those of the next minute as one, with
// their counts added up.
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

// Close tells what was gathered and not told yet.
func (d *Diary) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.gathered {
		d.flush(g)
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

// merge adds the counts of e to those of sum, or has it take the place of an earlier fit.
func merge(sum, e *api.Event) {
	if e.Kind == api.EventFitted { // the last one is what counts
		*sum = *e
		return
	}
	sum.Records += e.Records
	sum.Replaced += e.Replaced
	sum.Same += e.Same
	for reason, count := range e.Rejected {
		if sum.Rejected == nil {
			sum.Rejected = make(map[string]uint64)
		}
		sum.Rejected[reason] += count
	}
}
