package linear

import (
	"gonum.org/v1/gonum/stat"

	"p2pnode/testnet/paper"
	"p2pnode/testnet/sim"
)

// Constants of figure 1.
const (
	figure1Mu  = 2.0
	figure1Rho = 0.1 // the best of .03, .1, .3 and 1 on the problem of seed 1001
)

// point is how far a run of figure 1 is.
type point struct{ iterations, vectors, broadcasts float64 }

// trace collects a curve of figure 1.
type trace struct {
	judge   *joint // the objective Q
	floor   float64
	name    string
	numbers paper.Numbers
	err     error
}

// see adds a point.
func (t *trace) see(p point, models [][]float64) {
	q, err := t.judge.objective(models)
	if err != nil {
		t.err = err
	}
	for name, v := range map[string]float64{
		"iterations": p.iterations, "vectors": p.vectors, "broadcasts": p.broadcasts,
		"gap": q - t.floor, "accuracy": stat.Mean(t.judge.accuracies(models), nil),
	} {
		t.numbers[t.name+" "+name] = append(t.numbers[t.name+" "+name], v)
	}
}

// The curves of figure 1.
const (
	byPaper  = "cd"        // the paper's step, from each person's own spectral norm, in the plain loop
	byAgents = "cd agents" // the product's agents with the largest spectral norm of all people
	byPublic = "cd public" // the product's agents with the bound that the ranges of the features give
	byADMM   = "admm"
)

// figure1 lets coordinate descent and ADMM minimise Q from theta_loc.
func figure1(seed uint64, n, p, rounds int) (paper.Numbers, error) {
	d := draw(seed, n, p)
	judge := d.pose(figure1Mu, d.unit(false))
	best, err := judge.minimiser()
	if err != nil {
		return nil, err
	}
	t := trace{judge: judge, numbers: paper.Numbers{}}
	if t.floor, err = judge.objective(best); err != nil {
		return nil, err
	}
	start := d.alone()
	t.name = byPaper
	t.descend(start, rounds, seed)
	for _, public := range []bool{false, true} {
		if t.name = byAgents; public {
			t.name = byPublic
		}
		t.see(point{0, d.degree(), float64(n)}, start)
		if _, err := d.pose(figure1Mu, d.unit(public)).descend(start, rounds, seed, t.see); err != nil {
			return nil, err
		}
	}
	t.name = byADMM
	if err := t.admm(start, rounds, seed); err != nil {
		return nil, err
	}
	return t.numbers, t.err
}

// descend is the plain loop.
func (t *trace) descend(start [][]float64, rounds int, seed uint64) {
	d := t.judge.problem
	n := len(d.people)
	p := point{0, d.degree(), float64(n)}
	t.see(p, start)
	r := reading{mu: figure1Mu, start: start}
	r.observed = func(agent int, models [][]float64) {
		p.iterations++
		p.broadcasts++
		p.vectors += float64(len(d.edges[agent]))
		if int(p.iterations)%(n/4) == 0 {
			t.see(p, models)
		}
	}
	r.descend(d, rounds, seed)
}

func (t *trace) admm(start [][]float64, rounds int, seed uint64) error {
	d := t.judge.problem
	t.see(point{0, d.degree(), d.degree()}, start)
	c := sim.ADMM{
		Task: t.judge.task, Records: t.judge.records, Edges: d.edges, Start: scaled(start, t.judge.unit),
		Rho: figure1Rho, Activations: rounds * len(d.people), Seed: seed, Every: len(d.people) / 4,
	}
	iterations := 0.0
	c.Sample = func(vectors int, models [][]float64) {
		iterations += float64(c.Every)
		// An exchange is sent to one peer alone, so none of it is a broadcast.
		t.see(point{iterations, float64(vectors), float64(vectors)}, scaled(models, 1/t.judge.unit))
	}
	_, err := c.Run()
	return err
}
