package discovery

import (
	"context"
	"time"
)

// attention is how often somebody who rests looks up whether to go on resting.
// It costs nothing on the network.
const attention = 2 * time.Second

// pace spaces looks for other nodes: they follow each other fast at first, then
// ever more slowly, and slowly at once when there are candidates enough.
type pace struct {
	first, longest time.Duration
	grow           float64 // of the pause, from look to look
	pause          time.Duration
}

// rest waits until it is time for the next look, or ctx ends. rare says that
// there are candidates enough. The fast pace returns when changed is closed, and
// when news, asked from time to time, reports that the last look is outdated.
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
		if !sleep(ctx, min(left, attention), changed) || news() {
			p.pause = 0
			return
		}
	}
}
