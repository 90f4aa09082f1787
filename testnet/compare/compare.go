package compare

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// Row is one line of a comparison.
type Row struct {
	Setting string  `json:"setting"`           // what was run
	Epsilon float64 `json:"epsilon,omitempty"` // of one record, over the whole run; 0: no guarantee, or none was computed
	Delta   float64 `json:"delta,omitempty"`
	Valid   string  `json:"valid"`   // "yes", or "no" and why the releases have not the guarantee, or "-": none is claimed
	Measure string  `json:"measure"` // what Mean and Spread are of
	Mean    float64 `json:"mean"`    // over the seeds
	// Spread is the standard deviation over the seeds; 0 with a single one.
	Spread    float64 `json:"spread"`
	Seeds     int     `json:"seeds"`     // how many there are so far
	Published string  `json:"published"` // the paper's number, or that of an earlier independent program; may be ""
}

// Options are what every comparison takes. The zero value is one seed, 0, at the
// small size.
type Options struct {
	Seed  uint64 // the first one: of data, noise and delays
	Seeds int    // 0 means 1
	Full  bool   // the papers' sizes in place of those that take seconds
	// Progress is called after each run, from any goroutine but never from two at
	// once; may be nil.
	Progress func(done, all int)
}

// trial is one setting. A run gives one number for each of its rows.
type trial struct {
	rows []Row // all but the numbers
	run  func(seed uint64) ([]float64, error)
}

// run runs every trial with every seed, two at once on two processors. The order
// of the runs changes nothing. When ctx ends it starts no more of them, and returns
// the rows that have a number already together with the reason.
func (o Options) run(ctx context.Context, trials []trial) ([]Row, error) {
	seeds := max(1, o.Seeds)
	values := make([][][]float64, len(trials)) // by trial and seed
	for i := range values {
		values[i] = make([][]float64, seeds)
	}
	var mu sync.Mutex
	done := 0
	var runs errgroup.Group
	runs.SetLimit(runtime.GOMAXPROCS(0))
	for k := range seeds {
		for i := range trials {
			runs.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				v, err := trials[i].run(o.Seed + uint64(k))
				if err != nil {
					return fmt.Errorf("compare: %s: %w", trials[i].rows[0].Setting, err)
				}
				values[i][k] = v
				mu.Lock()
				defer mu.Unlock()
				if done++; o.Progress != nil {
					o.Progress(done, seeds*len(trials))
				}
				return nil
			})
		}
	}
	err := runs.Wait()
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	return summary(trials, values), err
}

// summary fills in the numbers of the rows that have some.
func summary(trials []trial, values [][][]float64) []Row {
	var rows []Row
	for i, t := range trials {
		for j, row := range t.rows {
			var numbers []float64
			for _, v := range values[i] {
				if v != nil {
					numbers = append(numbers, v[j])
				}
			}
			if row.Seeds = len(numbers); row.Seeds == 0 {
				continue
			}
			row.Mean = stat.Mean(numbers, nil)
			if row.Seeds > 1 {
				row.Spread = stat.StdDev(numbers, nil)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// latency is the mean delay of a message, far below the deadline of a round.
const latency = time.Millisecond

// simulate runs the agents of a task on the given edges, each with its records and
// its policy, until they have nothing left to do.
func simulate(t *learner.Task, edges [][]learner.Edge, records [][]learner.Record, policies []privacy.Policy, seed uint64) (*sim.Result, error) {
	c := sim.Config{Task: t, Seed: seed, WakeMean: time.Second, Latency: latency, Until: 1000 * time.Hour}
	for i := range edges {
		c.Participants = append(c.Participants, sim.Participant{ID: sim.Name(i), Records: records[i], Edges: edges[i], Policy: policies[i]})
	}
	return sim.Run(c)
}

// rounds is simulate for learners that release in every round. It is an error if
// a round was incomplete or if the budget did not last.
func rounds(t *learner.Task, edges [][]learner.Edge, records [][]learner.Record, policies []privacy.Policy, seed uint64) (*sim.Result, error) {
	r, err := simulate(t, edges, records, policies, seed)
	if err != nil {
		return nil, err
	}
	for i, s := range r.States {
		if s.Round != uint64(t.Rounds.Count) || r.Releases[i] != t.Rounds.Count || s.Dropped > 0 {
			return nil, fmt.Errorf("agent %d made %d releases in %d of %d rounds, %d edges left out", i, r.Releases[i], s.Round, t.Rounds.Count, s.Dropped)
		}
	}
	return r, nil
}

// baseTask has what every task must have; records have p coordinates.
func baseTask(name, loss string, p int) *learner.Task {
	t := &learner.Task{
		Name: "compare", Learner: name, Loss: loss, Target: learner.Target{Name: "y"},
		Mu: 1, Clip: 1, ConfidenceAt: 1, Radius: 1000, CohortSize: 1 << 20,
		Graph: learner.Graph{Rule: "random", Degree: 10},
		Local: learner.Local{Eta: 1, Kappa: 1},
		Release: learner.Release{
			Epsilon: 1, Delta: 1e-5, Releases: 1, MaxEpsilon: 1000, MaxDelta: 0.1, MaxReleases: 1 << 16, WakeSeconds: 1, MinWake: 1,
		},
		Rounds: learner.Rounds{Seconds: 10},
	}
	for i := range p {
		t.Features = append(t.Features, learner.Feature{Name: fmt.Sprintf("x%d", i+1), Kind: "number", Min: -1, Max: 1})
	}
	return t
}

// trainingRecords numbers n records that none of them is held out.
func trainingRecords(n int, draw func() ([]float64, float64)) []learner.Record {
	records := make([]learner.Record, 0, n)
	for seq := learner.Seq(1); len(records) < n; seq++ {
		if !seq.HeldOut() {
			x, y := draw()
			records = append(records, learner.Record{Seq: seq, Cohort: 1, X: x, Y: y})
		}
	}
	return records
}

// same is a policy for each of n agents.
func same(p privacy.Policy, n int) []privacy.Policy { return slices.Repeat([]privacy.Policy{p}, n) }

// repeated is a policy of one mechanism for ever, without an account: for numbers
// about noise that no budget bounds.
func repeated(m privacy.Mechanism) privacy.Policy {
	return privacy.Policy{Schedule: privacy.NewSchedule(privacy.Step{Mechanism: m, Count: 1})}
}

// size is the papers' number with Full, else the small one.
func size[T cmp.Ordered](o Options, small, full T) T {
	if o.Full {
		return full
	}
	return small
}
