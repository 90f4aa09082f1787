package testnet

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"p2pnode/learner"
	"p2pnode/testnet/sim"
)

// ScaleOptions says what to measure the simulator with. Every size is run with every
// dimension.
type ScaleOptions struct {
	Nodes      []int // agents, each from 2 to 10 million
	Dimension  []int // of the models, each from 1 to [learner.MaxDimension]
	Neighbours int   // of each agent, from 2 to 100
	Records    int   // of each agent, from 1 to 1000
	Private    bool  // exact noise and accounts
	Weather    bool  // agents leave in bursts, see [sim.Weather]
	Seed       uint64
	Progress   func(done, all int) // called between steps; nil: not wanted
}

// Scale is what was measured, with the machine's memory bandwidth.
type Scale struct {
	Processors int        `json:"processors"`
	Bandwidth  [2]float64 `json:"bandwidth"` // bytes a second read by one processor, and by all
	Rows       []ScaleRow `json:"rows"`
}

// ScaleRow is one size with one dimension. Rates are the best of several steps, since
// other work on the machine only makes them lower.
type ScaleRow struct {
	Nodes     int     `json:"nodes"`
	Dimension int     `json:"dimension"`
	Setup     float64 `json:"setup_seconds"`
	Memory    float64 `json:"bytes_per_agent"` // heap, records included
	One       Rate    `json:"one_processor"`
	All       Rate    `json:"all_processors"`
	Allocated float64 `json:"allocations_per_wake"`
	Touched   float64 `json:"bytes_per_wake"` // that a wake must read or write, see [ScaleOptions.touched]
	Bound     float64 `json:"bound_wakes_per_second"`
	Peak      float64 `json:"peak_rss_bytes"` // of the process so far; 0: not known
}

// Rate is in wakes a second: of the clock, and of the time that the processors were
// used, which tells more on a busy machine. PerCPU is 0 where it is not known.
type Rate struct {
	Wakes  float64 `json:"wakes_per_second"`
	PerCPU float64 `json:"wakes_per_cpu_second"`
}

// Validate says which option makes no sense.
func (o *ScaleOptions) Validate() error {
	return withinLimits([]limits{
		{"nodes", o.Nodes, 2, 10_000_000}, {"dimension", o.Dimension, 1, learner.MaxDimension},
		{"neighbours", []int{o.Neighbours}, 2, 100}, {"records", []int{o.Records}, 1, 1000},
	})
}

// limits are those of an option's values.
type limits struct {
	name        string
	values      []int
	least, most int
}

func withinLimits(all []limits) error {
	for _, c := range all {
		if len(c.values) == 0 {
			return fmt.Errorf("testnet: %s is empty, name at least one", c.name)
		}
		for _, v := range c.values {
			if v < c.least || v > c.most {
				return fmt.Errorf("testnet: %s %d: choose from %d to %d", c.name, v, c.least, c.most)
			}
		}
	}
	return nil
}

// scaleWarm is how many wakes of each agent pass before measuring, so that memory is
// what it will be, and scaleSteps how many steps of one wake each are measured, on
// one processor and on all in turn.
const scaleWarm, scaleSteps = 10, 5

// MeasureScale runs the agents and returns what was measured until ctx ended.
func MeasureScale(ctx context.Context, o ScaleOptions) (Scale, error) {
	s, err := o.measureRows(ctx)
	// Last, since its array would count as the agents' peak.
	s.Processors = runtime.GOMAXPROCS(0)
	s.Bandwidth = [2]float64{bandwidth(1), bandwidth(s.Processors)}
	for i := range s.Rows {
		s.Rows[i].Bound = s.Bandwidth[0] / s.Rows[i].Touched
	}
	return s, err
}

func (o *ScaleOptions) measureRows(ctx context.Context) (s Scale, err error) {
	steps := len(o.Nodes) * len(o.Dimension) * (scaleWarm + 2*scaleSteps)
	done := 0
	step := func() error {
		if done++; o.Progress != nil {
			o.Progress(done, steps)
		}
		return ctx.Err()
	}
	for _, n := range o.Nodes {
		for _, p := range o.Dimension {
			row, err := o.measure(n, p, step)
			if err != nil {
				return s, err
			}
			s.Rows = append(s.Rows, row)
		}
	}
	return s, nil
}

// touched is what a wake must at least read or write: the records, the newest models
// of the neighbours, the own model, and the new one, which is read before it can be
// written.
func (o *ScaleOptions) touched(p int) float64 { return float64(8 * p * (o.Records + o.Neighbours + 3)) }

func (o *ScaleOptions) measure(n, p int, step func() error) (row ScaleRow, err error) {
	row = ScaleRow{Nodes: n, Dimension: p, Touched: o.touched(p)}
	before, began := heap(), time.Now()
	config, err := sim.Crowd{Agents: n, Dimension: p, Neighbours: o.Neighbours, Records: o.Records, Private: o.Private, Seed: o.Seed}.Config()
	if err != nil {
		return row, err
	}
	if o.Weather {
		const until = (scaleWarm + 2*scaleSteps) * time.Second
		config.Away = sim.Weather(n, 5*time.Second, time.Second, 5*time.Second, until, o.Seed)
	}
	running, err := sim.Start(config)
	if err != nil {
		return row, err
	}
	row.Setup = time.Since(began).Seconds()
	r := scaleRun{running: running, wake: config.WakeMean, step: step}
	for range scaleWarm {
		if err := r.advance(new(Rate)); err != nil {
			return row, err
		}
	}
	row.Memory = float64(heap()-before) / float64(n)
	wakes := running.Wakes()
	r.allocated = 0
	err = r.compare(&row)
	row.Allocated = float64(r.allocated) / float64(max(1, running.Wakes()-wakes))
	row.Peak = peakMemory()
	runtime.KeepAlive(running)
	return row, err
}

// scaleRun goes on in steps of one wake of each agent.
type scaleRun struct {
	running   *sim.Running
	until     time.Duration
	wake      time.Duration
	step      func() error
	allocated uint64 // objects, while it went on
}

// compare measures on one processor and on all in turn.
func (r *scaleRun) compare(row *ScaleRow) error {
	all := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(all)
	for range scaleSteps {
		runtime.GOMAXPROCS(1)
		if err := r.advance(&row.One); err != nil {
			return err
		}
		runtime.GOMAXPROCS(all)
		if err := r.advance(&row.All); err != nil {
			return err
		}
	}
	return nil
}

// advance takes a step, and keeps its rates if they are the best.
func (r *scaleRun) advance(best *Rate) error {
	_, _, cpu := process()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wakes, began := r.running.Wakes(), time.Now()
	r.until += r.wake
	if err := r.running.Advance(r.until); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	runtime.ReadMemStats(&after)
	r.allocated += after.Mallocs - before.Mallocs
	made := float64(r.running.Wakes() - wakes)
	best.Wakes = max(best.Wakes, made/took)
	if _, _, now := process(); now > cpu {
		best.PerCPU = max(best.PerCPU, made/(now-cpu))
	}
	return r.step()
}
