package testnet

import (
	"context"
	"errors"
	"time"

	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Twins is a task that the same people learn twice: over real nodes and in the
// simulator.
type Twins struct {
	Data        *Dataset
	Method      Method         // Broadcast, or Private, whose simulations are draws of the committee's noise
	Lone        learner.Local  // constants of the lone model; the zero value: those of the task
	Budget      privacy.Budget // the budget of every record
	Seed        uint64         // seed of the first simulation
	Simulations int            // number of simulations, each with its own seed for noise, clocks and graph
	Dir         string         // an empty directory for the real nodes' data; required
	Daemons     *Daemons       // nil: the real nodes run in this process; else each in a process of its own
}

// Agreement is the result of [Twins]: an error of each person, in the order of the data
// set, as [learner.Task.Error] measures it.
type Agreement struct {
	Alone     []float64
	Real      []float64
	Simulated [][]float64 // one list for each simulation

	Unfinished int     // real nodes that had not used their budget, or had no result, at the end
	Delivery   float64 // share of the real nodes' messages that arrived
	Seconds    float64 // wall time of the real nodes
}

// Agree runs both. Real nodes find their own neighbours and draw noise that nobody can
// repeat, so two runs differ. When ctx ends, Agree ends with the error of ctx.
func Agree(ctx context.Context, w Twins) (*Agreement, error) {
	c := Config{
		Source: func(uint64) (*Dataset, error) { return w.Data, nil },
		Budget: w.Budget, Seed: w.Seed, Methods: []Method{}, Simulate: true, NoCurve: true, Dir: w.Dir, Wake: w.wake(),
	}
	lone := *w.Data
	if w.Lone != (learner.Local{}) {
		task := *lone.Task
		task.Local = w.Lone
		lone.Task = &task
	}
	alone := c
	alone.Source = func(uint64) (*Dataset, error) { return &lone, nil }
	a := new(Agreement)
	r, err := alone.finish(ctx)
	if err != nil {
		return nil, err
	}
	a.Alone = r.Trials(Alone)[0].Errors

	c.Methods = []Method{w.Method}
	simulated := c
	simulated.Seeds = w.Simulations
	if r, err = simulated.finish(ctx); err != nil {
		return nil, err
	}
	for _, t := range r.Trials(w.Method) {
		a.Simulated = append(a.Simulated, t.Errors)
	}

	c.Simulate, c.Daemons = false, w.Daemons
	if r, err = c.finish(ctx); err != nil {
		return nil, err
	}
	t := r.Trials(w.Method)[0]
	a.Real, a.Unfinished, a.Seconds, a.Delivery = t.Errors, t.Unfinished, t.Seconds, r.delivery()
	return a, nil
}

// slowPace is how many deliveries a second a machine carries that does much other work.
// At the pace of [Run], on two cores with ten times as much work, 100 nodes of
// MovieLens in 32 releases erred by .0031 more than in the simulator, where the
// standard deviation of a simulation is .0007. At this pace they erred by .0007 less.
const slowPace = 270

// wake is the mean time between two releases of a real node. It is 0, so that [Run]
// chooses, for learners that do not release by a clock of their own.
func (w *Twins) wake() time.Duration {
	t := w.Data.Task
	if w.Method == Private || !t.Clocked() {
		return 0
	}
	each := float64(len(w.Data.People)*t.Graph.Degree) / slowPace
	return time.Duration(max(each, minWake, t.Release.MinWake) * float64(time.Second))
}

// finish is [Run], but returns an error if it is interrupted.
func (c Config) finish(ctx context.Context) (*Result, error) {
	r, err := Run(ctx, c)
	if err == nil && !r.Complete {
		err = context.Cause(ctx)
	}
	return r, err
}

// expected is the mean of each person's errors over the simulations.
func (a *Agreement) expected() []float64 {
	mean := make([]float64, len(a.Real))
	for _, errs := range a.Simulated {
		for i, e := range errs {
			mean[i] += e / float64(len(a.Simulated))
		}
	}
	return mean
}

// Difference is how far the real nodes' error is above the simulator's, with the
// bootstrap interval over people. spread is the standard deviation of the mean error
// over the simulations: two runs differ by about 1.4 times that.
func (a *Agreement) Difference(seed uint64) (above learner.Interval, spread float64) {
	pairs := make([]Pair, len(a.Real))
	for i, e := range a.expected() {
		pairs[i] = Pair{Person: i, Alone: a.Real[i], With: e}
	}
	means := make([]float64, len(a.Simulated))
	for k, errs := range a.Simulated {
		means[k] = mean(errs)
	}
	return Bootstrap(pairs, resamples, seed), stat.StdDev(means, nil)
}

// arrived gives records the arrival numbers that they state when a device adds them in
// this order. Where the numbers leave out a held-out one, a copy of the first record
// stands in its place. Held-out records take part in nothing that leaves the device,
// and in no fit.
func arrived(records []learner.Record) ([]learner.Record, error) {
	var all []learner.Record
	for _, r := range records {
		for next := learner.Seq(len(all) + 1); next < r.Seq; next++ {
			if !next.HeldOut() {
				return nil, errNumbers
			}
			all = append(all, records[0])
		}
		if all = append(all, r); r.Seq != learner.Seq(len(all)) {
			return nil, errNumbers
		}
	}
	return all, nil
}

var errNumbers = errors.New("testnet: a person's records are numbered as no device would: in order from 1, where only multiples of five may be left out")
