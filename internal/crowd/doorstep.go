package crowd

import (
	"io"
	"time"
)

// Doorstep holds connections that are not let in, unread and unanswered. A peer that
// connects again as soon as it is refused then comes seldom, and costs only its place. It
// is safe for concurrent use.
type Doorstep struct {
	kept    chan io.Closer
	keptFor time.Duration
}

// NewDoorstep returns a doorstep with this many places. A connection waits for keptFor before it
// is closed, unless others push it out.
func NewDoorstep(places int, keptFor time.Duration) *Doorstep {
	return &Doorstep{make(chan io.Closer, places), keptFor}
}

// Keep closes a connection after a while. When too many wait, it closes the oldest.
func (d *Doorstep) Keep(c io.Closer) error {
	time.AfterFunc(d.keptFor, func() { _ = c.Close() }) // closing one that was pushed out again does no harm
	for {
		select {
		case d.kept <- c:
			return nil
		default:
		}
		select {
		case oldest := <-d.kept:
			_ = oldest.Close()
		default:
		}
	}
}
