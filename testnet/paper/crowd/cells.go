package crowd

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/sim"
)

// way is a way to learn together over the graph.
type way struct {
	key, name string
	private   bool
	mu        float64
}

// The constants below were chosen on the seed 1001 with 20,000 people, which no report
// uses, without spending budget.
var (
	free   = way{key: "without privacy", name: "together, not private", mu: 0.1}
	budget = way{key: "within a budget", name: "together, within the budget", private: true, mu: 0.01}
)

const (
	epsilon  = 1.0
	delta    = 1e-6
	releases = 64 // that share the budget
	// contraction makes each release of the budget a little less noisy than the one
	// before: the neighbours have no time left to average out the noise of the last.
	contraction = 0.95
	kappa       = 100  // the shared models are that much too short
	loneEta     = 0.25 // the pull of the lone models toward zero
)

// times are the wakes of each person, in the mean, at which models are measured.
var times = []int{1, 2, 5, 10, 20, 40, 60, 80}

// Names of what cells have measured. Errors are everybody's, at the end.
const (
	wakes  = "wakes"  // of each person, at each time
	shared = "shared" // mean error of the shared models, at each time
	silent = "silent" // mean error of the silent fits, at each time
	model  = "error of shared models"
	fit    = "error of silent fits"
	fresh  = "error of newcomers"
	setUp  = "seconds to set up"
	ran    = "seconds of wakes"
	used   = "processor seconds of wakes"
	made   = "number of wakes"
	memory = "bytes at the peak"
)

// The keys of cells begin with these, or with that of a way.
const (
	aloneKey = "alone"
	sumKey   = "private sum"
)

// cell is the key of a cell of the problem.
func (d problem) cell(key string) string {
	return fmt.Sprintf("%s, n %d, seed %d", key, d.people, d.seed)
}

// cells are the cells of the experiment. Those with the whole crowd in memory run by
// themselves.
func (s sizes) cells() []paper.Cell {
	var list []paper.Cell
	n := float64(s.people)
	add := func(key string, cost float64, solo bool, run func(ctx context.Context) (paper.Numbers, error)) {
		list = append(list, paper.Cell{Key: key, Cost: cost, Solo: solo, Run: run})
	}
	for _, seed := range s.seeds {
		d := problem{seed, s.people}
		add(d.cell(aloneKey), 2e-3*float64(s.sample), false, func(ctx context.Context) (paper.Numbers, error) {
			errors, err := measure(ctx, s.sample, func(i int) (float64, error) {
				return d.error(i, learner.FitPersonal(loneTask(), d.recordsOf(i), make([]float64, features)).Alone), nil
			})
			return paper.Numbers{fit: errors}, err
		})
		add(d.cell(free.key), 7e-4*n, true, func(ctx context.Context) (paper.Numbers, error) { return s.together(ctx, d, free) })
		add(d.cell(budget.key), 12e-4*n, true, func(ctx context.Context) (paper.Numbers, error) { return s.together(ctx, d, budget) })
		add(d.cell(sumKey), 1e-4*n, true, func(ctx context.Context) (paper.Numbers, error) { return s.bySum(ctx, d) })
	}
	return list
}

// measure calls of for each of the first people of the sample, on all processors.
func measure(ctx context.Context, people int, of func(i int) (float64, error)) ([]float64, error) {
	out := make([]float64, people)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range out {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var err error
			out[i], err = of(i)
			return err
		})
	}
	return out, group.Wait()
}

func loneTask() *learner.Task {
	t := task()
	t.Local.Eta = loneEta
	return t
}

// task is that of a way.
func (w *way) task() *learner.Task {
	t := loneTask()
	t.Mu, t.Lambda, t.Local.Kappa, t.Release.Releases = w.mu, 0.001, kappa, releases
	return t
}

// policy is the noise of a way, and its budget.
func (w *way) policy(t *learner.Task) (privacy.Policy, error) {
	d := privacy.Design{Noise: privacy.Unprotected}
	if w.private {
		d = privacy.Design{
			Budget: privacy.Budget{Epsilon: epsilon, Delta: delta}, Releases: releases,
			Pace: privacy.Growing, Contraction: contraction,
		}
	}
	return t.Design(d).Policy()
}

// start makes the agents, in as little memory as they need. Nobody is switched off, so
// nobody asks for the records a second time: their list, though not their features, is given
// up, and so is what else was needed on the way, before the agents need more.
func (d problem) start(w way) (*sim.Running, error) {
	t := w.task()
	policy, err := w.policy(t)
	if err != nil {
		return nil, err
	}
	list := make([]sim.Participant, d.people)
	for i, edges := range d.graph() {
		list[i] = sim.Participant{ID: sim.Name(i), Edges: edges, Policy: policy}
		if w.private {
			list[i].Releases = releases
		}
	}
	debug.FreeOSMemory()
	sim.LayRecords(list, records, features, d.fill)
	running, err := sim.Start(sim.Config{
		Task: t, Participants: list, Seed: d.seed, WakeMean: time.Second, Latency: 100 * time.Millisecond, Until: time.Hour,
	})
	for i := range list {
		list[i].Records = nil
	}
	debug.FreeOSMemory()
	return running, err
}

