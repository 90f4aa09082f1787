package attack

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/sim"
)

// classroom is one seed of a lesson.
type classroom struct {
	data  *testnet.Dataset
	seed  uint64
	edges [][]learner.Edge
	open  bool
	alone []float64 // errors of everyone's lone model
	plain []float64 // errors of their personal models, without liars
}

func (l *lesson) classroom(seed uint64) (*classroom, error) {
	d, err := testnet.LinearFor(l.task(), seed, l.people)
	if err != nil {
		return nil, err
	}
	profiles := make([][]float64, len(d.People))
	for i := range d.People {
		profiles[i] = d.People[i].Profile
	}
	n := &classroom{data: d, seed: seed, open: l.open, edges: sim.ProfileGraph(profiles, d.Task.Graph.Degree, d.Task.Graph.Gamma)}
	n.alone = n.errors(func(i int) []float64 {
		return learner.FitPersonal(d.Task, d.People[i].Records, make([]float64, d.Task.Dimension())).Alone
	})
	states, err := n.learn(nil, 0)
	if err != nil {
		return nil, err
	}
	n.plain = n.fitted(states)
	return n, nil
}

// errors measures everyone's model on that person's test records.
func (n *classroom) errors(model func(i int) []float64) []float64 {
	list := make([]float64, len(n.data.People))
	var fits errgroup.Group
	fits.SetLimit(runtime.GOMAXPROCS(0))
	for i := range list {
		fits.Go(func() error {
			list[i] = n.data.Task.Score(model(i), slices.Values(n.data.People[i].Test)).Error
			return nil
		})
	}
	_ = fits.Wait() // a fit never fails
	return list
}

// fitted measures everyone's personal model.
func (n *classroom) fitted(states []learner.State) []float64 {
	return n.errors(func(i int) []float64 {
		return learner.FitAmong(n.data.Task, n.data.People[i].Records, states[i]).Theta
	})
}

// liars draws the people who lie.
func (n *classroom) liars(share float64) map[int]bool {
	r := rand.New(rand.NewPCG(n.seed, 55))
	who := map[int]bool{}
	for _, i := range r.Perm(len(n.data.People))[:int(math.Round(share*float64(len(n.data.People))))] {
		who[i] = true
	}
	return who
}

// learn lets everyone learn, and returns the states at the end. If kind is nil, nobody
// lies.
func (n *classroom) learn(kind *kindOfLie, share float64) ([]learner.State, error) {
	t := n.data.Task
	design := privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: t.Release.Releases}
	if n.open {
		design.Noise = privacy.Unprotected
	}
	policy, err := t.Design(design).Policy()
	if err != nil {
		return nil, err
	}
	c := sim.Config{
		Task: t, Seed: n.seed, WakeMean: time.Second, Latency: 5 * time.Millisecond,
		Until: time.Duration(100*t.Release.Releases) * time.Second,
	}
	for i := range n.data.People {
		records := slices.Clone(n.data.People[i].Records)
		for k := range records {
			records[k].Cohort = 1
		}
		c.Participants = append(c.Participants, sim.Participant{
			ID: sim.Name(i), Records: records, Edges: n.edges[i], Policy: policy, Releases: t.Release.Releases,
		})
	}
	if kind != nil {
		n.lie(&c, *kind, share)
	}
	r, err := sim.Run(c)
	if err != nil {
		return nil, err
	}
	return r.States, nil
}

// lie makes a share of the people lie. Liars hear everything.
func (n *classroom) lie(c *sim.Config, kind kindOfLie, share float64) {
	r := rand.New(rand.NewPCG(n.seed, 56))
	p := &plot{said: make([][]float64, len(c.Participants)), aim: make([]float64, c.Task.Dimension()), lie: share}
	for i := range p.aim {
		p.aim[i] = r.NormFloat64()
	}
	floats.Scale(1/floats.Norm(p.aim, 2), p.aim)
	liars := n.liars(share)
	c.Wrap = func(i int, a learner.Agent) learner.Agent {
		if liars[i] {
			l := &liar{kind: kind, plot: p, radius: c.Task.Radius, chance: rand.New(rand.NewPCG(n.seed, uint64(i)))}
			return sim.Through(a, l.changed)
		}
		return sim.Through(a, func(out learner.Output) learner.Output { return p.hear(i, out) })
	}
}
