package diary

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"p2pnode/node/api"
)

// Of one thing that strangers can make happen, a diary tells atOnce events, another one every
// onceMore, and every addUp how many more there were. An honest network stays below that. A
// crowd of strangers would else push everything else out of the diary in minutes, and fill
// the log.
const (
	atOnce   = 32
	onceMore = 30 * time.Second
	addUp    = 10 * time.Minute
)

// sparse bounds the events with one text.
type sparse struct {
	limit *rate.Limiter
	kind  api.EventKind
	more  int         // events that were not told
	turn  *time.Timer // tells how many
}

// Sparsely is Tell for events that strangers can cause as often as they like. If there are too
// many with the same text, it only counts them, and tells later how many there were.
func (d *Diary) Sparsely(e api.Event) {
	if d.tells(e.Kind, e.Text) {
		d.Tell(e)
	}
}

// tells reports whether one more event with a text is told, or counts it.
func (d *Diary) tells(kind api.EventKind, text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sparse[text]
	if s == nil {
		s = &sparse{kind: kind, limit: rate.NewLimiter(rate.Every(onceMore), atOnce)}
		d.sparse[text] = s
	}
	if s.limit.Allow() {
		return true
	}
	if s.more++; s.more == 1 {
		s.turn = time.AfterFunc(addUp, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.flushMore(s, text)
		})
	}
	return false
}

// flushMore tells how many events with a text were not told. The caller holds d.mu.
func (d *Diary) flushMore(s *sparse, text string) {
	if s.more == 0 {
		return
	}
	s.turn.Stop()
	d.Tell(api.Event{Kind: s.kind, Text: fmt.Sprintf("%s: %d times more, not told one by one", text, s.more)})
	s.more = 0
}
