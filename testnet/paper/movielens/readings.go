package movielens

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"p2pnode/testnet/paper"
)

// readAgain computes a reading of the paper: the error of the local models, and the
// error after each number of updates, without noise and at each epsilon.
func (e *experiment) readAgain(ctx context.Context, r reading, i int) (paper.Numbers, error) {
	b := newBellet(e.data, &e.splits[i], e.seeds[i], r)
	local := make([]float64, len(b.agents))
	for j := range b.agents {
		local[j] = b.agents[j].error(b.agents[j].local())
	}
	n := paper.Numbers{"local": {stat.Mean(local, nil)}, "norm": {b.norm}}
	for j, eps := range append([]float64{0}, epsilons...) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		noise := rand.New(rand.NewPCG(e.seeds[i], uint64(10+j)))
		for _, errs := range b.descend(eps, noise) {
			n[level(eps)] = append(n[level(eps)], stat.Mean(errs, nil))
		}
	}
	return n, nil
}

// level is the name of the numbers at an epsilon; 0 is without noise.
func level(eps float64) string { return fmt.Sprintf("eps=%g", eps) }

// outcome is the result of a reading over the finished splits: the error in each, and
// the smallest and the largest number of updates that was best.
type outcome struct {
	errs         []float64
	fewest, most int
}

// read collects a reading's errors at a level.
func (e *experiment) read(r reading, eps float64, done paper.Done) outcome {
	var o outcome
	for i := range e.seeds {
		n, ok := done[e.readingKey(r, i)]
		if !ok {
			continue
		}
		best := floats.MinIdx(n[level(eps)])
		updates := r.tried(eps)[best]
		if o.errs == nil {
			o.fewest = updates
		}
		o.fewest, o.most = min(o.fewest, updates), max(o.most, updates)
		o.errs = append(o.errs, n[level(eps)][best])
	}
	return o
}

// readingRows are the rows of a reading.
func (e *experiment) readingRows(r reading, done paper.Done) ([]paper.Row, error) {
	var local []float64
	var norm float64
	for i := range e.seeds {
		if n, ok := done[e.readingKey(r, i)]; ok {
			local = append(local, n["local"][0])
			norm = max(norm, n["norm"][0])
		}
	}
	if local == nil {
		return nil, nil
	}
	rows := []paper.Row{row("paper, "+r.name+": alone", guarantee{}, local, published.local)}
	for _, eps := range append([]float64{0}, epsilons...) {
		o := e.read(r, eps, done)
		line := row("paper, "+r.name+": together", guarantee{eps, paperDelta}, o.errs, published.together[eps])
		line.Note = fmt.Sprintf("%s updates each, the best on the test ratings", o.updates())
		if eps > 0 {
			t, err := e.leak(r, norm, eps, o.fewest)
			if err != nil {
				return nil, err
			}
			line.TrueEps = paper.Number(t.median)
			if t.least < t.most {
				line.Note += fmt.Sprintf("; the true epsilon is that of the median person, it goes from %s to %s", paper.Short(t.least), paper.Short(t.most))
			}
		}
		rows = append(rows, line)
	}
	return rows, nil
}

// updates is the number of updates as text.
func (o outcome) updates() string {
	if o.fewest == o.most {
		return fmt.Sprint(o.most)
	}
	return fmt.Sprintf("%d to %d", o.fewest, o.most)
}

// published is Table 1 of Bellet et al. 2018; epsilon 0 is without privacy.
var published = struct {
	local    float64
	together map[float64]float64
}{1.2834, map[float64]float64{0: 0.9502, 1: 0.9527, 0.5: 0.9545, 0.1: 0.9855}}

const source = "Bellet et al. 2018, Table 1"

// row returns a row without the validity of its guarantee; a published number of 0
// means that there is none.
func row(setting string, g guarantee, errs []float64, published float64) paper.Row {
	r := paper.Row{
		Setting: setting, Seeds: len(errs), Measure: "RMSE, mean over people",
		Error: paper.Number(stat.Mean(errs, nil)),
	}
	if g.epsilon > 0 {
		r.Epsilon, r.Delta = paper.Number(g.epsilon), paper.Number(g.delta)
	}
	if len(errs) > 1 {
		r.Spread = paper.Number(stat.StdDev(errs, nil))
	}
	if published > 0 {
		r.Published, r.Source = paper.Number(published), source
	}
	return r
}
