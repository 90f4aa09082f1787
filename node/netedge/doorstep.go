package netedge

import (
	"io"
	"time"
)

// doorstep holds connections that are not let in, unread and unanswered. A peer that
// connects again as soon as it is refused then comes seldom, and costs only its place. It
// is safe for concurrent use.
type doorstep struct{ kept chan io.Closer }

// keptFor is how long a connection waits before it is closed, unless others push it out.
const keptFor = 5 * time.Second

func newDoorstep(places int) *doorstep { return &doorstep{make(chan io.Closer, max(1, places))} }

// keep closes a connection after a while. When too many wait, it closes the oldest.
func (d *doorstep) keep(c io.Closer) error {
	time.AfterFunc(keptFor, func() { _ = c.Close() }) // closing one that was pushed out again does no harm
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
