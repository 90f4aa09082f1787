package testnet

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// GraphOptions say what [MeasureGraph] measures.
type GraphOptions struct {
	Nodes  int            // people in a network, at least 40
	Seeds  int            // networks of each kind, from Seed up
	Seed   uint64         // the first
	Budget privacy.Budget // of every record
	// Progress is called after each run, from any goroutine but never from two at
	// once; may be nil.
	Progress func(done, all int)
}

// Validate checks the options.
func (o GraphOptions) Validate() error {
	if o.Nodes < 40 || o.Nodes > 100_000 || o.Seeds < 1 {
		return fmt.Errorf("testnet: %d nodes and %d seeds: choose 40 to 100000 nodes and at least one seed", o.Nodes, o.Seeds)
	}
	return o.Budget.Validate()
}

// GraphResult is what [MeasureGraph] found.
type GraphResult struct {
	Options  GraphOptions
	Rows     []GraphRow   // what learning over each graph gives
	Points   []GraphPoint // how the share depends on the budget, the records, the size
	Complete bool         // false after an interruption
}

// GraphRow is learning over one kind of graph, over all seeds that were run.
type GraphRow struct {
	Groups   int     `json:"groups"`
	Graph    string  `json:"graph"`    // "alone", "random", "oracle" or "released"
	Share    float64 `json:"share"`    // of the edges that join people of one group; mean over the seeds
	Least    float64 `json:"least"`    // the smallest share of any seed
	Weighted float64 `json:"weighted"` // the share by weight
	Degree   float64 `json:"degree"`   // mean edges of a node
	Error    float64 `json:"error"`    // mean error share of the personal models
	// Margin is how much smaller Error is than over the random graph, with its 95%
	// interval (paired bootstrap over people, seeds pooled).
	Margin [3]float64 `json:"margin"` // mean, low, high
	Seeds  int        `json:"seeds"`
	// Verdict says whether this graph is worth it beside the random one; "" of that
	// itself and of learning alone.
	Verdict string `json:"verdict"`
}

// The kinds of graphs in the order of the table. The last one is discovered.
var graphKinds = []string{"alone", "random", "oracle", "released"}

// graphGroups are the numbers of hidden groups.
var graphGroups = []int{2, 10}

// MeasureGraph lets people in hidden groups find each other by what they release,
// in the simulator, and learn over what they found; and over a random graph, over
// one that knows the groups, and alone. Then it follows the share of edges within
// groups over budgets, records and sizes of the network, see [GraphPoint]. When ctx
// ends, it returns what there is, with Complete unset, and the reason.
func MeasureGraph(ctx context.Context, o GraphOptions) (*GraphResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	networks := make([]population, 0, len(graphGroups)*o.Seeds)
	for _, groups := range graphGroups {
		for k := range o.Seeds {
			networks = append(networks, population{groups: groups, seed: o.Seed + uint64(k)})
		}
	}
	sweeps := o.sweeps()
	var jobs []func() error
	for i := range networks {
		jobs = append(jobs, func() error { return networks[i].learn(ctx, o) })
	}
	for i := range sweeps {
		jobs = append(jobs, func() error { return sweeps[i].measure(o) })
	}
	err := o.runAll(ctx, jobs)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	return &GraphResult{Options: o, Rows: graphRows(networks), Points: graphPoints(sweeps), Complete: err == nil}, err
}

// runAll runs the jobs, as many at once as there are processors.
func (o GraphOptions) runAll(ctx context.Context, jobs []func() error) error {
	var mu sync.Mutex
	done := 0
	if o.Progress != nil {
		o.Progress(0, len(jobs))
	}
	var runs errgroup.Group
	runs.SetLimit(runtime.GOMAXPROCS(0))
	for _, job := range jobs {
		runs.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := job(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if done++; o.Progress != nil {
				o.Progress(done, len(jobs))
			}
			return nil
		})
	}
	return runs.Wait()
}

// population is one network of people, who learn over each kind of graph.
type population struct {
	groups int
	seed   uint64
	trials []graphTrial // in the order of graphKinds; shorter after an interruption
}

// graphTrial is one kind of graph in one network.
type graphTrial struct {
	share  graphShare
	errors []float64 // of each person
}

func (w *population) learn(ctx context.Context, o GraphOptions) error {
	d, err := Clusters(w.seed, o.Nodes, w.groups, 0)
	if err != nil {
		return err
	}
	var trials []graphTrial
	for _, kind := range graphKinds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t, err := learnOver(d, kind, w.groups, w.seed, o.Budget)
		if err != nil {
			return fmt.Errorf("testnet: %d groups, seed %d, %s graph: %w", w.groups, w.seed, kind, err)
		}
		trials = append(trials, t)
	}
	w.trials = trials
	return nil
}

