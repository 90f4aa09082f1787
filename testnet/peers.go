package testnet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/testnet/sim"
)

// PeersOptions say what [MeasurePeers] measures.
type PeersOptions struct {
	Nodes     []int   // sizes of the networks, each at least 2
	Degree    int     // k: how many nearest neighbours to find, > 0
	Groups    int     // of similar nodes, > 0
	Dimension int     // length of the vectors that are compared, > 0
	Spread    float64 // of a group around its centre, > 0; centres are spread by 1
	Loss      float64 // probability in [0, 1) that a message is lost, of the second run of each size
	Churn     float64 // share in [0, 1) of the nodes replaced at once
	Seed      uint64
	Progress  func(done, all int) // called at the start and after each run
}

// Validate returns an error that names the option that is out of range.
func (o *PeersOptions) Validate() error {
	switch {
	case len(o.Nodes) == 0 || slices.Min(o.Nodes) < 2 || slices.Max(o.Nodes) > 1_000_000:
		return errors.New("nodes: choose from 2 to 1000000")
	case o.Degree < 1 || o.Degree > 100:
		return fmt.Errorf("degree %d: choose from 1 to 100", o.Degree)
	case o.Groups < 1 || o.Dimension < 2:
		return fmt.Errorf("%d groups in %d dimensions: choose at least 1 in 2", o.Groups, o.Dimension)
	case !(o.Spread > 0):
		return fmt.Errorf("spread %g: choose above 0", o.Spread)
	case !(o.Loss >= 0 && o.Loss < 1) || !(o.Churn >= 0 && o.Churn < 1):
		return fmt.Errorf("loss %g, churn %g: choose shares from 0 to below 1", o.Loss, o.Churn)
	}
	return nil
}

// Search says how long nodes needed until they knew 95 % of their true nearest
// neighbours.
type Search struct {
	Cycles int     `json:"cycles"` // in each, every node begins one exchange; -1: not within the limit
	Bytes  float64 `json:"bytes"`  // sent per node meanwhile
}

// PeersRow is one run of [MeasurePeers].
type PeersRow struct {
	Nodes   int       `json:"nodes"`
	Loss    float64   `json:"loss"`
	Start   Search    `json:"start"` // from knowing three others at random
	Churned Search    `json:"churned"`
	Memory  float64   `json:"memory_bytes"` // per node, of the view
	Found   []float64 `json:"found"`        // share of the true nearest known after each cycle
	Seconds float64   `json:"seconds"`
}

// The measurement's constants.
const (
	enoughFound = 0.95
	mostCycles  = 300
	watched     = 200 // the most nodes whose true nearest neighbours are computed
	contacts    = 3   // that a node knows at the start
	// An entry takes this many bytes on the wire beside its vector: peer ID, signature,
	// two addresses, round, noise, age, and their framing.
	entryBytes = 160
)

// MeasurePeers measures how long the gossip of package graph takes to tell each of
// n nodes its k nearest, n being each of o.Nodes, without loss and with it, and
// again after a share of the nodes was replaced. When ctx ends it returns the rows
// so far and the context's error.
func MeasurePeers(ctx context.Context, o PeersOptions) ([]PeersRow, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("testnet: peers: %w", err)
	}
	losses := slices.Compact([]float64{0, o.Loss})
	progress := func(done int) {
		if o.Progress != nil {
			o.Progress(done, len(o.Nodes)*len(losses))
		}
	}
	progress(0)
	var rows []PeersRow
	for _, n := range o.Nodes {
		for _, loss := range losses {
			row, err := measurePeers(ctx, &o, n, loss)
			if err != nil {
				return rows, err
			}
			rows = append(rows, row)
			progress(len(rows))
		}
	}
	return rows, nil
}

func measurePeers(ctx context.Context, o *PeersOptions, n int, loss float64) (PeersRow, error) {
	began := time.Now()
	draw := drawVectors(o)
	ends := make([]graph.End, n)
	for i := range ends {
		ends[i].Vector, _ = draw()
	}
	before := heap()
	m := peersRun{o: o, swarm: sim.NewSwarm(o.rule(), graph.LimitsFor(o.Degree), ends, contacts, loss, o.Seed)}
	m.random = rand.New(rand.NewPCG(o.Seed, 21))
	row := PeersRow{Nodes: n, Loss: loss}
	var err error
	if row.Start, row.Found, err = m.search(ctx, n); err != nil {
		return row, err
	}
	row.Memory = float64(heap()-before) / float64(n)
	order := m.random.Perm(n)
	for _, i := range order[:int(o.Churn*float64(n))] {
		vector, _ := draw()
		m.swarm.Replace(i, graph.End{Vector: vector})
	}
	row.Churned, _, err = m.search(ctx, n)
	row.Seconds = time.Since(began).Seconds()
	return row, err
}

// rule compares the vectors by their angle.
func (o *PeersOptions) rule() learner.Graph {
	return learner.Graph{Rule: "profile", Degree: o.Degree, Gamma: 1, Profile: o.Dimension}
}

// drawVectors returns a source of vectors, each in a group around the group's centre.
func drawVectors(o *PeersOptions) func() (vector []float64, group int) {
	r := rand.New(rand.NewPCG(o.Seed, 20))
	centres := make([][]float64, o.Groups)
	for g := range centres {
		centres[g] = make([]float64, o.Dimension)
		for c := range centres[g] {
			centres[g][c] = r.NormFloat64()
		}
	}
	return func() ([]float64, int) {
		g := r.IntN(o.Groups)
		v := slices.Clone(centres[g])
		for c := range v {
			v[c] += o.Spread * r.NormFloat64()
		}
		return v, g
	}
}

// heap is the memory in use after garbage collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// peersRun is a swarm that is being watched.
type peersRun struct {
	o      *PeersOptions
	swarm  *sim.Swarm
	random *rand.Rand
}

// search lets the swarm go on until enough has been found.
func (m *peersRun) search(ctx context.Context, n int) (Search, []float64, error) {
	places := m.random.Perm(n)[:min(n, watched)]
	want := make([][]int, len(places))
	for k, i := range places {
		want[k] = m.swarm.Nearest(i, m.o.Degree)
	}
	sent, found := m.swarm.Sent(), []float64(nil)
	for cycle := 1; cycle <= mostCycles; cycle++ {
		if err := ctx.Err(); err != nil {
			return Search{}, found, err
		}
		m.swarm.Cycle()
		found = append(found, m.found(places, want))
		if found[cycle-1] >= enoughFound {
			entries := float64(m.swarm.Sent()-sent) / float64(n)
			return Search{cycle, entries * float64(entryBytes+8*m.o.Dimension)}, found, nil
		}
	}
	return Search{Cycles: -1}, found, nil
}

// found is the share of the true nearest that the watched nodes have among as many that
// they think nearest.
func (m *peersRun) found(places []int, want [][]int) float64 {
	hit, all := 0, 0
	for k, i := range places {
		got := m.swarm.Best(i, m.o.Degree)
		for _, j := range want[k] {
			all++
			if slices.Contains(got, j) {
				hit++
			}
		}
	}
	return float64(hit) / float64(max(1, all))
}
