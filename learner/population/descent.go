package population

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Descent is the recipe "gradient", for any convex loss. In each round devices add
// their records' gradients at a public model, each clipped, and the model takes an
// accelerated step against the opened sum (Nesterov 1983). Personal models start where
// it ends. A value makes one walk; it is not safe for concurrent use.
type Descent struct {
	step           float64
	round          int // number of rounds since the last restart
	model, earlier []float64
}

// NewDescent starts a walk at zero with this dimension, and with steps of this length
// for the mean gradient of a record.
func NewDescent(dimension int, step float64) *Descent {
	return &Descent{step: step, model: make([]float64, dimension), earlier: make([]float64, dimension)}
}

// At is the public model at which this round's gradients are taken.
func (d *Descent) At() []float64 {
	at := floats.SubTo(make([]float64, len(d.model)), d.model, d.earlier)
	floats.Scale(float64(d.round)/float64(d.round+3), at)
	floats.Add(at, d.model)
	return at
}

// Take takes the step of a round, from the opened sum of the gradients of this many
// records at At. A sum that points against the last step shows that this step was too
// long: then steps are halved and the momentum is set to zero (O'Donoghue, Candes
// 2015). The noise does not matter.
func (d *Descent) Take(sum []float64, _ float64, records int) error {
	next := d.At()
	last := floats.SubTo(make([]float64, len(next)), d.model, d.earlier)
	if floats.Dot(sum, last) > 0 {
		d.step, d.round = d.step/2, 0
		copy(next, d.model)
	} else {
		d.round++
	}
	floats.AddScaled(next, -d.step/float64(max(1, records)), sum)
	d.earlier, d.model = d.model, next
	return nil
}

// Model is the point that the walk has reached.
func (d *Descent) Model() []float64 { return d.model }

// Noise is nil: how much noise is in the model is not known.
func (d *Descent) Noise() *mat.SymDense { return nil }
