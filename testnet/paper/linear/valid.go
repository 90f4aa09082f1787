package linear

import (
	"math"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// setting holds the public constants of a run through the product.
type setting struct {
	mu, clip   float64
	releases   int
	degree     int     // number of neighbours each person asks for
	gamma      float64 // of the kernel
	eta, kappa float64 // of the fit on the device
}

// apply writes the setting into a task.
func (s setting) apply(t *learner.Task) {
	t.Mu, t.Clip = s.mu, s.clip
	t.Local.Eta, t.Local.Kappa = s.eta, s.kappa
	t.Graph.Degree, t.Graph.Gamma = s.degree, s.gamma
	t.Release.Releases = s.releases
}

// run is the product on one problem: the agents of a task in the simulator, with the
// noise of the task's design.
type run struct {
	*problem
	task    *learner.Task
	records [][]learner.Record
}

// product applies the product to the problem, with the features of each record at unit
// l-norm.
func (d *problem) product(s setting, l float64) *run {
	r := &run{problem: d, task: task(d.p)}
	s.apply(r.task)
	for i := range d.people {
		r.records = append(r.records, d.people[i].train.records(byNorm(l)))
	}
	return r
}

// learn lets the agents make their releases and returns their states.
func (r *run) learn(design privacy.Design, seed uint64) ([]learner.State, error) {
	releases := r.task.Release.Releases
	design.Releases = releases
	policy, err := r.task.Design(design).Policy()
	if err != nil {
		return nil, err
	}
	profiles := make([][]float64, len(r.people))
	for i := range profiles {
		profiles[i] = r.people[i].target[:2]
	}
	edges := sim.ProfileGraph(profiles, min(r.task.Graph.Degree, len(r.people)-1), r.task.Graph.Gamma)
	c := sim.Config{Task: r.task, Seed: seed, WakeMean: time.Second, Until: time.Duration(100*releases) * time.Second}
	for i := range r.people {
		c.Participants = append(c.Participants, sim.Participant{
			ID: sim.Name(i), Records: r.records[i], Edges: edges[i], Policy: policy, Releases: releases,
		})
	}
	result, err := sim.Run(c)
	if err != nil {
		return nil, err
	}
	return result.States, nil
}

// finish returns the personal models of the first few people.
func (r *run) finish(states []learner.State, people int) [][]float64 {
	models := make([][]float64, people)
	for i := range models {
		models[i] = learner.FitAmong(r.task, r.records[i], states[i]).Theta
	}
	return models
}

// lone is the tuned model of a person without neighbours.
func (r *run) lone(people int) [][]float64 {
	models := make([][]float64, people)
	for i := range models {
		models[i] = learner.FitPersonal(r.task, r.records[i], make([]float64, r.p)).Alone
	}
	return models
}

// gaussian is the budget of the valid rows with the product's own noise.
func gaussian(epsilon float64) privacy.Design { return within(epsilon, delta) }

// strict is a delta small enough to mean something. The paper's is not: publishing each
// record with that probability would also be (0, delta).
const strict = 1e-6

func within(epsilon, delta float64) privacy.Design {
	return privacy.Design{Budget: privacy.Budget{Epsilon: epsilon, Delta: delta}}
}

// byTheorem1 is the noise of the paper, on gradients that really are as short in the l1
// norm as its proof needs. It is composed exactly, which needs a little less noise than
// theorem 1.
func byTheorem1(epsilon float64) privacy.Design {
	d := gaussian(epsilon)
	d.Noise, d.Accounting = privacy.Laplace, privacy.CommittedPlan
	return d
}

// localDP makes every record protect itself: its label is flipped with probability 1/(1
// + e^(eps/2)), and each of its features gets Laplace noise of scale 4p/eps, because
// the l1 distance of two records in [-1, 1]^p is up to 2p. So each record is
// eps-differentially private before anybody learns from it.
func (d *problem) localDP(epsilon float64) *problem {
	hidden := *d
	hidden.people = append([]person(nil), d.people...)
	for i := range hidden.people {
		random := seeded(d.seed, i, 13)
		clear := hidden.people[i].train
		var train examples
		for k, x := range clear.x {
			noisy := make([]float64, len(x))
			for j := range noisy {
				noisy[j] = laplace(random, 4*float64(d.p)/epsilon)
			}
			floats.Add(noisy, x)
			y := clear.y[k]
			if random.Float64() < 1/(1+math.Exp(epsilon/2)) {
				y = -y
			}
			train.add(noisy, y)
		}
		hidden.people[i].train = train
	}
	return &hidden
}
