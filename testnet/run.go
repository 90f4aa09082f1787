package testnet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Config is what [Run] measures.
type Config struct {
	// Source makes the data set of a seed; required. See [Dataset.Draw] and
	// [Linear].
	Source func(seed uint64) (*Dataset, error)
	Budget privacy.Budget // of every record in each private trial; required
	Seed   uint64         // the first seed, of splits, of the choice of people and of simulations
	Seeds  int            // how many seeds to pool; 0 means 1
	// Methods are the methods to measure besides [Alone], which is always measured; nil
	// means [Private], [Together] and [Broadcast].
	Methods []Method
	// Simulate runs the agents under virtual time instead of real nodes.
	Simulate bool
	// NoCurve leaves out the learning curve of the first seed, which fits everyone's
	// model about ten times.
	NoCurve bool
	// Dir is an empty directory for the real nodes' data. Required without
	// Simulate; the caller removes it.
	Dir string
	// Wake is the mean time between two releases of a real node; 0 chooses one
	// that two cores can carry.
	Wake time.Duration
	// Rehearse keeps what the task says about its learner and its private sums, so that
	// the nodes do what they will do later. Only the committee is replaced by one of
	// new identities, and the times are shortened.
	Rehearse bool
	// Text is that of the file that a rehearsed task is in, for advice on what to change
	// there; nil: it is in none.
	Text []byte
	// All makes, for a rehearsal, the data set of all people that those of Source are drawn
	// from, or of more of them: what a private sum would give these is worked out too. It may
	// be nil.
	All func(seed uint64) (*Dataset, error)
	// Daemons makes the real nodes processes of their own; nil leaves them in this one.
	Daemons  *Daemons
	Logger   *slog.Logger   // of the real nodes; nil: discard
	Progress func(Progress) // called at the start of a trial and about every second while nodes learn; may be nil
	Measured func(*Result)  // called after each trial with the results so far, which it must not keep; may be nil
}

// Progress is how far a trial is. Only real nodes report more than the start.
type Progress struct {
	Seed     uint64
	Method   Method
	Virtual  bool // under virtual time
	Nodes    int
	Started  int     // nodes that have been started
	Linked   int     // nodes with a neighbour that listens
	Settling bool    // all have neighbours, and better ones may still replace them
	Done     int     // nodes that have used their budget
	Releases float64 // mean per node
	Goal     int     // releases per node at the end
	// For a private sum: Sums is how many there will be, Sum the present one, Paid the
	// nodes with a contribution to it, and Known those with its result. Under virtual time
	// they are draws of the noise of the same sum.
	Sums, Sum, Paid, Known int
}

// driver lets the people of a data set learn together once, until everyone has used the
// budget or ctx ends, and measures their personal models.
type driver func(ctx context.Context, d *Dataset, seed uint64, m Method) (*Trial, error)

// curveSteps is about the number of points of a learning curve.
const curveSteps = 8

// due reports whether a learning curve that ends at goal releases per node needs a
// point now.
func (t *Trial) due(releases float64, goal int) bool {
	var last float64
	if n := len(t.Curve); n > 0 {
		last = t.Curve[n-1].Releases
	}
	step := float64(goal) / curveSteps
	return releases >= last+step || releases == float64(goal) && last < releases
}

func (t *Trial) addPoint(releases float64, errs []float64) {
	t.Curve = append(t.Curve, CurvePoint{Releases: releases, Error: mean(errs)})
}

