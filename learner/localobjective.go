package learner

import "gonum.org/v1/gonum/floats"

// LocalObjective is L_i of Bellet et al. 2018, eq. 1, without clipping and noise: the
// mean loss on an agent's training records plus lambda_i ||theta||^2. It is for
// baselines that simulate all agents at once; no agent shows it to anybody. Several
// goroutines may read it.
type LocalObjective struct {
	Confidence float64 // c_i
	Smoothness float64 // L_i^loc, from public bounds

	loss    loss
	lambda  float64
	records []Record // training only
}

// LocalObjective returns the objective of an agent with these records, without the
// held-out ones. At least one record must not be held out.
func (t *Task) LocalObjective(records []Record) *LocalObjective {
	kept := trainingRecords(records)
	m := len(kept)
	return &LocalObjective{
		Confidence: t.confidence(m), Smoothness: t.curvature(m),
		loss: t.loss(), lambda: t.regularisation(m), records: kept,
	}
}

// AddGradient adds scale times the gradient at theta to dst; both have length
// Task.Dimension.
func (o *LocalObjective) AddGradient(dst []float64, scale float64, theta []float64) {
	floats.AddScaled(dst, 2*scale*o.lambda, theta)
	gradient := make([]float64, len(dst))
	for _, r := range o.records {
		o.loss.gradient(gradient, theta, r.X, r.Y)
		floats.AddScaled(dst, scale/float64(len(o.records)), gradient)
	}
}
