package paper

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Run computes the cells of a plan, as many at once as there are processors, and
// returns what is done. When ctx ends it starts no more of them and returns the
// reason too. The order in which they run changes nothing.
func Run(ctx context.Context, p *Plan) (Done, error) {
	done := make(Done)
	var mu sync.Mutex
	var cells errgroup.Group
	cells.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range p.Cells {
		cells.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			numbers, err := c.Run()
			if err != nil {
				return fmt.Errorf("paper: %s: %w", c.Key, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done[c.Key] = numbers
			return nil
		})
	}
	return done, cells.Wait()
}
