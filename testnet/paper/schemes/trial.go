package schemes

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// trial is one setting, to be run with every seed.
type trial struct {
	key  string  // unique in the experiment
	cost float64 // about how long one run takes, in any unit
	once bool    // it draws nothing: one seed is enough
	run  func(seed uint64) (paper.Numbers, error)
}

// plan runs the trials with so many seeds, unless the options say otherwise.
func plan(name string, o paper.Options, seeds int, trials []trial, report func(found) *paper.Report) *paper.Plan {
	if o.Seeds > 0 {
		seeds = o.Seeds
	}
	p := &paper.Plan{
		Identity: fmt.Sprintf("%s, quick %v", name, o.Quick), Seeds: seeds,
		Report: func(done paper.Done) (*paper.Report, error) { return report(found{done, o.Seed, seeds}), nil },
	}
	for _, t := range trials {
		for k := range seeds {
			if t.once && k > 0 {
				break
			}
			seed := o.Seed + uint64(k)
			p.Cells = append(p.Cells, paper.Cell{
				Key: cellKey(t.key, seed), Cost: t.cost,
				Run: func(context.Context) (paper.Numbers, error) { return t.run(seed) },
			})
		}
	}
	return p
}

func cellKey(trial string, seed uint64) string { return fmt.Sprintf("%s, seed %d", trial, seed) }

// found holds the numbers of the finished runs.
type found struct {
	done  paper.Done
	seed  uint64
	seeds int
}

// curve holds mean and spread, over the seeds, of the numbers of one name in a trial.
type curve struct {
	mean, spread []float64 // for a single seed the standard deviation is 0
	seeds        int
}

// over is the curve of a trial; it has no values if no seed is finished.
func (f found) over(trial, name string) curve {
	var c curve
	var runs [][]float64
	for k := range f.seeds {
		if v, ok := f.done[cellKey(trial, f.seed+uint64(k))][name]; ok {
			runs = append(runs, v)
		}
	}
	if c.seeds = len(runs); c.seeds == 0 {
		return c
	}
	values := make([]float64, len(runs))
	for i := range runs[0] {
		for k := range runs {
			values[k] = runs[k][i]
		}
		c.mean = append(c.mean, stat.Mean(values, nil))
		c.spread = append(c.spread, 0)
		if len(values) > 1 {
			c.spread[i] = stat.StdDev(values, nil)
		}
	}
	return c
}

// fill gives a row the i-th number of a trial, and reports whether there is one.
func (c curve) fill(row paper.Row, i int) (paper.Row, bool) {
	if c.seeds == 0 {
		return row, false
	}
	row.Seeds, row.Error = c.seeds, paper.Number(c.mean[i])
	if c.seeds > 1 {
		row.Spread = paper.Number(c.spread[i])
	}
	return row, true
}

// line is a curve with the positions of its numbers on an axis.
type line struct {
	curve
	x []float64
}

// series draws the line with a band of one standard deviation. On logarithmic axes the
// band ends at a fiftieth of the line. ok is false if there is no line.
func (l line) series(name string, style page.Style) (page.Series, bool) {
	if l.seeds == 0 {
		return page.Series{}, false
	}
	s := page.Series{Name: name, Style: style, X: l.x, Y: l.mean}
	if l.seeds > 1 {
		for i, y := range l.mean {
			s.Low = append(s.Low, math.Max(y-l.spread[i], y/50))
			s.High = append(s.High, y+l.spread[i])
		}
	}
	return s, true
}

// published gives a row the number of an independent program that repeated the paper's figure.
func published(row paper.Row, v float64) paper.Row {
	row.Published, row.Source = paper.Number(v), independent
	return row
}

const independent = paper.Independent
