package netedge

import (
	"io"
	"time"
)

// doorstep holds connections that are not let in, unread and unanswered. A peer that
// connects again as soon as it is refused then comes seldom, and costs only its place. It
// is safe for concurrent use.
type doorstep struct{ kept chan io.Closer }

const (
	// keptFor is how long a connection waits before it is closed, unless others push it out.
	keptFor = 5 * time.Second
	// doorstepPlaces is how many wait at most. A place costs a file and four kilobytes; if
	// there are fewer places than peers that come again, these push each other out at once.
	doorstepPlaces = 512
)

func newDoorstep(places int) *doorstep { return &doorstep{make(chan io.Closer, places)} }

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
