package learner

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Q is the joint objective of Bellet et al. 2018, eq. 2, without clipping and noise,
//
//	Q(T) = 1/2 sum_{i<j} W_ij ||T_i - T_j||^2 + mu sum_i D_i c_i L_i(T_i),
//
// with L_i the mean loss on agent i's training records plus lambda_i ||T_i||^2 (eq. 1).
// models has a row per agent, weights is symmetric with a zero diagonal; held-out
// records do not count. What has not these shapes, and weights and records that are not of
// finite numbers, are an error. It is for evaluation and tests: no agent could compute it.
func Q(t *Task, records [][]Record, weights [][]float64, models [][]float64) (float64, error) {
	q, err := newJoint(t, records, weights)
	if err != nil {
		return 0, err
	}
	if len(models) != q.n {
		return 0, fmt.Errorf("learner: %d models for %d agents", len(models), q.n)
	}
	flat := make([]float64, 0, q.n*q.p)
	for i, m := range models {
		if len(m) != q.p {
			return 0, fmt.Errorf("learner: model %d has %d parameters, the task has %d", i, len(m), q.p)
		}
		flat = append(flat, m...)
	}
	return q.value(flat), nil
}

// MinimiseQ returns the minimiser of [Q], a row per agent, computed directly by
// Newton's method with conjugate gradients: what the agents converge to when
// nothing is clipped and no noise is added.
func MinimiseQ(t *Task, records [][]Record, weights [][]float64) ([][]float64, error) {
	q, err := newJoint(t, records, weights)
	if err != nil {
		return nil, err
	}
	flat := q.minimise()
	models := make([][]float64, q.n)
	for i := range models {
		models[i] = q.block(flat, i)
	}
	return models, nil
}

// joint is Q with its constants computed once.
type joint struct {
	n, p    int
	mu      float64
	loss    loss
	weights [][]float64
	agents  []jointAgent

	z, slope, curvature []float64 // of one record, working memory
}

type jointAgent struct {
	records                    []Record // training only
	degree, confidence, lambda float64
	step                       float64 // 1 / L_i, the inverse block Lipschitz constant
}

func newJoint(t *Task, records [][]Record, weights [][]float64) (*joint, error) {
	if err := checkJoint(t, records, weights); err != nil {
		return nil, err
	}
	q := &joint{n: len(records), p: t.Dimension(), mu: t.Mu, loss: t.loss(), weights: weights}
	k := q.loss.scores()
	q.z, q.slope, q.curvature = make([]float64, k), make([]float64, k), make([]float64, k*k)
	for i := range records {
		a := jointAgent{records: trainingRecords(records[i])}
		m := len(a.records)
		a.degree = floats.Sum(weights[i])
		if m == 0 || !(a.degree > 0) {
			return nil, fmt.Errorf("learner: agent %d has no training record or no neighbour, so Q has no unique minimum", i)
		}
		a.confidence, a.lambda = t.confidence(m), t.regularisation(m)
		a.step = mixing(t.Mu, a.confidence, t.curvature(m)) / a.degree
		q.agents = append(q.agents, a)
	}
	return q, nil
}

// checkJoint returns an error if Q is not defined, or may have no minimum, for what is wrong with
// the weights or with a record.
func checkJoint(t *Task, records [][]Record, weights [][]float64) error {
	if len(records) != len(weights) {
		return fmt.Errorf("learner: records of %d agents, weights of %d", len(records), len(weights))
	}
	for i := range weights {
		if len(weights[i]) != len(weights) {
			return errors.New("learner: the weights are not square")
		}
	}
	for i, row := range weights {
		for j, w := range row {
			switch {
			case !(w >= 0 && w <= math.MaxFloat64):
				return fmt.Errorf("learner: the weight of agents %d and %d is %v, not a finite number of at least 0", i, j, w)
			case w != weights[j][i]:
				return fmt.Errorf("learner: the weights are not symmetric: agents %d and %d have %v and %v", i, j, w, weights[j][i])
			case i == j && w != 0:
				return fmt.Errorf("learner: agent %d has a weight to itself", i)
			}
		}
		for k := range records[i] {
			if err := t.measurable(&records[i][k]); err != nil {
				return fmt.Errorf("learner: record %d of agent %d does not fit the task: %w", k, i, err)
			}
		}
	}
	return nil
}

// measurable returns an error if the loss of a record is not defined. A target may be out of the
// task's range.
func (t *Task) measurable(r *Record) error {
	switch err := t.admitShape(r.X); {
	case err != nil:
		return err
	case t.Classifies():
		return t.admitLabel(r.Y)
	case math.IsNaN(r.Y) || math.IsInf(r.Y, 0):
		return errors.New("its label is not a finite number")
	}
	return nil
}

