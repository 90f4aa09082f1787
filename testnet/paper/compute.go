package paper

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// grace is how long an interrupted computation waits for the cells under way.
const grace = 2 * time.Second

// compute runs the cells, as many at once as there are processors and the long ones
// first, and hands each that is done to keep, one at a time. It ends with the first
// error. When ctx ends it starts no more of them, waits a little for those under way,
// and returns the reason; a cell that is not done by then is left to itself.
func compute(ctx context.Context, cells []Cell, m *Meter, keep func(kept) error) error {
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, func(a, b Cell) int { return cmpDown(a.Cost, b.Cost) })
	var mu sync.Mutex
	ended := false // under mu: nothing is kept any more
	finished := make(chan error, 1)
	go func() {
		var group errgroup.Group
		group.SetLimit(runtime.GOMAXPROCS(0))
		inner, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		for _, c := range cells {
			group.Go(func() error {
				k, err := c.compute(inner, m)
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					if ended {
						return ctx.Err()
					}
					err = keep(k)
				}
				if err != nil {
					stop(err)
				}
				return err
			})
		}
		finished <- group.Wait()
	}()
	select {
	case err := <-finished:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-finished:
		return err
	case <-time.After(grace):
	}
	mu.Lock()
	defer mu.Unlock()
	ended = true
	return ctx.Err()
}

func cmpDown(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// compute runs one cell.
func (c *Cell) compute(ctx context.Context, m *Meter) (kept, error) {
	if ctx.Err() != nil {
		return kept{}, context.Cause(ctx)
	}
	start := m.begin(c)
	numbers, err := c.Run(ctx)
	seconds := m.end(c, start, err == nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return kept{}, context.Cause(ctx)
	case err != nil:
		return kept{}, fmt.Errorf("%s: %w", c.Key, err)
	}
	for name, values := range numbers {
		for i, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return kept{}, fmt.Errorf("%s: %s[%d] is %g: a cell must return finite numbers", c.Key, name, i, v)
			}
		}
	}
	return kept{Key: c.Key, Seconds: seconds, Numbers: numbers}, nil
}