// Run measures the methods in each seed. When ctx ends, it stops cleanly and returns
// the results so far, with Complete unset and a nil error.
func Run(ctx context.Context, c Config) (*Result, error) {
	if c.Source == nil {
		return nil, errors.New("testnet: Config.Source is required")
	}
	if err := c.Budget.Validate(); err != nil {
		return nil, fmt.Errorf("testnet: %w", err)
	}
	drive, name, err := c.driver()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	r := &Result{Driver: name, Budget: c.Budget, Seed: c.Seed}
	if c.Daemons != nil {
		r.Phones = c.Daemons.Phones
	}
	numbers := make(map[string]int)
	for k := range max(1, c.Seeds) {
		d, err := c.Source(c.Seed + uint64(k))
		if err != nil {
			return nil, err
		}
		if c.Rehearse {
			r.Changed, r.Dealt, r.Broadcasts, r.Of = c.changes(d), d.Dealt, broadcasts(d.Task), d.Of
			if r.Broadcasts {
				r.Edits = c.edits(d)
			}
		}
		r.Data, r.LeftOut, r.Noted, r.Misfits, r.Task, r.Measure = d.Name, d.LeftOut, d.Noted, d.Misfits, d.Task.Name, d.Task.Measure()
		if err := check(d, c.Budget); err != nil {
			return nil, err
		}
		r.Rounds = append(r.Rounds, Round{Seed: c.Seed + uint64(k), People: participants(d, numbers)})
		if err = c.runRound(ctx, d, r, drive); err == nil {
			r.All, err = c.workOutAll(ctx, d)
		}
		if ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())) {
			r.Seconds = time.Since(start).Seconds()
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
	r.Complete = true
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// virtual reports whether a method is simulated. A sum without noise, which nobody would
// open on a device, is only computed; and so is what nodes do not do that are rehearsed.
func (c *Config) virtual(t *learner.Task, m Method) bool {
	return c.Simulate || m == Together || c.Rehearse && (m == Open || m == Private && broadcasts(t))
}

// driver chooses what carries the messages.
func (c *Config) driver() (driver, string, error) {
	simulate := func(ctx context.Context, d *Dataset, seed uint64, m Method) (*Trial, error) {
		if m == Private || m == Together {
			return c.workOut(ctx, d, seed, m)
		}
		return c.simulate(ctx, d, seed, m)
	}
	if c.Simulate {
		return simulate, "simulated under virtual time", nil
	}
	if c.Dir == "" {
		return nil, "", errors.New("testnet: Config.Dir is required for real nodes")
	}
	real, name := c.network, "real nodes on this machine"
	if c.Daemons != nil {
		real, name = c.processes, c.Daemons.String()
	}
	return func(ctx context.Context, d *Dataset, seed uint64, m Method) (*Trial, error) {
		if !c.virtual(d.Task, m) {
			return real(ctx, d, seed, m)
		}
		t, err := simulate(ctx, d, seed, m)
		if t != nil {
			t.Expected, t.Delivered = 0, 0 // beside messages that can be lost they say nothing
		}
		return t, err
	}, name, nil
}

func (c *Config) report(p Progress) {
	if c.Progress != nil {
		c.Progress(p)
	}
}

// check finds out, before anything starts, whether these people can learn this task
// within this budget.
func check(d *Dataset, b privacy.Budget) error {
	if r := d.Task.Release; b.Epsilon > r.MaxEpsilon || b.Delta > r.MaxDelta {
		return fmt.Errorf("testnet: the task %s allows at most epsilon %g and delta %g", d.Task.Name, r.MaxEpsilon, r.MaxDelta)
	}
	if d.Task.Graph.Rule != "profile" {
		return nil
	}
	for i := range d.People {
		if len(d.People[i].Profile) != d.Task.Graph.Profile {
			return fmt.Errorf("testnet: the task %s joins people by public profiles of %d numbers, which %s does not have",
				d.Task.Name, d.Task.Graph.Profile, d.Name)
		}
	}
	return nil
}

// participants numbers people in order of first appearance over all seeds.
func participants(d *Dataset, numbers map[string]int) []Participant {
	list := make([]Participant, len(d.People))
	for i := range d.People {
		p := &d.People[i]
		if numbers[p.Name] == 0 {
			numbers[p.Name] = len(numbers) + 1
		}
		base := p.base(d.Task)
		list[i] = Participant{Number: numbers[p.Name], Train: p.TrainSize(), Test: len(p.testRecords()), Base: base.Error}
		if !math.IsNaN(base.LogLoss) {
			list[i].BaseLogLoss = base.LogLoss
		}
	}
	return list
}

// usual are the methods of the demonstration beside [Alone], in the order in which an
// interrupted run shows the most important ones.
var usual = []Method{Private, Together, Broadcast}

// runRound adds the trials of the last round, one seed.
func (c *Config) runRound(ctx context.Context, d *Dataset, r *Result, drive driver) error {
	round := &r.Rounds[len(r.Rounds)-1]
	c.report(Progress{Seed: round.Seed, Method: Alone, Nodes: len(d.People)})
	start := time.Now()
	alone := Trial{Method: Alone}
	alone.take(d, testScores(d, make([]learner.State, len(d.People))))
	alone.Seconds = time.Since(start).Seconds()
	round.Trials = append(round.Trials, alone)
	methods := c.Methods
	if methods == nil {
		methods = usual
	}
	for _, m := range methods {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.report(Progress{Seed: round.Seed, Method: m, Virtual: c.virtual(d.Task, m), Nodes: len(d.People)})
		t, err := drive(ctx, d, round.Seed, m)
		if err != nil {
			return fmt.Errorf("testnet: seed %d, %s: %w", round.Seed, m, err)
		}
		round.Trials = append(round.Trials, *t)
		if c.Measured != nil {
			c.Measured(r)
		}
	}
	return nil
}

// take keeps the scores of everyone's model.
func (t *Trial) take(d *Dataset, scores []learner.Score) {
	t.Errors, t.LogLosses, t.Majority = errorsOf(scores), nil, 0
	var area []float64
	for i, s := range scores {
		if s.SameClasses(d.People[i].base(d.Task)) {
			t.Majority++
		}
		if !math.IsNaN(s.LogLoss) {
			t.LogLosses = append(t.LogLosses, s.LogLoss)
		}
		if !math.IsNaN(s.AUC) {
			area = append(area, s.AUC)
		}
	}
	t.AUC = meanOrNil(area)
}

func meanOrNil(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	m := mean(values)
	return &m
}

func errorsOf(scores []learner.Score) []float64 {
	errs := make([]float64, len(scores))
	for i := range scores {
		errs[i] = scores[i].Error
	}
	return errs
}

// testScores fits each person's personal model to their records and to what they have
// heard, as their node does, and measures it on their test records. With nothing heard
// (an empty state) it is the tuned lone model.
func testScores(d *Dataset, states []learner.State) []learner.Score {
	scores := make([]learner.Score, len(d.People))
	_ = eachPerson(d, func(i int) error { // a fit never fails
		p := &d.People[i]
		theta := personalModel(d.Task, p.Records, states[i])
		scores[i] = d.Task.Score(theta, slices.Values(p.testRecords()))
		return nil
	})
	return scores
}

// eachPerson calls do for all people, several at once, and returns the first error.
func eachPerson(d *Dataset, do func(i int) error) error {
	var fits errgroup.Group
	fits.SetLimit(runtime.GOMAXPROCS(0))
	for i := range d.People {
		fits.Go(func() error { return do(i) })
	}
	return fits.Wait()
}

func personalModel(t *learner.Task, records []learner.Record, heard learner.State) []float64 {
	if len(heard.Heard) == 0 {
		return learner.FitPersonal(t, records, make([]float64, t.Dimension())).Alone
	}
	return learner.FitAmong(t, records, heard).Theta
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