func trainingRecords(records []Record) []Record {
	var kept []Record
	for _, r := range records {
		if !r.Seq.HeldOut() {
			kept = append(kept, r)
		}
	}
	return kept
}

func (q *joint) block(v []float64, i int) []float64 { return block(v, i, q.p) }

func (q *joint) value(models []float64) float64 {
	var sum float64
	for i, a := range q.agents {
		own := q.block(models, i)
		for j := range i {
			if w := q.weights[i][j]; w != 0 {
				d := floats.Distance(own, q.block(models, j), 2)
				sum += w * d * d / 2
			}
		}
		local := a.lambda * floats.Dot(own, own)
		for _, r := range a.records {
			scoresOf(q.z, own, r.X)
			local += q.loss.value(q.z, r.Y) / float64(len(a.records))
		}
		sum += q.mu * a.degree * a.confidence * local
	}
	return sum
}

// gradient writes grad Q(models), eq. 3 block by block.
func (q *joint) gradient(dst, models []float64) {
	q.linear(dst, models)
	for i, a := range q.agents {
		own, out := q.block(models, i), q.block(dst, i)
		for _, r := range a.records {
			scoresOf(q.z, own, r.X)
			q.loss.slope(q.slope, q.z, r.Y)
			addOuter(out, a.share(q.mu), q.slope, r.X)
		}
	}
}

// curve writes the Hessian of Q at models times v.
func (q *joint) curve(dst, models, v []float64) {
	q.linear(dst, v)
	for i, a := range q.agents {
		own, at, out := q.block(v, i), q.block(models, i), q.block(dst, i)
		for _, r := range a.records {
			scoresOf(q.z, at, r.X)
			q.loss.curvature(q.curvature, q.z, r.Y)
			scoresOf(q.z, own, r.X)
			for k := range q.slope {
				q.slope[k] = floats.Dot(block(q.curvature, k, len(q.z)), q.z)
			}
			addOuter(out, a.share(q.mu), q.slope, r.X)
		}
	}
}

// share is the weight of one of the agent's records in Q.
func (a *jointAgent) share(mu float64) float64 {
	return mu * a.degree * a.confidence / float64(len(a.records))
}

// linear writes the part of the gradient that is linear in v: that of the graph and of
// the regulariser.
func (q *joint) linear(dst, v []float64) {
	for i, a := range q.agents {
		out := q.block(dst, i)
		floats.ScaleTo(out, a.degree*(1+2*q.mu*a.confidence*a.lambda), q.block(v, i))
		for j, w := range q.weights[i] {
			if w != 0 {
				floats.AddScaled(out, -w, q.block(v, j))
			}
		}
	}
}

func (q *joint) minimise() []float64 {
	models := make([]float64, q.n*q.p)
	gradient, trial := make([]float64, len(models)), make([]float64, len(models))
	value, norm := q.value(models), math.Inf(1)
	for range 100 {
		q.gradient(gradient, models)
		direction := q.solve(models, gradient)
		now := floats.Norm(gradient, 2)
		if now >= norm/2 && floats.Dot(gradient, direction) <= 1e-9*(1+value) {
			break // only rounding is left
		}
		norm = now
		for scale := 1.0; scale > 1e-9; scale /= 2 {
			floats.AddScaledTo(trial, models, -scale, direction)
			if next := q.value(trial); next <= value*(1+1e-12) {
				value = next
				copy(models, trial)
				break
			}
		}
	}
	return models
}

// solve returns H^-1 b for the Hessian H at models, by conjugate gradients with
// the block Lipschitz constants as preconditioner.
func (q *joint) solve(models, b []float64) []float64 {
	x, residual := make([]float64, len(b)), append([]float64(nil), b...)
	scaled := q.precondition(residual)
	direction := append([]float64(nil), scaled...)
	curved := make([]float64, len(b))
	rho := floats.Dot(residual, scaled)
	for target := rho * 1e-28; rho > target; {
		q.curve(curved, models, direction)
		step := rho / floats.Dot(direction, curved)
		floats.AddScaled(x, step, direction)
		floats.AddScaled(residual, -step, curved)
		scaled = q.precondition(residual)
		next := floats.Dot(residual, scaled)
		floats.Scale(next/rho, direction)
		floats.Add(direction, scaled)
		rho = next
	}
	return x
}

func (q *joint) precondition(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, a := range q.agents {
		floats.ScaleTo(q.block(out, i), a.step, q.block(v, i))
	}
	return out
}
