package paper

import (
	"cmp"
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
// first, then those that need the machine for themselves. It passes each finished cell
// to keep, one at a time. It ends with the first error. When ctx ends it starts no more
// cells, waits a little for those under way, and returns the reason; a cell that is not
// finished by then is abandoned.
func compute(ctx context.Context, cells []Cell, m *Meter, keep func(kept) error) error {
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, func(a, b Cell) int { return cmp.Compare(b.Cost, a.Cost) })
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	ended := false // under mu: nothing more is kept
	one := func(c Cell) error {
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
	}
	finished := make(chan error, 1)
	go func() {
		err := each(cells, false, runtime.GOMAXPROCS(0), one)
		if err == nil {
			err = each(cells, true, 1, one)
		}
		finished <- err
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

// each calls do for the cells that are solo, or for the others, at most limit at once,
// and returns the first error.
func each(cells []Cell, solo bool, limit int, do func(Cell) error) error {
	var group errgroup.Group
	group.SetLimit(limit)
	for _, c := range cells {
		if c.Solo == solo {
			group.Go(func() error { return do(c) })
		}
	}
	return group.Wait()
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
