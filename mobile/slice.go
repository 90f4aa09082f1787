package mobile

import (
	"context"
	"time"
)

// slice is one call of Train under way.
type slice struct {
	online time.Duration // the driver's time online when the slice began
}

// onlineFor returns how long the node has taken part so far. The caller holds d.mu.
func (d *driver) onlineFor() time.Duration {
	if d.current == nil || d.current.online.IsZero() {
		return d.online
	}
	return d.online + time.Since(d.current.online)
}

// beginSlice makes the node take part even if it is not started, or paused.
func (d *driver) beginSlice() *slice {
	s := new(slice)
	d.update(func() {
		s.online = d.onlineFor()
		d.slices[s] = true
		d.again()
	})
	return s
}

// possible reports whether the node may still take part in a slice, and returns a channel
// that says when to ask again. It may not once the conditions, a pause or a lasting failure
// forbid it.
func (d *driver) possible(s *slice) (possible bool, changed <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.slices[s] && d.obstacle() == "" && !d.final, d.changed
}

// endSlice returns how long the node took part in the slice, what prevents it now, and
// whether a pause has ended the slice.
func (d *driver) endSlice(s *slice) (online time.Duration, waiting string, off bool) {
	d.update(func() {
		online, waiting, off = d.onlineFor()-s.online, d.state().Reason, !d.slices[s]
		delete(d.slices, s)
	})
	return online, waiting, off
}

// idle waits until every unwanted run has ended.
func (d *driver) idle(ctx context.Context) error {
	return d.await(ctx, func() bool { return d.current == nil || d.wanted() })
}