// learnOver lets everybody learn over a graph of the kind.
func learnOver(d *Dataset, kind string, groups int, seed uint64, b privacy.Budget) (graphTrial, error) {
	if kind == "alone" {
		return graphTrial{errors: errorsOf(testScores(d, make([]learner.State, len(d.People))))}, nil
	}
	r, err := runOver(d, kind, groups, seed, b)
	if err != nil {
		return graphTrial{}, err
	}
	return graphTrial{share: shareWithin(r.Edges, d), errors: errorsOf(testScores(d, r.States))}, nil
}

// runOver simulates the people of [Clusters] over a graph of the kind.
func runOver(d *Dataset, kind string, groups int, seed uint64, b privacy.Budget) (*sim.Result, error) {
	participants, err := simulated(d, seed, b, Broadcast)
	if err != nil {
		return nil, err
	}
	s := sim.Config{
		Task: d.Task, Participants: participants, Seed: seed, WakeMean: simWake, Latency: simLatency,
		Until: 100 * time.Duration(d.Task.Release.Releases) * simWake,
	}
	switch kind {
	case "random":
		setEdges(participants, sim.RandomGraph(len(participants), knownDegree(d.Task), seed))
	case "oracle":
		setEdges(participants, within(len(participants), groups, knownDegree(d.Task), seed))
	default:
		discover(&s)
	}
	return sim.Run(s)
}

// knownDegree is the degree of the graphs that are not discovered: nodes accept
// edges beyond those they ask for, and end up with about this many.
func knownDegree(t *learner.Task) int { return t.Graph.Degree * 3 / 2 }

func setEdges(participants []sim.Participant, edges [][]learner.Edge) {
	for i := range participants {
		participants[i].Edges = edges[i]
	}
}

// within returns random graphs inside the groups of [Clusters].
func within(n, groups, degree int, seed uint64) [][]learner.Edge {
	all := make([][]learner.Edge, n)
	for g := range groups {
		members := (n - g + groups - 1) / groups
		inside := sim.RandomGraph(members, degree, seed+uint64(g)<<32)
		for k, edges := range inside {
			for _, e := range edges {
				e.Peer = sim.Name(g + groups*sim.Number(e.Peer))
				all[g+groups*k] = append(all[g+groups*k], e)
			}
		}
	}
	return all
}

// graphShare is what of a graph joins people of one group.
type graphShare struct{ edges, weight, degree float64 }

func shareWithin(edges [][]learner.Edge, d *Dataset) graphShare {
	var same, all, sameWeight, allWeight float64
	for i := range edges {
		for _, e := range edges[i] {
			all++
			allWeight += e.Weight
			if d.People[i].Group == d.People[sim.Number(e.Peer)].Group {
				same++
				sameWeight += e.Weight
			}
		}
	}
	if all == 0 {
		return graphShare{}
	}
	return graphShare{same / all, sameWeight / allWeight, all / float64(len(edges))}
}

// graphRows sums the networks up.
func graphRows(networks []population) []GraphRow {
	var rows []GraphRow
	for _, groups := range graphGroups {
		for k, kind := range graphKinds {
			row := GraphRow{Groups: groups, Graph: kind, Least: 1}
			var pairs []Pair
			for _, w := range networks {
				if w.groups != groups || w.trials == nil {
					continue
				}
				t, random := w.trials[k], w.trials[slices.Index(graphKinds, "random")]
				row.Seeds++
				row.Share += t.share.edges
				row.Least = min(row.Least, t.share.edges)
				row.Weighted += t.share.weight
				row.Degree += t.share.degree
				row.Error += mean(t.errors)
				for i := range t.errors {
					pairs = append(pairs, Pair{Person: i, Alone: random.errors[i], With: t.errors[i]})
				}
			}
			if row.Seeds == 0 {
				continue
			}
			n := float64(row.Seeds)
			row.Share, row.Weighted, row.Degree, row.Error = row.Share/n, row.Weighted/n, row.Degree/n, row.Error/n
			margin := Bootstrap(pairs, resamples, 1)
			row.Margin = [3]float64{margin.Mean, margin.Low, margin.High}
			if kind != "alone" && kind != "random" {
				row.Verdict = Judge(Evidence{Pairs: pairs, Seed: 1}).String()
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// endsOf are the ends that the states of a simulation show; blind ones know nothing
// of the noise.
func endsOf(states []learner.State, blind bool) []graph.End {
	ends := make([]graph.End, len(states))
	for i, s := range states {
		if e := s.Estimate; e != nil {
			ends[i] = graph.End{Round: e.Round, Vector: e.Vector, Std: e.Std}
			if blind {
				ends[i].Std = 0
			}
		}
	}
	return ends
}
