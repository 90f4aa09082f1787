package discovery

import (
	"context"
	"time"

	"p2pnode/internal/turn"
)

// pace spaces the looks for other nodes. The pauses are short at first and grow, and are
// long at once when there are enough candidates.
type pace struct {
	first, longest time.Duration
	grow           float64 // of the pause, from look to look
	pause          time.Duration
}

// rest waits until the next look is due or ctx ends. rare says that there are enough
// candidates. The fast pace returns when changed is closed, and when news, which is
// called from time to time, reports that the last look is outdated.
func (p *pace) rest(ctx context.Context, rare bool, changed <-chan struct{}, news func() bool) {
	switch {
	case rare:
		p.pause = p.longest
	case p.pause == 0:
		p.pause = p.first
	}
	end := time.Now().Add(jitter(p.pause))
	p.pause = min(time.Duration(float64(p.pause)*p.grow), p.longest)
	for left := time.Until(end); left > 0 && ctx.Err() == nil; left = time.Until(end) {
		if !sleep(ctx, min(left, turn.Wait(lookEvery)), changed) || news() {
			p.pause = 0
			return
		}
	}
}
