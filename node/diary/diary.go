// Package diary tells the owner what happens to a node: each event once, to those who
// follow it and to the log. It never waits for anybody who reads.
package diary

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"p2pnode/internal/ring"
	"p2pnode/node/api"
)

// size is how many events are kept. A node that releases once a minute makes three times
// as many in a day; for a quiet one they reach back weeks. They take 150 kB.
const size = 512

// Diary keeps the newest events of one run of a daemon. Its methods are safe for concurrent
// use.
type Diary struct {
	log  *slog.Logger
	run  uint64
	ring *ring.Ring[api.Event]

	mu       sync.Mutex
	gathered map[api.EventKind]*gatherer
	sparse   map[string]*sparse // by the text
}

// New begins a diary. Its event IDs begin at the present time in milliseconds.
func New(log *slog.Logger) *Diary {
	return &Diary{log: log, run: uint64(time.Now().UnixMilli()), ring: ring.New[api.Event](size), gathered: make(map[api.EventKind]*gatherer), sparse: make(map[string]*sparse)}
}

// Tell adds an event and logs it; an event that the owner may have to look at is logged
// as a warning. Tell sets ID, run and time. more is logged in addition, as
// [slog.Logger.Log] takes it.
func (d *Diary) Tell(e api.Event, more ...any) {
	d.write(&e, more...)
	d.keep(e)
}

// write logs an event.
func (d *Diary) write(e *api.Event, more ...any) {
	level := slog.LevelInfo
	if e.Kind == api.EventWarning || e.Kind == api.EventRefused {
		level = slog.LevelWarn
	}
	d.log.Log(context.Background(), level, e.Text, append(attributes(e), more...)...)
}

// keep adds an event for those who follow.
func (d *Diary) keep(e api.Event) {
	d.ring.Add(func(number uint64) api.Event {
		e.ID, e.Run, e.Time = d.run+number, d.run, time.Now()
		return e
	})
}

// attributes returns what is logged in addition to the text.
func attributes(e *api.Event) (list []any) {
	add := func(key string, value any, has bool) {
		if has {
			list = append(list, key, value)
		}
	}
	add("peer", e.Peer, e.Peer != "")
	add("reason", e.Reason, e.Reason != "")
	add("weight", number(e.Weight), e.Weight != 0)
	add("round", e.Round, e.Round != 0)
	add("share", number(e.Share), e.Share != 0)
	add("records", e.Records, e.Records != 0)
	add("replaced", e.Replaced, e.Replaced != 0)
	add("same", e.Same, e.Same != 0)
	add("missing", e.Missing, e.Missing != 0)
	if s := e.Sum; s != nil {
		add("sum", s.ID[:min(8, len(s.ID))], s.ID != "")
		add("recipe", s.Kind, true)
		add("epoch", s.Epoch, true)
		add("round", s.Round, true)
		add("contributors", s.Contributors, s.Contributors != 0)
		add("with this node", s.Listed, s.State == api.SumHere)
	}
	for reason, count := range e.Rejected {
		add(reason, count, true)
	}
	verdict := e.Verdict
	if e.ByLogLoss {
		verdict += " by log loss" // not by an attribute: a bug report keeps their names
	}
	add("verdict", verdict, verdict != "")
	return list
}

// number writes a number with three digits, for people to read.
func number(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // cannot fail: the text was just written
	return short
}

// Events implements [api.Watcher].
func (d *Diary) Events(ctx context.Context, since uint64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		next := d.next(since)
		tellGap := since != 0
		for {
			events, first, more := d.ring.From(next)
			if lost := first - next; tellGap && (lost > 0 || d.foreign(since)) && !yield(d.gap(first, lost), nil) {
				return
			}
			since, tellGap = 0, true
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			next = first + uint64(len(events))
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

// next returns the number of the event after the one with this ID.
func (d *Diary) next(since uint64) uint64 {
	if since < d.run || d.foreign(since) {
		return 0
	}
	return since - d.run + 1
}

// foreign reports whether an ID is not one of this run. An earlier run has higher IDs if
// the clock was set back since.
func (d *Diary) foreign(id uint64) bool {
	_, added, _ := d.ring.From(^uint64(0))
	return id != 0 && (id < d.run || id >= d.run+added)
}

func (d *Diary) gap(first, lost uint64) api.Event {
	return api.Event{
		ID: d.run + first - 1, Run: d.run, Time: time.Now(), Kind: api.EventGap, Lost: lost,
		Text: fmt.Sprintf("events before %d are kept no longer, or are of an earlier run of the daemon", d.run+first),
	}
}