// together lets the crowd learn and measures the sample at each time. The silent fits come
// after the simulation, when its memory is free: until then what each person has heard is
// kept.
func (s sizes) together(ctx context.Context, d problem, w way) (paper.Numbers, error) {
	debug.FreeOSMemory() // of the crowd before
	out := paper.Numbers{}
	priors, err := s.advance(ctx, d, w, out)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory()
	t := w.task()
	for k, prior := range priors {
		people := s.onTheWay()
		if k == len(priors)-1 {
			people = s.sample
		}
		out[fit], err = measure(ctx, people, func(i int) (float64, error) {
			return d.error(i, learner.FitPersonal(t, d.recordsOf(i), prior[i]).Theta), nil
		})
		if err != nil {
			return nil, err
		}
		out[silent] = append(out[silent], stat.Mean(out[fit], nil))
	}
	return out, nil
}

// onTheWay is how many people's silent fits are measured before the end.
func (s sizes) onTheWay() int { return max(s.sample/8, min(s.sample, 50)) }

// garbage is how much of it, in percent of the memory in use, may wait to be collected
// while a crowd is there; while it is made, ten times that.
const garbage = 2

// advance runs the simulation and returns the point around which each person of the sample
// would fit, at each time.
func (s sizes) advance(ctx context.Context, d problem, w way, out paper.Numbers) (priors [][][]float64, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(10 * garbage))
	began := time.Now()
	running, err := d.start(w)
	if err != nil {
		return nil, err
	}
	out[setUp] = []float64{time.Since(began).Seconds()}
	debug.SetGCPercent(garbage)
	var spent stopwatch
	for _, at := range times {
		if err := spent.advance(ctx, running, at); err != nil {
			return nil, err
		}
		prior, err := s.look(ctx, d, w, running, out)
		if err != nil {
			return nil, err
		}
		priors = append(priors, prior)
		out[wakes], out[shared] = append(out[wakes], float64(at)), append(out[shared], stat.Mean(out[model], nil))
	}
	out[made], out[memory] = []float64{float64(running.Wakes())}, []float64{testnet.PeakMemory()}
	out[ran], out[used] = []float64{spent.clock.Seconds()}, []float64{spent.processor.Seconds()}
	return priors, nil
}

// look measures the shared models of the sample, and returns the point around which each
// person would fit. It looks at some people at a time, whose states take little memory.
func (s sizes) look(ctx context.Context, d problem, w way, running *sim.Running, out paper.Numbers) (prior [][]float64, err error) {
	t, errors := w.task(), []float64(nil)
	prior = make([][]float64, s.sample)
	for from := 0; from < s.sample; from += atATime {
		states := make([]learner.State, min(atATime, s.sample-from))
		for i := range states {
			if states[i], err = running.State(from + i); err != nil {
				return nil, err
			}
		}
		some, err := measure(ctx, len(states), func(i int) (float64, error) {
			prior[from+i], _ = learner.PriorFor(t, learner.RowsOf(d.recordsOf(from+i)), states[i])
			return d.error(from+i, states[i].Model), nil
		})
		if err != nil {
			return nil, err
		}
		errors = append(errors, some...)
	}
	out[model] = errors
	return prior, nil
}

const atATime = 1000

// stopwatch adds up the time of the wakes.
type stopwatch struct {
	clock, processor time.Duration
	now              time.Duration // virtual
}

// advance goes on to so many wakes of each person, in small steps, so that an interruption
// is noticed.
func (w *stopwatch) advance(ctx context.Context, r *sim.Running, at int) error {
	began, processor := time.Now(), testnet.ProcessorTime()
	for until := time.Duration(at) * time.Second; w.now < until; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.now += 50 * time.Millisecond
		if err := r.Advance(w.now); err != nil {
			return err
		}
	}
	w.clock += time.Since(began)
	w.processor += testnet.ProcessorTime() - processor
	return nil
}

// bySum lets everyone add to a private sum of second moments, which needs no graph, with
// the noise of a committee of four of whom one may collude.
func (s sizes) bySum(ctx context.Context, d problem) (paper.Numbers, error) {
	debug.FreeOSMemory()
	began := time.Now()
	sum := testnet.PrivateSum{
		Task: loneTask(), Recipes: []learner.Recipe{{Kind: "moments", Share: 1}},
		Budget: privacy.Budget{Epsilon: epsilon, Delta: delta}, Seed: d.seed,
	}
	summed, err := sum.LearnMany(d.people, d.recordsOf, s.sample)
	if err != nil {
		return nil, err
	}
	out := paper.Numbers{ran: {time.Since(began).Seconds()}, memory: {testnet.PeakMemory()}}
	for name, known := range map[string]func(i int) (*learner.Known, error){
		fit: summed.Known, fresh: summed.Newcomer,
	} {
		out[name], err = measure(ctx, s.sample, func(i int) (float64, error) {
			k, err := known(i)
			if err != nil {
				return 0, err
			}
			return d.error(i, learner.FitKnowing(sum.Task, d.recordsOf(i), make([]float64, features), k).Theta), nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
