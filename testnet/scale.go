package testnet

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"p2pnode/learner"
	"p2pnode/testnet/sim"
)

// ScaleOptions say how large the measured simulations are. Every size is run with every
// dimension.
type ScaleOptions struct {
	Nodes      []int // numbers of agents, each from 2 to 10 million
	Dimension  []int // dimensions of the models, each from 1 to [learner.MaxDimension]
	Neighbours int   // of each agent, from 2 to 100
	Records    int   // of each agent, from 1 to 1000
	Private    bool  // with exact noise and accounts
	Weather    bool  // agents leave in bursts, see [sim.Weather]
	Seed       uint64
	Progress   func(done, all int) // called between steps; may be nil
}

// Scale is the result, with the machine's memory bandwidth.
type Scale struct {
	Processors int        `json:"processors"`
	Bandwidth  [2]float64 `json:"bandwidth"` // bytes a second read by one processor, and by all
	Rows       []ScaleRow `json:"rows"`
}

// ScaleRow is one size with one dimension. Rates are the best of several steps, because
// other work on the machine only makes them lower.
type ScaleRow struct {
	Nodes     int     `json:"nodes"`
	Dimension int     `json:"dimension"`
	Setup     float64 `json:"setup_seconds"`
	Memory    float64 `json:"bytes_per_agent"` // heap, records included
	One       Rate    `json:"one_processor"`
	All       Rate    `json:"all_processors"`
	Plain     Rate    `json:"plain_loop"` // on one processor, see [sim.Plain]; without privacy and weather
	Ratio     float64 `json:"ratio"`      // of the rates of One and Plain
	Allocated float64 `json:"allocations_per_wake"`
	Touched   float64 `json:"bytes_per_wake"` // that a wake must read or write, see [ScaleOptions.touched]
	Bound     float64 `json:"bound_wakes_per_second"`
	Peak      float64 `json:"peak_rss_bytes"` // of the process so far; 0: not known
}

// Rate is in wakes a second: by the clock, and by the processor time used, which says
// more on a busy machine. PerCPU is 0 if it is not known.
type Rate struct {
	Wakes  float64 `json:"wakes_per_second"`
	PerCPU float64 `json:"wakes_per_cpu_second"`
}

// Validate returns an error that names the option that is invalid.
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

// scaleWarm is the number of steps before measuring, so that memory has reached its
// size. scaleSteps is how many are measured on one processor, on all, and in the plain
// loop, in turn. A step is one wake of each agent, and at least scaleLeast wakes.
const scaleWarm, scaleSteps, scaleLeast = 10, 5, 5000

// MeasureScale runs the agents and returns what it measured until ctx ended.
func MeasureScale(ctx context.Context, o ScaleOptions) (Scale, error) {
	s, err := o.measureRows(ctx)
	s.Processors = runtime.GOMAXPROCS(0)
	if len(s.Rows) == 0 {
		return s, err
	}
	// This comes last, because its array would count in the agents' peak.
	s.Bandwidth = [2]float64{bandwidth(1), bandwidth(s.Processors)}
	for i := range s.Rows {
		s.Rows[i].Bound = s.Bandwidth[0] / s.Rows[i].Touched
	}
	return s, err
}

func (o *ScaleOptions) measureRows(ctx context.Context) (s Scale, err error) {
	steps := len(o.Nodes) * len(o.Dimension) * (scaleWarm + 3*scaleSteps)
	done := 0
	step := func() error {
		if done++; o.Progress != nil {
			o.Progress(done, steps)
		}
		return ctx.Err()
	}
	for _, n := range o.Nodes {
		for _, p := range o.Dimension {
			row, err := o.measure(ctx, n, p, step)
			if err != nil {
				return s, err
			}
			s.Rows = append(s.Rows, row)
		}
	}
	return s, nil
}

// touched is the number of bytes that a wake must at least read or write: the records,
// the newest models of the neighbours, the agent's model, and the new one, which is
// read before it can be written.
func (o *ScaleOptions) touched(p int) float64 { return float64(8 * p * (o.Records + o.Neighbours + 3)) }

func (o *ScaleOptions) measure(ctx context.Context, n, p int, step func() error) (row ScaleRow, err error) {
	row = ScaleRow{Nodes: n, Dimension: p, Touched: o.touched(p)}
	before, began := heap(), time.Now()
	crowd := sim.Crowd{Agents: n, Dimension: p, Neighbours: o.Neighbours, Records: o.Records, Private: o.Private, Seed: o.Seed}
	config, plain, err := crowd.ConfigAndPlain()
	if err == nil {
		err = ctx.Err() // making a large crowd takes seconds, and so does starting it
	}
	if err != nil {
		return row, err
	}
	r := scaleRun{plain: plain, agents: n, each: max(1, scaleLeast/n), step: step}
	r.span = time.Duration(r.each) * config.WakeMean
	if o.Weather {
		until := (scaleWarm + 2*scaleSteps) * r.span
		config.Away = sim.Weather(n, 5*time.Second, time.Second, 5*time.Second, until, o.Seed)
	}
	if r.running, err = sim.Start(config); err != nil {
		return row, err
	}
	row.Setup = time.Since(began).Seconds()
	for range scaleWarm {
		if err := r.advance(new(Rate)); err != nil {
			return row, err
		}
	}
	row.Memory = float64(heap()-before) / float64(n)
	wakes := r.running.Wakes()
	r.allocated = 0
	err = r.compare(&row)
	row.Allocated = float64(r.allocated) / float64(max(1, r.running.Wakes()-wakes))
	row.Peak = PeakMemory()
	return row, err
}

// scaleRun advances in steps of a number of wakes of each agent.
type scaleRun struct {
	running   *sim.Running
	plain     *sim.Plain
	agents    int
	each      int
	span      time.Duration // of a step
	until     time.Duration
	step      func() error
	allocated uint64 // objects allocated during the steps
}

// compare measures on one processor, on all, and the plain loop, in turn.
func (r *scaleRun) compare(row *ScaleRow) error {
	all := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(all)
	for range scaleSteps {
		runtime.GOMAXPROCS(1)
		if err := r.advance(&row.One); err != nil {
			return err
		}
		wakes := r.agents * r.each
		row.Plain.measure(func() int { r.plain.Wakes(wakes); return wakes })
		if err := r.step(); err != nil {
			return err
		}
		runtime.GOMAXPROCS(all)
		if err := r.advance(&row.All); err != nil {
			return err
		}
	}
	row.Ratio = row.One.rate() / row.Plain.rate()
	return nil
}

// advance takes a step, and keeps its rates if they are the best so far.
func (r *scaleRun) advance(best *Rate) (err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	best.measure(func() int {
		wakes := r.running.Wakes()
		r.until += r.span
		err = r.running.Advance(r.until)
		return r.running.Wakes() - wakes
	})
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	r.allocated += after.Mallocs - before.Mallocs
	return r.step()
}

// measure keeps the rates of a step if they are the best so far. It returns the number
// of wakes.
func (r *Rate) measure(step func() int) {
	cpu, began := ProcessorTime(), time.Now()
	made := float64(step())
	r.Wakes = max(r.Wakes, made/time.Since(began).Seconds())
	if used := ProcessorTime() - cpu; used > 0 {
		r.PerCPU = max(r.PerCPU, made/used.Seconds())
	}
}

// rate is by processor time or, if that is not known, by the clock.
func (r Rate) rate() float64 {
	if r.PerCPU > 0 {
		return r.PerCPU
	}
	return r.Wakes
}
